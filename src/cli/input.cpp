// What commands read: files, standard input, the process's environment.
#include "cli/input.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include <fmt/format.h>

#include "cli/platform.hpp"
#include "vramfit/base/error.hpp"

namespace vramfit::cli {

namespace {

/// A file descriptor that is closed at the end of a scope, if it is ours.
struct File {
    explicit File(const std::string& path) : own(path != "-") { number = own ? open_to_read(path) : kStandardInput; }
    File(const File&) = delete;
    File& operator=(const File&) = delete;
    ~File() {
        if (own && number >= 0) close_file(number);
    }

    bool own;
    int number = -1;
};

std::string variable(const char* name) {
    const char* value = std::getenv(name);
    return value ? value : "";
}

}  // namespace

std::string name_of_input(const std::string& path) { return path == "-" ? "standard input" : path; }

std::string read_input(const std::string& path, const std::string& where, std::size_t most) {
    const auto fail = [&](const std::string& what) {
        throw Error(ErrorKind::invalid, where, fmt::format("{}: {}", name_of_input(path), what),
                    "give a file that can be read, or - for standard input");
    };
    const File file(path);
    if (file.number < 0) fail(std::strerror(errno));
    std::string text;
    char buffer[1 << 16];
    while (true) {
        const auto got = read_some(file.number, buffer, sizeof buffer);
        if (got == 0) return text;
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) fail(std::strerror(errno));
        text.append(buffer, static_cast<std::size_t>(got));
        if (text.size() > most) fail(fmt::format("more than {} MiB", most >> 20));
    }
}

Environment process_environment() {
    Environment environment;
    environment.home = variable("HOME");
    environment.hf_home = variable("HF_HOME");
    environment.hf_hub_cache = variable("HF_HUB_CACHE");
    environment.huggingface_hub_cache = variable("HUGGINGFACE_HUB_CACHE");
    environment.xdg_cache_home = variable("XDG_CACHE_HOME");
    return environment;
}

}  // namespace vramfit::cli
