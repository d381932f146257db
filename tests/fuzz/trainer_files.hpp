// Fuzzing the readers of trainers' files: whatever the bytes, the reader answers or throws Error.
#pragma once

#include <string>
#include <vector>

#include "reads.hpp"
#include "vramfit/spec/stacks.hpp"
#include "vramfit/trainers/reading.hpp"

/// Reads the text as a file of that name, by its content or as one of the formats; no other file is opened.
inline int reads_trainer_file(const char* name, const std::uint8_t* data, std::size_t size) {
    using namespace vramfit;
    static const std::vector<KnownTrainer> formats = known_trainers();
    static const Stack stack = stack_from("").stack;
    return reads(data, size, [&](std::string_view text) {
        TrainerQuestion question;
        question.files = {{name, std::string(text)}};
        question.stack = stack;
        question.model = "llama-3.2-1b";  // names of models may be paths
        question.seq = 128;
        const std::size_t pick = text.empty() ? 0 : static_cast<unsigned char>(text.back()) % (2 * formats.size());
        if (pick < formats.size()) question.format_of = formats[pick].name;
        for (const Refusal& refusal : read_trainer_files(question).refusals)
            if (refusal.what.empty()) std::abort();
    });
}
