// Weights that go from the trainer to vLLM, in its process or on a server: what the trainer itself allocates for it.
#pragma once

#include "model/causal_lm/causal_lm.hpp"

namespace vramfit::model {

/// VLLMGeneration._init_vllm: a server's workers and the trainer add up a number; several processes wait for each
/// other.
void open_weight_sync(const Run& run, Network& network);

/// VLLMGeneration.sync_weights; `first` in the process. In the same process the engine copies the weights into its own;
/// to a server they are packed into buffers. Adapters are merged before and unmerged behind.
void sync_weights(const Run& run, Network& network, bool first);

}  // namespace vramfit::model
