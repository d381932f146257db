// What a recorded network's parameters are called where a number stands for any number: in plans and checkpoints.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "model/loading/load_entries.hpp"
#include "spec/network/document.hpp"

namespace vramfit::model {

/// Gives entries, which have the network's names, those of the checkpoint, or their files there. transformers 5.17
/// conversion_mapping.py. Throws Error (invalid) for what no experts' matrices make.
void name_as_published(const network::Document& recording, std::vector<Entry>& entries);

}  // namespace vramfit::model
