// DeepSpeed's configuration where trainers' files name it.
#include "trainers/recognised.hpp"

#include <algorithm>
#include <utility>

namespace vramfit::trainers {

namespace {

/// Keys under which a file of accelerate, a launcher or a trainer has the configuration itself or its path.
constexpr const char* kEngineKeys[] = {"deepspeed", "deepspeed_config.deepspeed_config_file", "deepspeed_config_file",
                                       "deepspeed_config"};

bool is_engine(const Recognised& each) { return each.format->part == TrainerPart::engine; }

/// A trainer that takes DeepSpeed's configuration, or a launcher.
bool may_name_engine(const Recognised& each) {
    if (each.format->part == TrainerPart::launch) return true;
    return each.format->part == TrainerPart::training &&
           std::any_of(each.format->keys.begin(), each.format->keys.end(), [](const auto table) {
               return std::any_of(table.begin(), table.end(), [](const KeyRow& row) { return row.key == "deepspeed"; });
           });
}

/// The trainers open the path from where they are started, which is often a folder above their file's.
std::optional<TrainerFile> find_engine(const TrainerQuestion& question, const std::string& beside,
                                       const std::string& path) {
    if (!question.open || path.empty()) return std::nullopt;
    if (auto text = question.open(path)) return TrainerFile{path, std::move(*text)};
    if (path.starts_with('/')) return std::nullopt;
    for (std::size_t slash = beside.rfind('/'); slash != std::string::npos && slash > 0;
         slash = beside.rfind('/', slash - 1)) {
        std::string candidate = beside.substr(0, slash + 1) + path;
        if (auto text = question.open(candidate)) return TrainerFile{std::move(candidate), std::move(*text)};
    }
    return std::nullopt;
}

std::optional<Document> engine_of(const TrainerQuestion& question, const Recognised& each) {
    for (const char* key : kEngineKeys) {
        const Value* value = each.document.root.at(key);
        const bool off =
            std::find(question.assume_off.begin(), question.assume_off.end(), key) != question.assume_off.end();
        if (!value || off) continue;
        if (value->kind == Value::Kind::map && std::string_view(key) == "deepspeed" && !value->keys.empty()) {
            Document inner;
            inner.file = each.document.file;
            inner.syntax = each.document.syntax;
            inner.root = *value;
            return inner;
        }
        if (value->kind != Value::Kind::text) continue;
        if (const auto file = find_engine(question, each.document.file, value->text))
            return read_json(file->text, file->name);
    }
    return std::nullopt;
}

}  // namespace

void take_out_engines(const TrainerQuestion& question, std::vector<Recognised>& all) {
    const bool given = std::any_of(all.begin(), all.end(), is_engine);
    for (std::size_t i = 0; i < all.size() && !given; ++i) {
        if (!may_name_engine(all[i])) continue;
        std::optional<Document> inner = engine_of(question, all[i]);
        if (!inner || inner->root.kind != Value::Kind::map) continue;
        all.push_back({std::move(*inner), find_trainer_format("deepspeed")});
        break;
    }
    if (std::none_of(all.begin(), all.end(), is_engine)) return;
    for (Recognised& each : all)
        for (const char* key : {"deepspeed", "deepspeed_config", "deepspeed_config_file", "use_deepspeed"})
            if (!is_engine(each)) each.document.root.erase(key);
}

}  // namespace vramfit::trainers
