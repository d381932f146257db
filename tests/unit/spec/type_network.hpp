// A network made of a recorded type and a configuration.
#pragma once

#include <string>

#include "spec/json_parse.hpp"
#include "spec/network/type.hpp"
#include "vramfit/base/error.hpp"

namespace vramfit {

/// Of the type's defaults and `more` keys of a config.json: R"(, "num_hidden_layers": 4)".
inline network::Document network_of_type(const std::string& type, const std::string& more) {
    Problems problems("config.json");
    const JsonValue config = parse_json(R"({"model_type": ")" + type + "\"" + more + "}", problems);
    problems.throw_if_any();
    return network::instantiate(network::built_in_type(type)->document(), config, "", "config.json");
}

}  // namespace vramfit
