// The cards of a sweep's questions.
#pragma once

#include <span>

#include "vramfit/base/note.hpp"
#include "vramfit/sweep/question.hpp"

namespace vramfit {

/// What is to be said about the cards. Throws Error (invalid) for a question without one.
Notes notes_of_cards(std::span<const SweepQuestion> questions);

/// The first of each kind and text.
void keep_one_of_each(Notes& notes);

}  // namespace vramfit
