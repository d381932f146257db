// Fuzzing the readers of trainers' files: whatever the bytes, the reader answers or throws Error.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "reads.hpp"
#include "vramfit/spec/stacks.hpp"
#include "vramfit/trainers/reading.hpp"

/// The files of a text: the first has that name, further ones begin behind lines "%%%% NAME".
inline std::vector<vramfit::TrainerFile> files_in(const char* name, std::string_view text) {
    constexpr std::string_view kMark = "\n%%%% ";
    std::vector<vramfit::TrainerFile> files = {{name, {}}};
    for (std::size_t mark = text.find(kMark); mark != std::string_view::npos; mark = text.find(kMark)) {
        files.back().text = text.substr(0, mark);
        text.remove_prefix(mark + kMark.size());
        const std::size_t end = std::min(text.find('\n'), text.size());
        files.push_back({std::string(text.substr(0, end)), {}});
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    files.back().text = text;
    return files;
}

/// Reads the text as a run's files, by their content or as one of the formats; no other file is opened.
inline int reads_trainer_file(const char* name, const std::uint8_t* data, std::size_t size) {
    using namespace vramfit;
    static const std::vector<KnownTrainer> formats = known_trainers();
    static const Stack stack = stack_from("").stack;
    return reads(data, size, [&](std::string_view text) {
        TrainerQuestion question;
        question.files = files_in(name, text);
        question.open = [given = question.files](const std::string& path) -> std::optional<std::string> {
            for (const TrainerFile& file : given)
                if (file.name == path) return file.text;
            return std::nullopt;
        };
        question.stack = stack;
        question.model = "llama-3.2-1b";  // names of models may be paths
        question.seq = 128;
        const std::size_t pick = text.empty() ? 0 : static_cast<unsigned char>(text.back()) % (2 * formats.size());
        if (pick < formats.size()) question.format_of = formats[pick].name;
        for (const Refusal& refusal : read_trainer_files(question).refusals)
            if (refusal.what.empty()) std::abort();
    });
}
