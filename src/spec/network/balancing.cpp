// transformers 5.17.0 modeling_*.py, _can_record_outputs["router_logits"]; trl 1.16 trainer/sft_trainer.py
// SFTTrainer.__init__, trainer/utils.py _fused_forward.
#include "spec/network/balancing.hpp"

#include <string_view>

#include "spec/listed.hpp"
#include "spec/network/model.hpp"

namespace vramfit::network {

namespace {

/// Configurations without a coefficient of their own: none is 0.
constexpr std::string_view kWithoutCoefficient[] = {"afmoe", "beam", "dots1", "exaone_moe", "hy_v3", "kolibri1"};
/// Those that call it num_local_experts, and nothing else.
constexpr std::string_view kWithoutNumExperts[] = {"granitemoe", "granitemoe_swa", "granitemoehybrid",
                                                   "granitemoeshared", "phimoe"};

}  // namespace

bool is_router(const ModuleKind& kind) {
    return kind.class_name.ends_with("TopKRouter") || kind.class_name == "AfmoeTokenChoiceRouter";
}

bool sft_asks_routers(const Document& recording, std::optional<double> asked) {
    if (!recording.returns_router_logits) return false;
    const double own = is_listed(kWithoutCoefficient, recording.model_type) ? 0.0 : 1.0;
    return asked.value_or(recording.router_aux_loss_coef.value_or(own)) != 0;
}

bool has_routers(const Document& recording) {
    bool found = false;
    for_each_kind(recording, [&](const std::string&, const ModuleKind& kind) { found |= is_router(kind); });
    return found;
}

bool names_its_experts(const Document& recording) { return !is_listed(kWithoutNumExperts, recording.model_type); }

}  // namespace vramfit::network
