// What a recorded network's parameters are called where a number stands for any number: in plans and checkpoints.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "model/loading/load_entries.hpp"
#include "spec/network/document.hpp"

namespace vramfit::model {

/// How the class's plan for tensor parallelism cuts a parameter, by its own name or its module's; empty: not at all.
/// transformers 5.17 distributed/tensor_parallel.py _get_parameter_tp_plan, replace_layer_number_by_wildcard.
std::string_view planned_cut(const network::Document& recording, std::string_view parameter);

/// Gives entries, which have the network's names, those of the checkpoint, or their files there. transformers 5.17
/// conversion_mapping.py. Throws Error (invalid) for what no experts' matrices make.
void name_as_published(const network::Document& recording, std::vector<Entry>& entries);

}  // namespace vramfit::model
