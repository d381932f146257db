// A document with its format, and documents that stand inside of others or are named by them.
#pragma once

#include <vector>

#include "trainers/read_text.hpp"
#include "trainers/trainer_format.hpp"
#include "vramfit/trainers/reading.hpp"

namespace vramfit::trainers {

struct Recognised {
    Document document;
    const TrainerFormat* format = nullptr;
};

/// DeepSpeed's configuration that a trainer's or a launcher's file holds, or names, becomes a document of its own; keys
/// that name it go, once it is there.
void take_out_engines(const TrainerQuestion& question, std::vector<Recognised>& all);

}  // namespace vramfit::trainers
