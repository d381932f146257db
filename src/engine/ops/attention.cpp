// F.scaled_dot_product_attention.
#include "engine/ops/attention.hpp"

#include "engine/autocast.hpp"
#include "engine/session.hpp"

namespace vramfit::engine {

Tensor scaled_dot_product_attention(const Tensor& query, const Tensor& key, const Tensor& value, const Tensor&,
                                    const AttentionArguments& arguments) {
    const Tensor q = autocast_to_lower(query);
    const Tensor k = autocast_to_lower(key);
    const Tensor v = autocast_to_lower(value);
    return flash_attention(q, k, v, arguments.is_causal, arguments.dropout);
}

}  // namespace vramfit::engine
