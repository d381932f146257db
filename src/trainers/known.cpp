// The tables of all formats, for documents and tests.
#include <algorithm>

#include "trainers/trainer_format.hpp"

namespace vramfit {

const char* name_of(InputSource source) {
    switch (source) {
        case InputSource::file: return "file";
        case InputSource::trainer_default: return "default";
        case InputSource::flag: return "flag";
        case InputSource::derived: return "derived";
    }
    return "unknown";
}

const char* name_of(RemarkKind kind) {
    switch (kind) {
        case RemarkKind::unknown_key: return "unknown_key";
        case RemarkKind::assumed_off: return "assumed_off";
        case RemarkKind::assumed_length: return "assumed_length";
        case RemarkKind::assumed_gpus: return "assumed_gpus";
        case RemarkKind::other_program: return "other_program";
        case RemarkKind::kernel_not_modelled: return "kernel_not_modelled";
        case RemarkKind::odd_value: return "odd_value";
    }
    return "unknown";
}

const char* name_of(KeyUse use) {
    switch (use) {
        case KeyUse::used: return "used";
        case KeyUse::harmless: return "harmless";
        case KeyUse::unsupported: return "unsupported";
    }
    return "unknown";
}

const ReadingNote* Reading::upper_bound() const {
    for (const ReadingNote& note : notes)
        if (note.upper_bound) return &note;
    return nullptr;
}

const Input* Reading::input(std::string_view field) const {
    if (field == "training.gradient_checkpointing_kwargs") field = "training.use_reentrant";  // the one that is read
    const Input* nearest = nullptr;
    for (const Input& each : inputs) {
        if (each.field == field) nearest = &each;  // the last word counts
    }
    if (nearest) return nearest;
    const std::size_t dot = field.rfind('.');
    const std::string_view group = field.substr(0, dot == std::string_view::npos ? 0 : dot);
    const bool whole_file = group.empty() || group == "training";  // no key of its own says these
    return whole_file ? nullptr : input(group);
}

const TrainerFormat* find_trainer_format(std::string_view name) {
    for (const TrainerFormat* format : all_trainer_formats())
        if (format->name == name) return format;
    return nullptr;
}

std::vector<KnownTrainer> known_trainers() {
    std::vector<KnownTrainer> out;
    for (const TrainerFormat* format : all_trainer_formats()) {
        KnownTrainer known{format->name, format->title, format->summary, {}};
        for (const auto table : format->keys)
            for (const trainers::KeyRow& row : table) {
                const bool listed = std::any_of(known.keys.begin(), known.keys.end(),
                                                [&](const KnownKey& key) { return key.key == row.key; });
                if (listed) continue;  // the first row counts
                known.keys.push_back({std::string(row.key), row.use, std::string(row.says),
                                      row.use == KeyUse::used ? std::string(row.other) : std::string()});
            }
        out.push_back(std::move(known));
    }
    std::sort(out.begin(), out.end(), [](const KnownTrainer& a, const KnownTrainer& b) { return a.name < b.name; });
    return out;
}

}  // namespace vramfit
