// One phrase for each kind of change.
#include "check/tried.hpp"

#include <utility>

namespace vramfit {

std::string tried_text(std::string_view id) {
    static constexpr std::pair<std::string_view, const char*> kPhrases[] = {
        {"allocator", "expandable segments"},
        {"batch", "batches down to 1 with accumulation"},
        {"checkpointing", "gradient checkpointing"},
        {"attention", "other attention"},
        {"liger", "Liger's kernels"},
        {"in_backward", "the optimizer in the backward pass"},
        {"prepare", "no preparation for k-bit training"},
        {"optimizer", "a paged 8-bit optimizer"},
        {"packing", "no packing"},
        {"double_quant", "double quantization"},
        {"quantization", "a 4-bit base"},
        {"length", "sequences down to 128 tokens"},
        {"rank", "adapters down to rank 8"},
        {"adapters", "LoRA and QLoRA"},
    };
    for (const auto& [known, phrase] : kPhrases)
        if (known == id) return phrase;
    return std::string(id);
}

}  // namespace vramfit
