// What generate takes from a recorded network's configuration.
#pragma once

#include <cstdint>

#include "spec/network/document.hpp"

namespace vramfit::network {

struct GenerationConfig {
    std::int64_t ends = 0;    ///< eos_token_id: so many
    bool has_begin = false;   ///< bos_token_id
    bool keeps_cache = true;  ///< use_cache
};

/// What the configuration says, or its class where it says nothing.
GenerationConfig generation_config_of(const Document& document);

}  // namespace vramfit::network
