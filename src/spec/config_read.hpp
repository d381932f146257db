// Reading a network from a JSON object that is already parsed: a config.json, or the key `model` of a job file.
#pragma once

#include <optional>
#include <string>

#include "spec/json_value.hpp"
#include "spec/problems.hpp"
#include "vramfit/spec/model_spec.hpp"

namespace vramfit {

/// The network, or nothing after reported problems. `path` is the object's JSON path.
std::optional<ModelSpec> read_model(const JsonValue& config, const std::string& path, Problems& problems);

/// The model as the keys of a config.json.
JsonValue model_to_json(const ModelSpec& model);

}  // namespace vramfit
