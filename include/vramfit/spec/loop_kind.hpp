// The training loops, and what those of preferences have in common.
#pragma once

#include <cstdint>

namespace vramfit {

/// Those of preferences stand last.
enum class LoopKind : std::uint8_t {
    trainer,
    plain,
    sft,
    unsloth,
    dpo,
    reward,
    kto,
    orpo,
    cpo,
    grpo,
    rloo,
    gkd,
    online_dpo,
    prm,
    bco,
    ppo
};
/// trl's trainers of preferences, and that of distillation, whose rows have prompts too.
constexpr bool is_preference(LoopKind kind) { return kind >= LoopKind::dpo; }
/// Whose rows are generated token by token.
constexpr bool generates_rows(LoopKind kind) {
    return kind == LoopKind::grpo || kind == LoopKind::rloo || kind == LoopKind::online_dpo;
}
/// Whose generated rows come in pairs, of which the reward says which one is chosen: a batch counts prompts.
constexpr bool generates_pairs(LoopKind kind) { return kind == LoopKind::online_dpo; }
/// Whose loop is trl's own: rollouts, a value model that is trained beside the policy.
constexpr bool has_value_model(LoopKind kind) { return kind == LoopKind::ppo; }
/// Which are given reward models.
constexpr bool takes_reward_models(LoopKind kind) { return generates_rows(kind) || has_value_model(kind); }
/// Which generate tokens, or may: lengths share no recording, so that there is no formula over them.
constexpr bool may_generate(LoopKind kind) {
    return generates_rows(kind) || kind == LoopKind::gkd || has_value_model(kind);
}
/// Whose rows stand alone, each desirable or not.
constexpr bool has_unpaired_rows(LoopKind kind) { return kind == LoopKind::kto || kind == LoopKind::bco; }
/// Whose batch has a chosen and a rejected row of each pair.
constexpr bool has_pairs(LoopKind kind) {
    return is_preference(kind) && !has_unpaired_rows(kind) && kind != LoopKind::gkd && kind != LoopKind::prm &&
           !generates_rows(kind) && !has_value_model(kind);
}
/// Which compare the policy with a reference that they load, and balance experts by an argument of their own.
constexpr bool loads_reference(LoopKind kind) { return kind == LoopKind::dpo || kind == LoopKind::kto; }
/// Whose reference of full fine-tuning is a copy of the policy.
constexpr bool copies_reference(LoopKind kind) {
    return kind == LoopKind::online_dpo || kind == LoopKind::bco || kind == LoopKind::ppo;
}
/// Which compare the policy with a reference.
constexpr bool has_reference(LoopKind kind) { return loads_reference(kind) || kind == LoopKind::bco; }
/// Those without one and with whole logits, which trl has among its experiments.
constexpr bool is_contrast(LoopKind kind) { return kind == LoopKind::orpo || kind == LoopKind::cpo; }

/// Whose trainer prepares packed weights and makes adapters by itself, as trl's experiments do: by peft's functions.
constexpr bool prepares_by_peft(LoopKind kind) { return is_contrast(kind) || kind == LoopKind::bco; }
/// The same by trl's own functions.
constexpr bool prepares_by_trl(LoopKind kind) { return kind == LoopKind::online_dpo || kind == LoopKind::prm; }
constexpr bool prepares_by_itself(LoopKind kind) { return prepares_by_peft(kind) || prepares_by_trl(kind); }

}  // namespace vramfit
