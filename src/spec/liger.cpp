// The supported families that Liger does not know.
#include "spec/liger.hpp"

#include <algorithm>
#include <iterator>

namespace vramfit {

bool has_liger(std::string_view model_type) {
    constexpr std::string_view kNone[] = {"arcee", "cohere2",   "gpt2",     "gpt_neox",
                                          "phi",   "qwen2_moe", "seed_oss", "starcoder2"};
    return std::find(std::begin(kNone), std::end(kNone), model_type) == std::end(kNone);
}

}  // namespace vramfit
