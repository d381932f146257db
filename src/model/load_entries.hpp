// What the loaders share: the tensors of a checkpoint, and how one of them comes onto the device.
#pragma once

#include <string>
#include <vector>

#include "model/context.hpp"

namespace vramfit::model {

/// One tensor of the checkpoint and where it goes.
struct Entry {
    std::string name;
    engine::Dims sizes;
    Tensor* place = nullptr;
    Linear* packed = nullptr;  ///< quantized on the way
    bool of_packed = false;    ///< the bias of a layer that is quantized
};

/// The tensors in the order of the modules. Throws Error (unsupported) for a quantizer that is not known here.
std::vector<Entry> checkpoint_entries(const Run& run, Network& network);

/// Copies a tensor to the device, and quantizes it there where bitsandbytes has taken the layer's place.
void load_entry(const Run& run, Network& network, const Entry& entry);

/// The loaders by release: transformers 5.x, and 4.x with accelerate.
Network load_sorted(const Run& run);
Network load_by_module(const Run& run);

}  // namespace vramfit::model
