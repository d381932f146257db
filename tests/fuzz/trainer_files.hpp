// Fuzzing the readers of trainers' files: whatever the bytes, the reader answers or throws Error.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "vramfit/base/error.hpp"
#include "vramfit/spec/stacks.hpp"
#include "vramfit/trainers/reading.hpp"

/// Reads the text as a file of that name, by its content and as each format; no other file is opened.
inline void read_trainer_file(const char* name, std::string_view text) {
    using namespace vramfit;
    static const std::vector<KnownTrainer> formats = known_trainers();
    static const Stack stack = stack_from("").stack;
    TrainerQuestion question;
    question.files = {{name, std::string(text)}};
    question.stack = stack;
    question.model = "llama-3.2-1b";  // names of models may be paths
    question.seq = 128;
    const std::size_t pick = text.empty() ? 0 : static_cast<unsigned char>(text[0]) % (2 * formats.size());
    if (pick < formats.size()) question.format_of = formats[pick].name;
    try {
        const Reading reading = read_trainer_files(question);
        for (const Refusal& refusal : reading.refusals)
            if (refusal.what.empty()) std::abort();
    } catch (const Error& error) {
        if (error.problems().empty()) std::abort();
    }
}
