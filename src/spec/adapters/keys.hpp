// Which keys the configuration of a kind of adapters shares with those of others.
#pragma once

#include <span>
#include <string_view>

#include "spec/reader.hpp"
#include "vramfit/spec/train_plan.hpp"

namespace vramfit {

struct KindKeys {
    AdapterKind kind = AdapterKind::lora;
    std::string_view dropout = {};  ///< the key of the dropout in front of the adapter; empty: none
    std::string_view alpha = {};    ///< empty: none, or none that is kept
    bool excludes = true;           ///< exclude_modules
    bool layers = true;             ///< layers_to_transform and layers_pattern
    bool bias = false;
    bool ranks = false;                              ///< rank_pattern
    bool alphas = false;                             ///< alpha_pattern
    std::span<const std::string_view> idle = {};     ///< say nothing about memory
    std::span<const std::string_view> refused = {};  ///< whose effect is not predicted, refused unless they are off
};

/// Of a kind that wraps modules or trains tokens.
const KindKeys& keys_of(AdapterKind kind);

/// The keys that only this kind has.
void read_own_keys(ObjectReader& config, LoraPlan& plan);
/// The same, written.
void put_own_keys(const LoraPlan& plan, JsonValue& out);

}  // namespace vramfit
