// Programs that are given the positions of tokens, rather than counting them from 0.
#pragma once

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "spec/network/document.hpp"

namespace vramfit::network {

/// Rewrites programs of a document, each once for the values that it is given.
class GivenPositions {
  public:
    /// `without`: what a refusal says to do. `from_masks`: positions that are counted in the mask of rows are given
    /// too.
    GivenPositions(Document& document, const char* without, bool from_masks = false)
        : document_(document), without_(without), from_masks_(from_masks) {}

    /// The program with an input `position_ids` [B, S], in place of those that it, or one that it runs, counts for one
    /// row; nothing: none does. Throws Error (unsupported) where what is made of them is read on the host.
    std::optional<Number> in(Number program);

  private:
    struct Made {
        Number program = 0;
        std::vector<bool> left;  ///< what it hands to its caller: whether it is made of positions
    };

    /// The program with those inputs of B rows rather than one.
    const Made& with_rows(Number program, const std::vector<Number>& inputs);

    Document& document_;
    const char* without_;
    bool from_masks_;
    std::map<std::pair<Number, std::vector<Number>>, Made> made_;
};

}  // namespace vramfit::network
