// Tokens that begin and end a row, as a recorded network's configuration has them.
#pragma once

#include <cstdint>

#include "spec/network/document.hpp"

namespace vramfit::network {

struct SpecialTokens {
    std::int64_t ends = 0;   ///< eos_token_id: so many
    bool has_begin = false;  ///< bos_token_id
};

/// What the configuration says, or its class where it says nothing.
SpecialTokens special_tokens(const Document& document);

}  // namespace vramfit::network
