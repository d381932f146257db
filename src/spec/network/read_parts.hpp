// Reading the parts of a recording from its JSON.
#pragma once

#include "spec/network/document.hpp"
#include "spec/network/json_place.hpp"

namespace vramfit::network {

/// "%3": the value of that number, below kMostValues.
Number read_reference(const Place& place, std::string_view text);
Argument read_argument(const Place& place);
/// "float32", "weights", "?".
DTypeName read_dtype(const Place& place);
/// An integer, "=2*B" or "?1,2,3".
std::vector<Argument> read_sizes(const Place& place);
/// "S > 1".
Comparison read_comparison(const Place& place);

/// A program that stands behind `before` others.
Program read_program(const Place& place, std::size_t before);
/// A kind of module that stands behind `before` others.
ModuleKind read_kind(const Place& place, std::size_t before);
Variant read_variant(const Place& place, std::size_t programs);

/// Refuses what no single part shows: values that are used before they are made or after they end, names that are not
/// there, networks and programs without bounds.
void check_document(const Document& document);

}  // namespace vramfit::network
