// Fuzzing the readers of trainers' files: whatever the bytes, the reader answers or throws Error.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

#include "reads.hpp"
#include "vramfit/spec/models.hpp"
#include "vramfit/spec/stacks.hpp"
#include "vramfit/trainers/reading.hpp"

constexpr std::int64_t kMostTokens = std::int64_t{1} << 31;

/// A flag of the question as `vramfit check` has it: "--gpus 8".
inline void set_flag(vramfit::TrainerQuestion& question, std::string_view flag) {
    const std::size_t space = std::min(flag.find(' '), flag.size());
    const std::string_view name = flag.substr(0, space);
    const std::string value(flag.substr(std::min(space + 1, flag.size())));
    const std::int64_t number = std::strtol(value.c_str(), nullptr, 10);
    if (name == "--format-of") question.format_of = value;
    if (name == "--assume-off") question.assume_off.push_back(value);
    if (name == "--set") {
        const std::size_t equals = std::min(value.find('='), value.size());
        question.edits.push_back({value.substr(0, equals), value.substr(std::min(equals + 1, value.size()))});
    }
    if (name == "--stack") question.stack = vramfit::stack_from(value).stack;
    if (name == "--model") question.model = value;
    if (name == "--lengths") question.lengths.push_back(std::clamp<std::int64_t>(number, 1, kMostTokens));
    if (name == "--seq") question.seq = std::clamp<std::int64_t>(number, 1, kMostTokens);
    if (name == "--gpus") question.gpus = std::clamp<std::int64_t>(number, 1, 65'536);
    if (name == "--fp16") question.bf16_card = false;
}

/// The files of a text: the first has that name, further ones begin behind lines "%%%% NAME"; a name may be a flag.
inline void read_files(vramfit::TrainerQuestion& question, const char* name, std::string_view text) {
    constexpr std::string_view kMark = "\n%%%% ";
    std::string next = name;
    while (true) {
        const std::size_t mark = std::min(text.find(kMark), text.size());
        if (next.starts_with("--"))
            set_flag(question, next);
        else
            question.files.push_back({next, std::string(text.substr(0, mark))});
        if (mark == text.size()) return;
        text.remove_prefix(mark + kMark.size());
        const std::size_t end = std::min(text.find('\n'), text.size());
        next = text.substr(0, end);
        text.remove_prefix(end);  // its line break begins the content
    }
}

/// Reads the text as a run's files; no other file is opened.
inline int reads_trainer_file(const char* name, const std::uint8_t* data, std::size_t size) {
    using namespace vramfit;
    return reads(data, size, [&](std::string_view text) {
        TrainerQuestion question;
        question.model = "llama-3.2-1b";  // names of models may be paths
        question.seq = 128;
        read_files(question, name, text);
        if (!find_built_in(question.model)) return;
        question.open = [given = question.files](const std::string& path) -> std::optional<std::string> {
            for (const TrainerFile& file : given)
                if (file.name == path) return file.text;
            return std::nullopt;
        };
        for (const Refusal& refusal : read_trainer_files(question).refusals)
            if (refusal.what.empty()) std::abort();
    });
}
