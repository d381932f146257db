// trl 1.9 trainer/grpo_trainer.py GRPOTrainer._get_per_token_logps_and_entropies.
#include "model/preferences/grpo/whole_scores.hpp"

#include "engine/ops/in_place.hpp"
#include "engine/ops/view.hpp"
#include "model/causal_lm/mixed_precision.hpp"
#include "model/preferences/rows.hpp"
#include "model/preferences/whole_logits.hpp"
#include "vramfit/spec/pair_rows.hpp"

namespace vramfit::model {

using namespace engine;

// What the function's variables name, `outputs` and `logits` among them, lives while the next rows are run.
CompletionScores whole_completion_scores(const Run& run, const Network& network, const ScoredRows& rows,
                                         const Place& place) {
    Session& session = run.session;
    const bool trains = session.grad_enabled;
    const Size &completion = rows.completion, &batch = run.sizes.batch;
    std::vector<Tensor> log_probs, entropies;
    Batch inputs;
    Output outputs;
    Tensor logits;
    const auto chunks = session.decide("batches of rows", rows.ids.size(0) / batch);
    for (std::int64_t chunk = 0; chunk < chunks; ++chunk) {
        take_rows(run, rows, chunk, inputs);
        inputs.logits_to_keep = completion + 1;
        outputs = prepared_forward(run, network, inputs, {}, place);
        if (trains) begin_loss(run, place);
        logits = div_slice_in_place(outputs.logits, 1, 0, completion);
        const Size length = inputs.input_ids.size(1);
        log_probs.push_back(selective_log_softmax(logits, slice(inputs.input_ids, 1, length - completion, length)));
        if (trains) entropies.push_back(entropy_of(logits));
    }
    CompletionScores out;
    out.log_probs = cat(log_probs, 0);
    if (trains) out.entropies = cat(entropies, 0);
    return out;
}

}  // namespace vramfit::model
