// The supported families that Liger does not know.
#include "spec/liger.hpp"

#include <algorithm>
#include <iterator>

namespace vramfit {

bool has_liger(std::string_view model_type) {
    constexpr std::string_view kUnknown[] = {"arcee", "cohere",    "cohere2",  "gpt2",      "gpt_neox",
                                             "phi",   "qwen2_moe", "seed_oss", "starcoder2"};
    return std::find(std::begin(kUnknown), std::end(kUnknown), model_type) == std::end(kUnknown);
}

}  // namespace vramfit
