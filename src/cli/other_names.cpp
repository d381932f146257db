// Names that are asked for where a flag has another: too far from it for an edit distance.
#include "cli/other_names.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace vramfit::cli {

namespace {

struct OtherName {
    std::string_view name;  ///< with '-' for '_'
    std::string_view flag;
    std::string_view value;  ///< nothing: the flag's own
};

constexpr std::array kOtherNames = {
    OtherName{"--json", "--format", " json"},
    OtherName{"--vram", "--gpu", ""},
    OtherName{"--memory", "--gpu", ""},
    OtherName{"--card", "--gpu", ""},
    OtherName{"--lora", "--method", " lora"},
    OtherName{"--qlora", "--method", " qlora"},
    OtherName{"--full", "--method", " full"},
    OtherName{"--4bit", "--method", " qlora"},
    OtherName{"--load-in-4bit", "--method", " qlora"},
    OtherName{"--quant", "--method", " qlora"},
    OtherName{"--quantization", "--method", " qlora"},
    OtherName{"--precision", "--mixed-precision", ""},
    OtherName{"--amp", "--mixed-precision", ""},
    OtherName{"--seq-len", "--seq", ""},
    OtherName{"--seq-length", "--seq", ""},
    OtherName{"--max-seq-len", "--seq", ""},
    OtherName{"--context", "--seq", ""},
    OtherName{"--context-length", "--seq", ""},
    OtherName{"--ctx", "--seq", ""},
    OtherName{"--micro-batch-size", "--batch", ""},
    OtherName{"--ddp", "--gpus", ""},
    OtherName{"--num-gpus", "--gpus", ""},
    OtherName{"--n-gpus", "--gpus", ""},
    OtherName{"--zero", "--zero-stage", ""},
    OtherName{"--tensor-parallel", "--tp", ""},
    OtherName{"--pipeline", "--pp", ""},
    OtherName{"--pipeline-parallel", "--pp", ""},
    OtherName{"--context-parallel", "--cp", ""},
};

}  // namespace

std::string hint_of_other_name(std::string_view flag, std::span<const std::string_view> known) {
    std::string dashed(flag);
    std::replace(dashed.begin(), dashed.end(), '_', '-');
    const auto* other = std::find_if(kOtherNames.begin(), kOtherNames.end(),
                                     [&](const OtherName& candidate) { return candidate.name == dashed; });
    if (other == kOtherNames.end() || std::find(known.begin(), known.end(), other->flag) == known.end()) return {};
    return fmt::format("here it is {}{}", other->flag, other->value);
}

}  // namespace vramfit::cli
