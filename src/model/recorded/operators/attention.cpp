// Attention in recorded programs, and transformers' function around the package flash_attn.
#include "engine/ops/attention.hpp"

#include "model/layers/attention/attention.hpp"
#include "model/parallel/context/context_parallel.hpp"
#include "model/recorded/operators.hpp"
#include "spec/network/rewritten/flash_attention.hpp"

namespace vramfit::model::recorded {

using namespace engine;

namespace {

Tensor attended(const Arguments& a) {
    AttentionArguments how;
    // sdpa_attention_forward: only with several queries, which recordings compare with 1 in front of it.
    how.is_causal = a.flag(5, "is_causal", false) && a.tensor(0).size(2) > 1;
    how.enable_gqa = a.flag(7, "enable_gqa", false);
    how.dropout = a.session().training ? a.probability(4, "dropout_p", 0.0) : 0.0;
    how.ring = ring_of(a.run().plan);
    how.forced = a.run().plan.load.sdpa_kernel;
    if (a.run().plan.load.sdpa_expand_kv && how.enable_gqa) a.refuse("load.sdpa_expand_kv");
    const Tensor mask = a.optional_tensor(3, "attn_mask");
    return scaled_dot_product_attention(a.tensor(0), a.tensor(1), a.tensor(2), mask, how);
}

/// (query, key, value, position_ids) of rows without padding.
Tensor attended_by_flash_attention(const Arguments& a) {
    const double dropout = a.session().training ? a.probability(4, "dropout_p", 0.0) : 0.0;
    const Tensor no_mask;
    return flash_attention_forward(a.run(), {a.tensor(0), a.tensor(1), a.tensor(2)}, {no_mask, 0},
                                   a.optional_tensor(3, "position_ids"), dropout);
}

constexpr NamedOperator kAttention[] = {
    {"torch.nn.functional.scaled_dot_product_attention", attended},
    {network::kFlashAttention, attended_by_flash_attention},
};

}  // namespace

std::span<const NamedOperator> attention_operators() { return kAttention; }

}  // namespace vramfit::model::recorded
