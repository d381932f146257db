// Autograd functions that classes of the library bring along, as recorded programs call them.
#pragma once

#include <span>
#include <string_view>

#include "engine/tensor.hpp"

namespace vramfit::model::recorded {

/// One of them, by the model type and the name of the function's class.
struct OwnFunction {
    std::string_view model_type;
    std::string_view name;
    std::size_t inputs;
    engine::Tensor (*run)(std::span<const engine::Tensor> given);
};

/// The function of that name, or nothing.
const OwnFunction* own_function(std::string_view model_type, std::string_view name, std::size_t inputs);

}  // namespace vramfit::model::recorded
