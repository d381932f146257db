// Programs of a recorded network that is asked for logits without labels, of the last tokens of a row.
#pragma once

#include "spec/network/document.hpp"

namespace vramfit::network {

/// A variant without labels beside each that has them: the loss goes, and the head takes the last tokens that
/// `logits_to_keep` says (FormulaStep::Kind::kept; the whole row unless the pass says less).
Document with_logits_alone(const Document& recording);

}  // namespace vramfit::network
