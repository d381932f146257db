// Whose a tensor is that several modules share: flat parameters, buckets of gradients, what is gathered at once.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "engine/recorder.hpp"

namespace vramfit::model {

/// DeepSpeed's buffer of `reduce_bucket_size` elements, through which the gradients of all modules pass.
engine::Module reduce_bucket(engine::Recorder& recorder);

/// The innermost module around all of these or, where that is the network, its parts from the first to the last:
/// "layers.0..layers.3".
engine::Module around(engine::Recorder& recorder, std::span<const engine::Module> modules);

/// The same around the module of each.
template <class Range, class ModuleOf>
engine::Module around(engine::Recorder& recorder, const Range& range, ModuleOf module_of_one) {
    std::vector<engine::Module> modules;
    for (const auto& one : range) modules.push_back(std::invoke(module_of_one, one));
    return around(recorder, std::span<const engine::Module>(modules));
}

}  // namespace vramfit::model
