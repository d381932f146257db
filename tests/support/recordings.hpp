// The recordings of the families that are written by hand.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "spec/network/document.hpp"
#include "vramfit/spec/job.hpp"

namespace vramfit::test {

struct RecordedFamily {
    network::Document network;
    ModelSpec model;
};

/// A file of tests/data/networks.
std::string in_networks(std::string_view name);

/// Lines of two files: recordings, whose instructions are on the first line, and the configurations that were recorded.
std::vector<RecordedFamily> recorded_families();

/// Two steps of full training with two rows of 48 tokens.
Job job_of_family(const ModelSpec& model);

/// LoRA on what the family's layers have.
void with_lora(Job& job);

}  // namespace vramfit::test
