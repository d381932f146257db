// The parameters that FSDP2 cuts: which group has which, and how they come onto the device.
#pragma once

#include <map>
#include <vector>

#include "model/network/network.hpp"
#include "model/parallel/fsdp2/group.hpp"

namespace vramfit::model {

/// fsdp2_prepare_model: "Upcast to fp32 master weights", in host memory.
void upcast(Network& network);

/// _get_managed_states of a module: its parameters in the order of registration, without packed weights that are
/// integers, which fully_shard is told to ignore (`incompatible_params4bit`).
std::vector<ParameterPlaces> parameters_of_layer(Network& network, std::size_t layer);
std::vector<ParameterPlaces> parameters_of(Embedding& table);
std::vector<ParameterPlaces> parameters_of(Linear& layer);
/// The last norm (null: it is not among them), the embedding if it shares the head's weight, the head.
std::vector<ParameterPlaces> tail_parameters(Network& network, Norm* norm);
/// What is in no other group: with `in_layers` all of the layers, and what is around them but the embedding, that norm
/// and the head.
std::vector<ParameterPlaces> root_parameters(Network& network, const Norm* norm, bool in_layers);

/// Of a layer whose adapters' matrices are groups of their own: the rest.
std::vector<ParameterPlaces> parameters_around_adapters(Network& network, std::size_t layer);
/// Those of its linear layers that have an adapter, in the order of modules.
std::vector<Linear*> adapted_linears(Network& network, std::size_t layer);
/// Of the whole network, in the order of modules.
std::vector<ParameterPlaces> all_parameters(Network& network);
/// What is around the layers: embeddings, last norm, head.
std::vector<ParameterPlaces> outer_parameters(Network& network);

/// Whether embedding and head compute with one weight: input_weight is output_weight.
bool shares_weight(const Network& network);

/// _move_states_to_device: what all places of the network that share it hold from now on.
Tensor move_to_device(Network& network, const ParameterPlaces& places);

/// fsdp2_load_full_state_dict: process 0 sends whole parameters, one by one. This rank's rows of each, by its place; of
/// a weight that two modules share for both. Throws Error where transformers cannot tie it.
std::map<const Tensor*, Tensor> load_full_state(const Fsdp2Comm& comm, Network& network);
/// The same as axolotl 0.18 does it, which lets go of each whole parameter before the next.
std::map<const Tensor*, Tensor> load_full_state_as_axolotl(const Fsdp2Comm& comm, Network& network);

}  // namespace vramfit::model
