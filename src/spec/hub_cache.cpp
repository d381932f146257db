// The local Hugging Face cache: where it is, and the config.json of an id in it.
#include "spec/hub_cache.hpp"

#include <algorithm>
#include <fstream>
#include <string>
#include <vector>

namespace vramfit {

namespace fs = std::filesystem;

namespace {

// A leading "~", as os.path.expanduser does it for the user's own home.
fs::path expand(const std::string& path, const Environment& environment) {
    if (path == "~") return environment.home;
    if (path.starts_with("~/")) return fs::path(environment.home) / path.substr(2);
    return path;
}

// Ids have one slash at most and no parts that lead elsewhere (huggingface_hub.utils._validators.validate_repo_id).
bool is_id(std::string_view id) {
    if (id.empty() || id.size() > 200 || id.front() == '/' || id.back() == '/' ||
        id.find("..") != std::string_view::npos)
        return false;
    if (std::count(id.begin(), id.end(), '/') > 1) return false;
    return std::all_of(id.begin(), id.end(), [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
               c == '.' || c == '/';
    });
}

std::string first_word(const fs::path& file) {
    std::ifstream stream(file);
    std::string word;
    stream >> word;
    return word;
}

}  // namespace

// huggingface_hub 1.33.0, constants.py: HF_HUB_CACHE, HUGGINGFACE_HUB_CACHE, HF_HOME, XDG_CACHE_HOME, ~/.cache.
fs::path hub_cache(const Environment& environment) {
    if (!environment.hf_hub_cache.empty()) return expand(environment.hf_hub_cache, environment);
    if (!environment.huggingface_hub_cache.empty()) return expand(environment.huggingface_hub_cache, environment);
    if (!environment.hf_home.empty()) return expand(environment.hf_home, environment) / "hub";
    if (!environment.xdg_cache_home.empty())
        return expand(environment.xdg_cache_home, environment) / "huggingface" / "hub";
    if (environment.home.empty()) return {};
    return fs::path(environment.home) / ".cache" / "huggingface" / "hub";
}

// Layout: models--org--name/refs/main holds a commit, snapshots/COMMIT/ the files.
std::optional<fs::path> cached_config(std::string_view id, const Environment& environment) {
    const fs::path cache = hub_cache(environment);
    if (cache.empty() || !is_id(id)) return std::nullopt;
    std::string folder = "models--";
    for (const char c : id) folder += c == '/' ? std::string("--") : std::string(1, c);
    const fs::path repository = cache / folder;
    std::error_code ignored;

    const std::string commit = first_word(repository / "refs" / "main");
    if (!commit.empty() && commit.find('/') == std::string::npos && commit.find("..") == std::string::npos) {
        const fs::path config = repository / "snapshots" / commit / "config.json";
        if (fs::is_regular_file(config, ignored)) return config;
    }
    std::vector<fs::path> configs;
    for (const auto& snapshot : fs::directory_iterator(repository / "snapshots", ignored)) {
        const fs::path config = snapshot.path() / "config.json";
        if (fs::is_regular_file(config, ignored)) configs.push_back(config);
    }
    return configs.size() == 1 ? std::optional(configs.front()) : std::nullopt;
}

}  // namespace vramfit
