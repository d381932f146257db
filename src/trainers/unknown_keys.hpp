// Keys that no table names: in the files, after --set and after --assume-off.
#pragma once

#include <string>
#include <vector>

#include "trainers/recognised.hpp"

namespace vramfit::trainers {

/// Keys of a file that its other values name: "${output_dir}/logs" names output_dir (OmegaConf).
std::vector<std::string> named_by_values(const Value& root);

/// The releases whose keys all stand in the document's table; empty where others may be a script's or launcher's own.
std::string_view releases_of(const Recognised& each);

/// Throws Error (invalid) for a key after --set or --assume-off that is neither in the files nor in their tables.
void check_keys_of_flags(const TrainerQuestion& question, const std::vector<Recognised>& all);

}  // namespace vramfit::trainers
