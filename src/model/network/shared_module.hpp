// Whose a tensor is that several modules share: flat parameters, buckets of gradients, what is gathered at once.
#pragma once

#include <initializer_list>
#include <span>
#include <string_view>
#include <vector>

#include "engine/recorder.hpp"
#include "engine/tensor.hpp"

namespace vramfit::model {

/// DeepSpeed's buffer of `reduce_bucket_size` elements, through which the gradients of all modules pass.
inline constexpr std::string_view kReduceBucket = "deepspeed.reduce_bucket";

/// The innermost module around all of these or, where that is the network, its parts from the first to the last:
/// "layers.0..layers.3".
engine::Module around(engine::Recorder& recorder, std::span<const engine::Module> modules);

/// Says of a tensor that it belongs to a module.
void belongs_to(const engine::Tensor& t, engine::Module module);

/// The modules of parameters, by their memory.
std::vector<engine::Module> modules_of(std::span<const engine::Tensor> parameters);

}  // namespace vramfit::model
