// The whole model: embedding, layers, head, loss.
#pragma once

#include <span>
#include <vector>

#include "model/layers/inputs.hpp"
#include "model/network/called.hpp"

namespace vramfit::model {

/// CausalLMOutputWithPast as far as it holds memory.
struct Output {
    Tensor loss;
    Tensor logits;
    KvCachePointer past_key_values;
    Tensor aux_loss = {};                    ///< that balances experts
    std::vector<Tensor> router_logits = {};  ///< what it was made of
    std::vector<Tensor> hidden_states = {};  ///< where they are asked for: those between layers, and the last norm's
    std::vector<Tensor> others = {};         ///< of a recorded network that gives more, as Moshi its last hidden state
};

/// Names the windows of one forward pass.
struct Place {
    std::int32_t step = 0;
    std::int32_t micro = -1;
    std::int32_t evaluation = -1;
};

inline Phase phase_at(PhaseKind kind, const Place& place, std::int32_t layer = -1) {
    return {kind, place.step, place.micro, layer, place.evaluation};
}

/// The window behind the policy's forward pass, of trainers that compute the loss themselves.
void begin_loss(const Run& run, const Place& place);

/// The hooks around XForCausalLM and what peft wraps it in, between which its forward runs.
class CalledModel {
  public:
    CalledModel(const Run& run, const Network& network, const Place& place);
    /// What it gives back, which may be replaced.
    void finish(std::span<Tensor* const> outputs) const;

  private:
    const Run& run_;
    const Network& network_;
    std::vector<Part> parts_;
};

/// XForCausalLM.forward. `items` is num_items_in_batch on the device, or undefined (mean over the batch).
Output causal_lm(const Run& run, const Network& network, const Batch& batch, const Tensor& items, const Place& place);

/// The head's weight where the forward itself reads it, for a loss that has the head in it: hooks that cut the network
/// into pieces put it together there.
const Tensor& read_head_weight(const Network& network);

/// The same by the network's recording (Run::recorded).
Output recorded_causal_lm(const Run& run, const Network& network, const Batch& batch, const Tensor& items,
                          const Place& place);

/// The model without its head by that recording, from the window of the embedding on.
Tensor recorded_last_hidden_state(const Run& run, const Network& network, const Batch& batch, const Place& place);

/// Its logits of the last token as generate asks for them, with what the cache holds (null: none).
Tensor recorded_last_logits(const Run& run, const Network& network, const Batch& batch, const KvCachePointer& cache);

/// The cache of keys and values that the model makes where its config has use_cache; null: none.
KvCachePointer make_cache(const Run& run, const Network& network);

/// Whether forward computes the mean itself, and has no argument for the number of items.
bool has_its_own_loss(const Run& run);

/// The model without its head, from the window of the embedding on.
Tensor last_hidden_state(const Run& run, const Network& network, const Batch& batch, const KvCachePointer& cache,
                         const Place& place);

/// The decoder layers and the final norm, with their windows. `hidden` is the first layer's input.
Tensor run_layers(const Run& run, const Network& network, Tensor hidden, const LayerInputs& inputs, const Place& place);

}  // namespace vramfit::model
