// What a recorded type runs in one of several processes that share each layer.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "spec/network/document.hpp"

namespace vramfit::network {

/// How the class's plan for tensor parallelism cuts a parameter, by its own name or its module's; empty: not at all.
/// transformers 5.17 distributed/tensor_parallel.py _get_parameter_tp_plan, replace_layer_number_by_wildcard.
std::string_view planned_cut(const Document& recording, std::string_view parameter);

/// Whether the class's plan cuts more than the head and the table that it may share.
bool cuts_layers(const Document& recording);

/// Whether the type was compared with traces under tensor parallelism, or its plan cuts nothing in the layers.
bool can_be_cut(const Document& recording);

/// Of how many of a module's last outputs the gradient is summed over the processes (mla_kv_a_proj); 0: of none.
std::int64_t summed_tail(const Document& piece, std::string_view module);

/// The network of a built-in type with the programs of one of `pieces` processes, whose heads and widths are those of
/// its part; modules keep their names. Throws Error (invalid) where heads do not divide, (unsupported) for a network
/// that is no type's.
Document piece_of(const Document& whole, std::int64_t pieces);

}  // namespace vramfit::network
