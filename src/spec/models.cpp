// The built-in models, and finding a network by name, Hugging Face id, folder or file.
#include "vramfit/spec/models.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>

#include <fmt/format.h>

#include "spec/config_read.hpp"
#include "spec/embedded.hpp"
#include "spec/hub_cache.hpp"
#include "spec/json_parse.hpp"
#include "spec/network/model.hpp"
#include "spec/network/type.hpp"
#include "spec/unsloth_copies.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/spec/config.hpp"
#include "vramfit/spec/suggest.hpp"

namespace vramfit {

namespace fs = std::filesystem;

namespace {

// Calls `visit` with the name, the id and every alias.
template <class Visit>
void for_each_name(const BuiltInModel& model, Visit visit) {
    visit(model.name);
    visit(model.id);
    for (std::string_view rest = model.aliases; !rest.empty();) {
        const std::string_view alias = rest.substr(0, rest.find('\n'));
        visit(alias);
        rest.remove_prefix(std::min(rest.size(), alias.size() + 1));
    }
}

// At most one byte more than a file may have, so that a device file cannot go on for ever.
std::string read_file(const fs::path& path) {
    const auto fail = [&] {
        throw Error(ErrorKind::invalid, path.string(), std::strerror(errno), "give a file that can be read");
    };
    std::ifstream stream(path, std::ios::binary);
    if (!stream) fail();
    std::string text;
    char block[4096];
    errno = 0;
    while (text.size() <= kLargestJsonFile && (stream.read(block, sizeof block) || stream.gcount() > 0)) {
        text.append(block, static_cast<std::size_t>(stream.gcount()));
    }
    if (text.empty() && errno != 0) fail();
    return text;
}

ModelSpec read_config_file(const fs::path& path, std::string_view name) {
    const std::string text = read_file(path);
    if (!network::is_network(text)) return read_config(text, path.string(), name);
    auto recording = std::make_shared<const network::Document>(network::read_network(text, path.string()));
    return network::model_of(std::move(recording), name);
}

/// A checkpoint of a recorded type that cannot be had: its config.json would not help.
void refuse_checkpoint(std::string_view id, std::string_view where, std::string_view why) {
    constexpr std::string_view kKey = "key=";
    if (why == "fp8")
        throw Error(ErrorKind::unsupported, std::string(where),
                    fmt::format("the weights of {} are published in FP8, which is not supported", id),
                    "the config.json of a copy in bfloat16 (without quantization_config) is");
    if (why.starts_with(kKey))
        throw Error(ErrorKind::unsupported, std::string(where),
                    fmt::format("{} has another {} than its model type was recorded with", id, why.substr(kKey.size())),
                    std::string(network::kOwnRecording));
}

/// Checkpoints that are known by name, and not built in. Most are of families that are not supported either.
void refuse_other_model(std::string_view id, std::string_view where) {
    for (std::string_view rest = embedded_other_models(); !rest.empty();) {
        std::string_view line = rest.substr(0, rest.find('\n'));
        rest.remove_prefix(std::min(rest.size(), line.size() + 1));
        std::vector<std::string_view> words;
        for (; !line.empty(); line.remove_prefix(std::min(line.size(), words.back().size() + 1)))
            words.push_back(line.substr(0, line.find(' ')));
        const auto named = [&](std::string_view known) { return lower_case(known) == lower_case(id); };
        if (words.size() < 3 || std::none_of(words.begin() + 2, words.end(), named)) continue;
        refuse_checkpoint(id, where, words[1]);
        if (words[1] == "text" && network::built_in_type(words[0]))
            throw Error(
                ErrorKind::invalid, std::string(where),
                fmt::format("{} is not built in by name; its model type '{}' is, for any config.json", id, words[0]),
                fmt::format("hf download {} config.json, and the name is found in the Hugging Face cache; or "
                            "give the path of its config.json",
                            id));
        throw Error(ErrorKind::unsupported, std::string(where),
                    words[1] != "text" ? fmt::format("{} is a model of {} (model type '{}')", id, words[1], words[0])
                                       : fmt::format("the model type '{}' of {} is not supported", words[0], id),
                    fmt::format("supported: {}", fmt::join(model_families(), ", ")));
    }
}

/// Unsloth publishes copies under the checkpoints' own names (unsloth/Qwen3-8B).
const BuiltInModel* find_copied(std::string_view id) {
    constexpr std::string_view kCopier = "unsloth/";
    if (!id.starts_with(kCopier)) return nullptr;
    const std::string wanted = lower_case(id.substr(kCopier.size()));
    for (const BuiltInModel& model : built_in_models())
        if (lower_case(model.id).ends_with(fmt::format("/{}", wanted))) return &model;
    return nullptr;
}

/// Its copies in 4 bits (unsloth/Qwen3-8B-bnb-4bit) have the same layers, in other dtypes.
std::optional<ModelSpec> packed_copy(std::string_view id, std::string_view where) {
    const std::string unpacked = unpacked_name(id);
    if (unpacked == id) return std::nullopt;
    const BuiltInModel* model = find_built_in(unpacked);
    if (!model) model = find_copied(unpacked);
    if (!model) return std::nullopt;
    ModelSpec out = spec_of(*model);
    if (out.recording)
        throw Error(
            ErrorKind::unsupported, std::string(where),
            fmt::format("{} is quantized already, which is not supported for its model type '{}'", id, out.model_type),
            fmt::format("{} with --method qlora", model->name));
    const std::optional<DynamicCopy> copy = dynamic_copy_of(lower_case(id));
    if (copy && !copy->skip_modules)
        throw Error(ErrorKind::unsupported, std::string(where),
                    fmt::format("which layers of {} are in 16 bits is not known here: its config.json says it", id),
                    fmt::format("hf download {} config.json, which is found in the cache; or {}-bnb-4bit, whose layers "
                                "are all in 4 bits",
                                id, unpacked));
    out.packed_but_for = copy ? *copy->skip_modules : std::vector<std::string>{};
    return out;
}

std::string letters_and_digits(std::string_view text) {
    std::string out = lower_case(text);
    std::erase_if(out, [](char c) { return !((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')); });
    return out;
}

/// The built-in names that the text may mean: those it is the beginning of, without its organisation and without the
/// endings of packed copies. Such a copy has the same layers, but it is loaded in other dtypes: a hint, no alias.
std::vector<std::string_view> possible_models(std::string_view text) {
    text.remove_prefix(text.rfind('/') + 1);
    std::string stem = lower_case(text);
    for (const std::string_view ending :
         {"-4bit", "-bnb", "-unsloth", "-gguf", "-awq", "-gptq", "-instruct", "-it", "-hf"}) {
        std::vector<std::string_view> found;
        for (const BuiltInModel& model : built_in_models()) {
            if (letters_and_digits(model.name) == letters_and_digits(stem)) return {model.name};
            if (letters_and_digits(model.name).starts_with(letters_and_digits(stem))) found.push_back(model.name);
        }
        if (!found.empty()) return found;
        if (stem.ends_with(ending)) stem.resize(stem.size() - ending.size());
    }
    return {};
}

std::string hint_of_models(std::string_view text) {
    constexpr std::size_t kMost = 8;
    const std::vector<std::string_view> found = possible_models(text);
    if (letters_and_digits(text).size() < 4 || found.empty()) return {};
    if (found.size() == 1) return fmt::format("did you mean '{}'?", found.front());
    const auto end = found.begin() + static_cast<std::ptrdiff_t>(std::min(kMost, found.size()));
    return fmt::format("did you mean one of {}{}?", fmt::join(found.begin(), end, ", "),
                       end == found.end() ? "" : ", ...");
}

[[noreturn]] void refuse_model(std::string_view text, std::string_view where) {
    std::vector<std::string_view> names;
    for (const BuiltInModel& model : built_in_models())
        for_each_name(model, [&](std::string_view name) { names.push_back(name); });
    const std::string hint = hint_of_models(text);
    throw Error(
        ErrorKind::invalid, std::string(where),
        fmt::format(
            "'{}' is no built-in model, no folder with a config.json, no file, and not in the Hugging Face cache",
            text),
        !hint.empty()
            ? hint
            : did_you_mean(text, names, "vramfit models lists the built-in ones; or give the path of a config.json"));
}

}  // namespace

ModelSpec spec_of(const BuiltInModel& model) {
    Problems problems(fmt::format("built-in model {}", model.name));
    const JsonValue value = parse_json(model.text, problems);
    problems.throw_if_any();
    constexpr std::string_view kNotOfConfig[] = {"name", "id", "aliases", "source", "facts"};
    JsonValue config = JsonValue::object();
    for (std::size_t i = 0; i < value.keys.size(); ++i)
        if (std::find(std::begin(kNotOfConfig), std::end(kNotOfConfig), value.keys[i]) == std::end(kNotOfConfig))
            config.put(value.keys[i], value.items[i]);
    auto read = read_model(config, "", problems);
    problems.throw_if_any();
    read->name = model.name;
    return std::move(*read);
}

ModelFacts facts_of(const BuiltInModel& model) {
    Problems problems(fmt::format("built-in model {}", model.name));
    const JsonValue value = parse_json(model.text, problems);
    problems.throw_if_any();
    if (const JsonValue* said = value.find("facts"))
        return {value.find("model_type")->text, said->find("parameters")->integer, said->find("layers")->integer,
                said->find("max_position_embeddings")->integer};
    const ModelSpec spec = spec_of(model);
    return {spec.model_type, total_parameters(spec), spec.num_hidden_layers, spec.max_position_embeddings};
}

const BuiltInModel* find_built_in(std::string_view name) {
    const std::string wanted = lower_case(name);
    const auto is_wanted = [&](std::string_view known) {
        return known.size() == wanted.size() && lower_case(known) == wanted;
    };
    for (const BuiltInModel& model : built_in_models()) {
        bool found = false;
        for_each_name(model, [&](std::string_view known) { found = found || is_wanted(known); });
        if (found) return &model;
    }
    return nullptr;
}

ModelSpec load_model(std::string_view text, const Environment& environment, std::string_view where) {
    if (text.empty())
        throw Error(ErrorKind::invalid, std::string(where), "no model is named",
                    "vramfit models lists the built-in ones");
    std::error_code ignored;  // a path that cannot be looked at is not there
    const fs::path path(text);
    if (fs::is_directory(path, ignored)) {
        if (fs::exists(path / "config.json", ignored)) return read_config_file(path / "config.json", text);
        if (const BuiltInModel* model = find_built_in(text)) return spec_of(*model);
        throw Error(ErrorKind::invalid, std::string(text), "the folder has no config.json",
                    "give the folder of a model, as save_pretrained writes it");
    }
    if (fs::is_regular_file(path, ignored) || fs::is_fifo(path, ignored)) return read_config_file(path, text);
    if (const BuiltInModel* model = find_built_in(text)) return spec_of(*model);
    if (const auto cached = cached_config(text, environment)) return read_config_file(*cached, text);
    if (const BuiltInModel* model = find_copied(text)) return spec_of(*model);
    if (auto copy = packed_copy(text, where)) return *std::move(copy);
    refuse_other_model(text, where);
    refuse_model(text, where);
}

const ModelSpec& LoadedModels::load(std::string_view text, const Environment& environment, std::string_view where) {
    const auto known = known_.find(text);
    if (known != known_.end()) return known->second;
    return known_.emplace(text, load_model(text, environment, where)).first->second;
}

}  // namespace vramfit
