// transformers 5.17 generation/utils.py GenerationMixin._sample, logits_process.py, stopping_criteria.py;
// torch 2.11 ATen/native/Distributions.cpp multinomial.
#include "model/preferences/grpo/sampling.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include "engine/ops/copy.hpp"
#include "engine/ops/index.hpp"
#include "engine/ops/pointwise.hpp"
#include "engine/ops/reduce.hpp"
#include "engine/ops/row_order.hpp"
#include "engine/ops/softmax.hpp"
#include "engine/ops/unary.hpp"
#include "engine/ops/view.hpp"
#include "model/preferences/grpo/generation.hpp"

namespace vramfit::model {

using namespace engine;

namespace {

Tensor whole_of(const Tensor& t, Op op, DType dtype) { return reduce(t, (1u << t.dim()) - 1u, false, dtype, op); }

/// min >= 0 and max < infinity.
Tensor is_within(const Tensor& smallest, const Tensor& largest) {
    const Tensor above = compare(Op::ge, smallest);
    const Tensor below = compare(Op::lt, largest);
    return compare(Op::bitwise_and, above, below);
}

/// multinomial_check's reads, behind which weights are divided by exponentials.
Tensor multinomial(const Tensor& probs) {
    Session& session = probs.session();
    const Tensor drawn = empty(session, {probs.size(0), 1}, DType::int64, Op::multinomial);
    Tensor is_valid, smallest, largest;  // of aminmax both are held to the end
    if (session.stack.multinomial_asks_aminmax()) {
        std::tie(smallest, largest) = aminmax(probs);
        is_valid = is_within(smallest, largest);
    } else {
        const Tensor least = whole_of(probs, Op::min, probs.dtype());
        const Tensor above = compare(Op::ge, least);
        const Tensor most = whole_of(probs, Op::max, probs.dtype());
        const Tensor below = compare(Op::lt, most);
        is_valid = compare(Op::bitwise_and, above, below);
    }
    session.streams.host_waits(0);
    Tensor is_zero;
    {
        const Tensor sum = sum_dim(probs, 1, false, probs.dtype());
        const Tensor equal = compare(Op::eq, sum);
        is_zero = whole_of(equal, Op::any, DType::boolean);
    }
    { const Tensor is_positive = compare(Op::bitwise_not, is_zero); }
    session.streams.host_waits(0);
    const Tensor exponentials = empty(session, probs.sizes(), probs.dtype(), Op::multinomial);
    return drawn;
}

/// ms-swift 4.6 template/utils.py StopWordsCriteria.__call__: the last tokens go to the host as text.
Tensor has_stop_word(const Tensor& input_ids, const StopWords& words, const Tensor& done) {
    Session& session = input_ids.session();
    const Size rows = input_ids.size(0), tokens = input_ids.size(1);
    if (!words.is_done->defined()) *words.is_done = empty(session, {rows}, DType::boolean, Op::full);
    const Size first = std::max(words.prompt, tokens - kTokensOfStopWords);
    { const Tensor last = contiguous(slice(input_ids, 1, first, tokens)); }
    session.streams.host_waits(0);
    return compare(Op::bitwise_or, done, *words.is_done);
}

/// MaxLengthCriteria and EosTokenCriteria: is_done | criteria(...).
Tensor is_done(const Tensor& input_ids, const Tensor& end_ids) {
    Session& session = input_ids.session();
    const Size rows = input_ids.size(0);
    Tensor done;
    {
        const Tensor none = empty(session, {rows}, DType::boolean, Op::full);
        const Tensor at_length = empty(session, {rows}, DType::boolean, Op::full);
        done = compare(Op::bitwise_or, none, at_length);
    }
    if (!end_ids.defined()) return done;
    Tensor ended;
    {
        const Tensor last = slice(input_ids, 1, input_ids.size(1) - 1, input_ids.size(1));
        const Tensor is_end = is_in(last, end_ids);
        ended = any_of(is_end, 2);
    }
    return compare(Op::bitwise_or, done, ended);
}

/// RepetitionPenaltyLogitsProcessor: scores -- [G, V], ids -- [G, S].
Tensor penalized(const Tensor& scores, const Tensor& ids) {
    Tensor score = gather(scores, ids);
    {
        const Tensor is_negative = compare(Op::lt, score);
        const Tensor larger = mul(score, 1.0);
        const Tensor smaller = div(score, 1.0);
        score = where(is_negative, larger, smaller);
    }
    return scatter_number(scores, ids);  // a copy of the scores, written into
}

/// TopKLogitsWarper: scores -- [G, V].
Tensor among_first(const Tensor& scores, Size k) {
    Tensor removed;
    {
        Picked first = topk_of_rows(scores, k);
        first.indices.reset();
        removed = compare(Op::lt, scores, select(first.values, 1));
    }
    return masked_fill(scores, removed);
}

/// TopPLogitsWarper: scores -- [G, V].
Tensor of_share(const Tensor& scores) {
    Picked sorted = sort_rows(scores);
    Tensor cumulative;
    {
        const Tensor probs = softmax_in_own_dtype(sorted.values);
        cumulative = pointwise_result(probs, probs.dtype(), Op::cumsum);
    }
    Tensor removed_sorted = compare(Op::le, cumulative);
    Tensor removed = empty(scores.session(), scores.sizes(), DType::boolean, Op::scatter);
    Tensor out = masked_fill(scores, removed);
    sorted.values.reset();
    sorted.indices.reset();
    for (Tensor* t : {&cumulative, &removed_sorted, &removed}) t->reset();
    return out;
}

/// MinPLogitsWarper: scores -- [G, V].
Tensor above_part_of_first(const Tensor& scores) {
    Tensor probs = softmax_in_own_dtype(scores);
    Tensor first = reduce(probs, 2, true, probs.dtype(), Op::amax);
    Tensor least = mul(first, 1.0);
    Tensor removed = compare(Op::lt, probs, least);
    Picked kept = topk_of_rows(probs, 1);
    kept.values.reset();
    Tensor out = masked_fill(scores, removed);
    for (Tensor* t : {&probs, &first, &least, &removed, &kept.indices}) t->reset();
    return out;
}

}  // namespace

void sample_token(const Run& run, const Tensor& logits, const Tensor& end_ids, Sampling& s) {
    Session& session = run.session;
    const GrpoPlan& how = run.plan.preference.grpo;
    const Tensor last = select(logits, 1);
    Tensor copied = empty(session, last.sizes(), DType::float32, Op::to_copy);
    s.next_token_logits = copied;
    copied.reset();
    Tensor scores = s.next_token_logits;
    if (how.penalizes_repetition) scores = penalized(scores, s.input_ids);
    if (how.has_temperature) scores = div(scores, 1.0);
    if (how.top_k > 0) scores = among_first(scores, std::min(Size(how.top_k), scores.size(1)));
    if (how.has_top_p) scores = of_share(scores);
    if (how.has_min_p) scores = above_part_of_first(scores);
    s.next_token_scores = std::move(scores);
    if (s.kept_scores) s.kept_scores->push_back(s.next_token_scores);
    s.probs = softmax_in_own_dtype(s.next_token_scores);
    s.next_tokens = select(multinomial(s.probs), 1);
    if (end_ids.defined()) {
        const Tensor kept = mul(s.next_tokens, s.unfinished_sequences);
        const Tensor padded = [&] {
            const Tensor finished = subtracted_from_number(s.unfinished_sequences);
            return mul(finished, 1);
        }();
        s.next_tokens = add(kept, padded);
    }
    {
        const Tensor parts[2] = {s.input_ids, unsqueeze(s.next_tokens, 1)};
        s.input_ids = cat(parts, -1);
    }
    {
        Tensor going_on;
        {
            Tensor done = is_done(s.input_ids, end_ids);
            if (s.stop_words.is_done) done = has_stop_word(s.input_ids, s.stop_words, done);
            going_on = compare(Op::bitwise_not, done);
        }
        s.unfinished_sequences = pointwise_result(s.unfinished_sequences, going_on, DType::int64, Op::bitwise_and);
    }
    Tensor is_over = [&] {
        const Tensor most = whole_of(s.unfinished_sequences, Op::max, DType::int64);
        return compare(Op::eq, most);
    }();
    session.streams.host_waits(0);
    if (session.stack.generation_holds_its_end()) s.this_peer_finished = std::move(is_over);
}

}  // namespace vramfit::model
