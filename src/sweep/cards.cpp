// Checks cards and gathers their notes.
#include "sweep/cards.hpp"

#include <algorithm>

#include "vramfit/base/error.hpp"

namespace vramfit {

Notes notes_of_cards(std::span<const SweepQuestion> questions) {
    Notes notes;
    for (const SweepQuestion& question : questions) {
        if (!question.device.capacity_known)
            throw Error(ErrorKind::invalid, "--gpu", "a sweep needs a GPU to fill",
                        "give one, e.g. --gpu 24GiB or --gpu rtx4090");
        notes.insert(notes.end(), question.device.notes.begin(), question.device.notes.end());
    }
    return notes;
}

void keep_one_of_each(Notes& notes) {
    Notes out;
    for (Note& note : notes) {
        const auto same = [&note](const Note& n) { return n.kind == note.kind && n.text == note.text; };
        if (std::none_of(out.begin(), out.end(), same)) out.push_back(std::move(note));
    }
    notes = std::move(out);
}

}  // namespace vramfit
