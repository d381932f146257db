// The table of autograd functions of classes' own.
#include "model/recorded/own_functions.hpp"

#include "engine/ops/bloom_gelu.hpp"
#include "engine/ops/phimoe_multiplier.hpp"

namespace vramfit::model::recorded {

namespace {

constexpr OwnFunction kOwnFunctions[] = {
    {"bloom", "GeLUFunction", 1, [](std::span<const engine::Tensor> x) { return engine::bloom_gelu(x[0]); }},
    {"phimoe", "PhimoeMultiplier", 5,
     [](std::span<const engine::Tensor> x) { return engine::phimoe_multiplier(x[0], x[1], x[2], x[3], x[4]); }},
};

}  // namespace

const OwnFunction* own_function(std::string_view model_type, std::string_view name, std::size_t inputs) {
    for (const OwnFunction& one : kOwnFunctions)
        if (one.model_type == model_type && one.name == name && one.inputs == inputs) return &one;
    return nullptr;
}

}  // namespace vramfit::model::recorded
