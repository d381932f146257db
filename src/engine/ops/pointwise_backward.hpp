// Node types of the elementwise operators.
#pragma once

#include "engine/node.hpp"

namespace vramfit::engine {

extern const NodeType kAddBackward;   ///< both inputs get the same gradient
extern const NodeType kPassBackward;  ///< one input gets the gradient as it is
extern const NodeType kSubBackward;
extern const NodeType kMulBackward;
extern const NodeType kScaleBackward;  ///< times a number
extern const NodeType kDivBackward;
extern const NodeType kUnscaleBackward;  ///< divided by a number
extern const NodeType kNegBackward;
extern const NodeType kSquareBackward;
extern const NodeType kRsqrtBackward;
extern const NodeType kTanhBackward;
extern const NodeType kCosBackward;
extern const NodeType kSinBackward;
extern const NodeType kSiluBackward;
extern const NodeType kGeluBackward;
extern const NodeType kReluBackward;
extern const NodeType kMaskedFillBackward;
extern const NodeType kUnsupportedBackward;  ///< an operator that no model differentiates

}  // namespace vramfit::engine
