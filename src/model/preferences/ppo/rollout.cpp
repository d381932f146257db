// trl 1.9 experimental/ppo/ppo_trainer.py PPOTrainer.train, up to "Response Processing 3"; truncate_response.
#include "model/preferences/ppo/rollout.hpp"

#include <algorithm>

#include "engine/ops/copy.hpp"
#include "engine/ops/in_place.hpp"
#include "engine/ops/pointwise.hpp"
#include "engine/ops/shape.hpp"
#include "engine/ops/view.hpp"
#include "model/loading/prepare.hpp"
#include "model/preferences/ppo/forward.hpp"
#include "model/preferences/ppo/generation.hpp"
#include "model/preferences/ppo/masked.hpp"
#include "model/preferences/rows.hpp"
#include "model/preferences/whole_logits.hpp"

namespace vramfit::model {

using namespace engine;

namespace {

/// A phase behind which goes on the fetching of inputs.
template <class Act>
auto in_phase(const Run& run, PhaseKind kind, const Place& place, const Act& act) {
    auto out = [&] {
        const WithinPhase phase(run.session, phase_at(kind, place));
        return act();
    }();
    run.session.end_loss();  // which a network's head has begun
    run.session.recorder.begin(phase_at(PhaseKind::inputs, place));
    return out;
}

Tensor log_probabilities(const Run& run, const Place& place, const Tensor& logits, const Tensor& response) {
    return in_phase(run, PhaseKind::log_probabilities, place, [&] { return selective_log_softmax(logits, response); });
}

/// truncate_response.
Tensor truncated(const Tensor& response) {
    Tensor ends = unsqueeze(first_true_indices(compare(Op::eq, response)), -1);
    Tensor indices = arange(response.session(), response.size(1));
    Tensor out = [&] {
        const Tensor is_behind = compare(Op::gt, unsqueeze(indices, 0), ends);
        return masked_fill(response, is_behind);
    }();
    ends.reset();
    indices.reset();
    return out;
}

/// The reference's own run, or the policy with its adapters off, in training: whose layers, checkpointed, keep no
/// cache.
Output reference_output(const Run& run, const PpoNetworks& networks, const Place& place, const Tensor& rows) {
    return in_phase(run, PhaseKind::reference_forward, place, [&] {
        TrainPlan plan = run.plan;
        if (!networks.reference.network && networks.policy.checkpointing != Checkpointing::off)
            plan.training.use_cache = false;
        const Run asked = run.with(plan);
        return on_reference(asked, networks.policy, networks.reference, [&](const Run& own, const Network& network) {
            const Batch given = given_rows(own, rows);
            return causal_lm(own, network, given, {}, {});
        });
    });
}

Tensor reference_log_probs(const Run& run, const PpoNetworks& networks, const Place& place, const PpoRollout& r,
                           const Size& context) {
    Output output = reference_output(run, networks, place, r.query_response);
    const Tensor logits = div_slice_in_place(output.logits, 1, context - 1, output.logits.size(1) - 1);
    Tensor out = log_probabilities(run, place, logits, r.response);
    let_go(output);
    return out;
}

/// Lists of what each piece gives.
struct Pieces {
    std::vector<Tensor> responses, postprocessed_responses, logprobs, ref_logprobs, sequence_lengths, scores, values;
};

void score_piece(const Run& run, const PpoNetworks& networks, const Place& place, const Size& context, PpoRollout& r,
                 Pieces& out) {
    Recorder& recorder = run.session.recorder;
    const RunSizes sizes{r.query.size(0), r.query_response.size(1), 0};
    out.ref_logprobs.push_back(reference_log_probs(run, networks, place, r, context));
    recorder.empty_cache();
    r.postprocessed_response = r.response;
    if (run.plan.preference.ppo.stops) r.postprocessed_response = truncated(r.response);
    const Tensor parts[2] = {r.query, r.postprocessed_response};
    r.postprocessed_query_response = cat(parts, 1);
    r.sequence_length = [&] {
        const Tensor first = first_true_indices(compare(Op::eq, r.postprocessed_response));
        return sub(first, 1);
    }();
    RowRewards of_value = in_phase(run, PhaseKind::value_forward, place, [&] {
        return rewards_of_rows(networks.value.on(run, sizes), *networks.value.network, r.query_response, context);
    });
    r.underscore = of_value.final_rewards;
    of_value.final_rewards.reset();
    r.underscore = std::move(of_value.sequence_lengths);
    const Size last = of_value.logits.size(1) - 1;
    out.values.push_back(squeeze(slice(of_value.logits, 1, context - 1, last), -1));
    RowRewards of_reward = in_phase(run, PhaseKind::reward, place, [&] {
        return evaluated(run, networks.reward, sizes, [&](const Run& asked, const Network& network) {
            return rewards_of_rows(asked, network, r.postprocessed_query_response, context);
        });
    });
    r.underscore = std::move(of_reward.logits);
    out.scores.push_back(std::move(of_reward.final_rewards));
    r.underscore = std::move(of_reward.sequence_lengths);
    out.responses.push_back(r.response);
    out.postprocessed_responses.push_back(r.postprocessed_response);
    out.sequence_lengths.push_back(r.sequence_length);
}

/// torch.cat(list, 0).
Tensor joined_pieces(std::vector<Tensor>& list) {
    Tensor out = cat(list, 0);
    while (!list.empty()) list.pop_back();
    return out;
}

void join(Pieces& pieces, PpoRollout& r) {
    r.responses = cat(pieces.responses, 0);
    r.postprocessed_responses = cat(pieces.postprocessed_responses, 0);
    pieces.responses.clear();
    pieces.postprocessed_responses.clear();
    // del (logprob, ref_logprob, full_value, value, score): the last of each list.
    const Tensor last[] = {pieces.logprobs.back(), pieces.ref_logprobs.back(), pieces.values.back(),
                           pieces.scores.back()};
    r.logprobs = joined_pieces(pieces.logprobs);
    r.ref_logprobs = joined_pieces(pieces.ref_logprobs);
    r.sequence_lengths = joined_pieces(pieces.sequence_lengths);
    r.scores = joined_pieces(pieces.scores);
    r.values = joined_pieces(pieces.values);
}

}  // namespace

Size rows_of_update(const Run& run) { return run.sizes.batch * run.plan.training.gradient_accumulation_steps; }

void roll_out(const Run& run, const PpoNetworks& networks, const Place& place, PpoRollout& r) {
    const GradMode no_grad(run.session, false);
    Recorder& recorder = run.session.recorder;
    const Size context = run.plan.batch.pairs.prompt.front(), rows = rows_of_update(run);
    Tensor queries = moved(run, {rows, context}, DType::int64);
    r.data_mask = moved(run, {rows, context}, DType::int64);
    r.queries = std::move(queries);
    PpoResponses generated = in_phase(run, PhaseKind::generation, place,
                                      [&] { return generate_responses(run, networks.policy, r.queries); });
    r.query_responses = std::move(generated.query_responses);
    r.logitss = std::move(generated.logits);
    // gradient_checkpointing_enable without arguments: what the script asked for holds until here.
    if (networks.policy.checkpointing != Checkpointing::off) enable_checkpointing(run, networks.policy, {});
    Pieces pieces;
    with_each_piece(run, rows, [&](std::int64_t first, std::int64_t end) {
        r.query = slice(r.queries, 0, first, end);
        r.query_response = slice(r.query_responses, 0, first, end);
        r.response = slice(r.query_response, 1, context, r.query_response.size(1));
        pieces.logprobs.push_back(log_probabilities(run, place, slice(r.logitss, 0, first, end), r.response));
        recorder.empty_cache();
        score_piece(run, networks, place, context, r, pieces);
    });
    join(pieces, r);
    recorder.empty_cache();
}

}  // namespace vramfit::model
