// A recording as processes run it that have a part of every sequence each.
#pragma once

#include "spec/network/document.hpp"

namespace vramfit::network {

/// Whether the type was compared with traces under context parallelism.
bool can_cut_sequences(const Document& recording);

/// Whether layers of such a type have a sliding window, which rows reach or not.
bool has_windows(const Document& recording);

/// The recording with what transformers 5.17.0 trainer.py _prepare_context_parallel_inputs gives beside the token ids,
/// `position_ids` and `shift_labels` ([B, S] each), and without the masks that accelerate 1.15.0 big_modeling.py
/// _attach_context_parallel_hooks takes away. Throws Error (unsupported) where the network counts positions or shifts
/// labels in a way of its own.
Document with_cut_sequences(Document document);

}  // namespace vramfit::network
