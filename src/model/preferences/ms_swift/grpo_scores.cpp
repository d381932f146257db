// ms-swift 4.6 rlhf_trainers/grpo_trainer.py GRPOTrainer._get_logps_via_local_forward.
#include "model/preferences/ms_swift/grpo_scores.hpp"

#include <algorithm>

#include "engine/ops/in_place.hpp"
#include "engine/ops/view.hpp"
#include "model/causal_lm/mixed_precision.hpp"
#include "model/preferences/reference.hpp"
#include "model/preferences/whole_logits.hpp"
#include "vramfit/spec/pair_rows.hpp"

namespace vramfit::model {

using namespace engine;

Size kept_of_group(const Run& run) {
    const PairLengths& pairs = run.plan.batch.pairs;
    const std::int64_t rows = run.plan.training.per_device_train_batch_size;
    const std::int64_t group = run.plan.preference.grpo.num_generations;
    const bool several = rows > group || group % rows != 0;
    // Of prompts that are not known one may have a single token.
    const std::int64_t shortest =
        pairs.padded && several ? 1 : *std::min_element(pairs.prompt.begin(), pairs.prompt.end());
    return run.sizes.length - shortest;
}

Tensor swift_group_scores(const Run& run, const Network& network, const SwiftGroup& rows, const Place& place) {
    const Size kept = kept_of_group(run);
    Batch inputs;
    inputs.input_ids = rows.ids;
    inputs.attention_mask = rows.mask;
    inputs.padded = group_rows(run.plan).pads;
    inputs.logits_to_keep = kept + 1;
    Tensor logits = prepared_forward(run, network, inputs, {}, place).logits;
    if (!run.session.recorder.holds_phase) begin_loss(run, place);
    logits = div_slice_in_place(logits, 1, 0, kept);
    const Tensor labels = slice(rows.ids, 1, run.sizes.length - kept, run.sizes.length);
    return selective_log_softmax(logits, labels);
}

}  // namespace vramfit::model
