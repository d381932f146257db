// What experts do with the rows of experts that another process has, where the release differs from the recorded one.
#pragma once

#include <cstdint>
#include <optional>

#include "spec/network/document.hpp"
#include "vramfit/spec/stack.hpp"
#include "vramfit/spec/version.hpp"

namespace vramfit::model {

/// transformers integrations/moe.py grouped_mm_experts_forward: 5.17 masks each product, 5.16 the weighted sum, 5.18
/// and later nothing on one GPU. Recorded is 5.17; of recordings of another release experts run as they are.
class ExpertMasks {
  public:
    enum class Step : std::uint8_t {
        run,            ///< as recorded
        skip,           ///< its result has no use
        pass_on,        ///< its result is its first argument
        run_then_mask,  ///< the result is masked in place
    };

    /// `recorded`: the release of the recording.
    ExpertMasks(const std::optional<Version>& recorded, const Stack& stack);
    /// Of the next call of one program of experts.
    Step step(const network::Call& call);
    /// The value that says which rows are another process's.
    network::Number mask() const { return mask_; }

  private:
    bool never_ = false;   ///< masks nothing
    bool at_end_ = false;  ///< masks the weighted sum
    network::Number mask_ = 0;
    int products_ = 0;  ///< whose masks were passed on
};

}  // namespace vramfit::model
