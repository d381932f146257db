// The table of model families.
#include "model/family.hpp"
#include "model/families/llama.hpp"
#include "model/modules.hpp"
#include "vramfit/base/error.hpp"

#include <fmt/format.h>

namespace vramfit::model {

namespace {

Tensor same(const Run&, const Tensor& t) { return t; }

constexpr Family kFamilies[] = {
    {"llama", llama_layer, same, llama_norm, same},
    {"mistral", llama_layer, same, llama_norm, same},
    {"qwen2", llama_layer, same, llama_norm, same},
    {"qwen3", llama_layer, same, llama_norm, same},
};

}  // namespace

const Family& family_of(const std::string& model_type) {
    for (const Family& f : kFamilies)
        if (model_type == f.model_type) return f;
    throw Error(ErrorKind::unsupported, "model_type", fmt::format("\"{}\" is not supported", model_type));
}

}  // namespace vramfit::model
