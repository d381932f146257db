// trl 1.9 experimental/ppo/ppo_trainer.py generate, batch_generation; models/utils.py unwrap_model_for_generation;
// trainer/utils.py pad.
#include "model/preferences/ppo/generation.hpp"

#include <algorithm>
#include <vector>

#include "engine/ops/copy.hpp"
#include "engine/ops/pointwise.hpp"
#include "engine/ops/shape.hpp"
#include "engine/ops/view.hpp"
#include "model/loading/prepare.hpp"
#include "model/preferences/grpo/generation.hpp"

namespace vramfit::model {

using namespace engine;

namespace {

PpoResponses generate_piece(const Run& run, const Network& policy, const Tensor& queries, std::int64_t tokens) {
    Tensor mask = compare(Op::ne, queries);
    Tensor input_ids = [&] {
        const Tensor padded = compare(Op::bitwise_not, mask);
        return masked_fill(queries, padded);
    }();
    std::vector<Tensor> scores;
    Prompts prompts{input_ids, mask, run.plan.batch.pairs.padded};
    prompts.ends = Size(1);  // the policy's generation_config has the stop token alone
    prompts.has_begin = has_begin(run);
    prompts.has_ends = run.plan.preference.ppo.stops;
    prompts.has_pad = run.spec.pad_token_id.has_value();
    prompts.scores = &scores;
    Generated output = generate_with_cache(run, policy, prompts, tokens);
    PpoResponses out;
    out.logits = stack(scores, 1);
    const Tensor parts[2] = {queries, slice(output.ids, 1, queries.size(1), output.ids.size(1))};
    out.query_responses = cat(parts, 1);
    for (Tensor* t : {&mask, &input_ids, &output.ids}) t->reset();
    while (!scores.empty()) scores.pop_back();
    let_go(output.cache);
    return out;
}

/// pad(list): [pieces, rows, ...] of the first piece's rows.
Tensor padded_list(const std::vector<Tensor>& list) {
    const Tensor& first = list.front();
    Dims sizes{Size(static_cast<std::int64_t>(list.size()))};
    for (int i = 0; i < first.dim(); ++i) sizes.push(first.size(i));
    return empty(first.session(), sizes, first.dtype(), Op::full);
}

/// Of [pieces, rows, ...] the first so many rows.
Tensor rows_of_list(const Tensor& padded, const Size& rows) {
    Dims sizes{padded.size(0) * padded.size(1)};
    for (int i = 2; i < padded.dim(); ++i) sizes.push(padded.size(i));
    return slice(view(padded, sizes), 0, 0, rows);
}

}  // namespace

std::int64_t rows_of_piece(const Run& run) { return run.plan.preference.ppo.local_rollout_forward_batch_size; }

PpoResponses generate_responses(const Run& run, Network& policy, const Tensor& queries) {
    const GradMode no_grad(run.session, false);
    PpoResponses out;
    {
        const Scoped<Checkpointing> whole_layers(policy.checkpointing, Checkpointing::off);
        const std::int64_t tokens = run.session.decide("tokens of a response", run.sizes.length - queries.size(1));
        std::vector<Tensor> ids, logits;
        with_each_piece(run, queries.size(0), [&](std::int64_t first, std::int64_t end) {
            PpoResponses piece = generate_piece(run, policy, slice(queries, 0, first, end), tokens);
            ids.push_back(std::move(piece.query_responses));
            logits.push_back(std::move(piece.logits));
        });
        out.query_responses = rows_of_list(padded_list(ids), queries.size(0));
        out.logits = rows_of_list(padded_list(logits), queries.size(0));
        // The last ones have names of their own.
        for (std::vector<Tensor>* list : {&ids, &logits})
            for (std::size_t i = list->size() - 1; i-- > 0;) (*list)[i].reset();
        ids.clear();
        logits.clear();
    }
    return out;
}

}  // namespace vramfit::model
