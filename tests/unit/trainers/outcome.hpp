// What a question about trainers' files is answered, as text that tests compare.
#pragma once

#include <string>

#include "vramfit/base/error.hpp"
#include "vramfit/spec/job.hpp"
#include "vramfit/trainers/reading.hpp"

namespace vramfit::test {

/// The plan and what is refused; problems of broken values by their text.
inline std::string outcome(const TrainerQuestion& question) {
    try {
        const Reading reading = read_trainer_files(question);
        std::string out = to_json_text(reading.job.plan);
        for (const Refusal& each : reading.refusals) out += each.key + ": " + each.what + "\n";
        return out;
    } catch (const Error& error) {
        return error.what();
    }
}

}  // namespace vramfit::test
