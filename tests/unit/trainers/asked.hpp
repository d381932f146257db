// Questions about trainers' files, with the default stack.
#pragma once

#include <utility>
#include <vector>

#include "vramfit/spec/stacks.hpp"
#include "vramfit/trainers/reading.hpp"

namespace vramfit::test {

inline TrainerQuestion asked_of(std::vector<TrainerFile> files) {
    TrainerQuestion question;
    question.files = std::move(files);
    question.stack = stack_from("").stack;
    return question;
}

}  // namespace vramfit::test
