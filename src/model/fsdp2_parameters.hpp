// The parameters that FSDP2 cuts: which group has which, and how they come onto the device.
#pragma once

#include <map>
#include <vector>

#include "model/fsdp2_group.hpp"
#include "model/network.hpp"

namespace vramfit::model {

/// fsdp2_prepare_model: "Upcast to fp32 master weights", in host memory.
void upcast(Network& network);

/// Without packed weights that are integers: fully_shard is told to ignore them (`incompatible_params4bit`).
std::vector<ParameterPlaces> parameters_of(DecoderLayer& layer);
std::vector<ParameterPlaces> norm_parameters(Network& network);
/// The last norm, the embedding if it shares the head's weight, the head.
std::vector<ParameterPlaces> tail_parameters(Network& network, bool with_norm);

/// _move_states_to_device: what its places hold from now on.
Tensor move_to_device(const ParameterPlaces& places);

/// fsdp2_load_full_state_dict: process 0 sends whole parameters, one by one. This rank's rows of each, by its place; of
/// a weight that two modules share for both. Throws Error (unsupported) where rows do not divide.
std::map<const Tensor*, Tensor> load_full_state(const Fsdp2Comm& comm, Network& network);

}  // namespace vramfit::model
