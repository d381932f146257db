// transformers 5.17 generation/utils.py GenerationMixin.generate, _sample, _prefill, prepare_inputs_for_generation,
// _update_model_kwargs_for_generation.
#include "model/preferences/grpo/generation.hpp"

#include <algorithm>
#include <iterator>
#include <optional>
#include <string_view>

#include "engine/autocast.hpp"
#include "engine/ops/copy.hpp"
#include "engine/ops/in_place.hpp"
#include "engine/ops/index.hpp"
#include "engine/ops/pointwise.hpp"
#include "engine/ops/reduce.hpp"
#include "engine/ops/view.hpp"
#include "model/causal_lm/causal_lm.hpp"
#include "model/causal_lm/mixed_precision.hpp"
#include "model/layers/family.hpp"
#include "model/network/called.hpp"
#include "model/network/modules.hpp"
#include "model/network/unit_hooks.hpp"
#include "model/parallel/collectives.hpp"
#include "model/preferences/grpo/sampling.hpp"
#include "model/preferences/grpo/token_paths.hpp"
#include "model/preferences/rows.hpp"
#include "spec/listed.hpp"
#include "spec/network/generation_config.hpp"

namespace vramfit::model {

using namespace engine;

// configuration_glm4.py names three, configuration_qwen2.py and configuration_qwen3.py none, those of the other
// families one each.
Size end_tokens(const Run& run) {
    const std::string& type = run.spec.model_type;
    constexpr Size kOfTokenizer = 1;
    if (!by_ms_swift(run.plan) && !run.stack.completions_have_several_ends()) return kOfTokenizer;
    if (run.spec.recording) return kOfTokenizer + network::generation_config_of(*run.spec.recording).ends;
    if (type == "qwen2" || type == "qwen3") return kOfTokenizer;
    return kOfTokenizer + (type == "glm4" ? 3 : 1);
}

// configuration_*.py of transformers 5.17.
bool has_begin(const Run& run) {
    if (run.spec.recording) return network::generation_config_of(*run.spec.recording).has_begin;
    constexpr std::string_view kWithout[] = {"glm4", "olmo2", "qwen2", "qwen3"};
    return !is_listed(kWithout, run.spec.model_type);
}

Tensor any_of(const Tensor& t, std::uint32_t dims) { return reduce(t, dims, false, DType::boolean, Op::any); }

// torch 2.11 ATen/native/TensorCompare.cpp isin_default_kernel_gpu: elements by test elements.
Tensor is_in(const Tensor& ids, const Tensor& ends) {
    Tensor out = empty(ids.session(), ids.sizes(), DType::boolean, Op::isin);
    Dims pairs = ids.sizes();
    pairs.push(ends.numel());
    const Tensor equal = empty(ids.session(), pairs, DType::boolean, Op::eq);
    const Tensor any = any_of(equal, 1u << ids.dim());
    return out;
}

namespace {

Tensor on_device(const Run& run, const Dims& sizes) { return moved(run, sizes, DType::int64); }

/// _prepare_special_tokens: tensors of the ends and of the padding.
void look_at_tokens(const Tensor& end_ids, const Tensor& pad_id) {
    Streams& streams = end_ids.session().streams;
    {
        Tensor is_padding = is_in(end_ids, pad_id);
        const Tensor any = any_of(is_padding, 1);
        is_padding.reset();
        streams.host_waits(0);
    }
    Tensor negative = compare(Op::lt, end_ids);
    const Tensor any = any_of(negative, 1);
    negative.reset();
    streams.host_waits(0);
}

/// torch.any(attention_mask[:, -1] == 0).item().
void look_at_last_places(const Tensor& mask) {
    Tensor padded = compare(Op::eq, select(mask, 1));
    const Tensor any = any_of(padded, 1);
    padded.reset();
    mask.session().streams.host_waits(0);
}

/// (model_kwargs["attention_mask"] == 1).all().
void look_for_padding(const Tensor& mask) {
    Tensor is_seen = compare(Op::eq, mask);
    const Tensor all = reduce(is_seen, 3, false, DType::boolean, Op::all);
    is_seen.reset();
    mask.session().streams.host_waits(0);
}

/// attention_mask.long().cumsum(-1) - 1, 0 where nothing is to be seen.
Tensor positions_of(const Tensor& mask) {
    Tensor positions = cumsum_last(to(mask, DType::int64));
    positions = sub(positions, 1);
    const Tensor padded = compare(Op::eq, mask);
    Tensor out = clone_contiguous(positions);
    return out;
}

/// XForCausalLM.forward with logits_to_keep 1.
Tensor logits_of_family(const Run& run, const Network& network, const Batch& batch, const KvCachePointer& cache) {
    const Tensor hidden = last_hidden_state(run, network, batch, cache, {});
    if (cache) cache->add_tokens(hidden.size(1));
    Tensor last = slice(hidden, 1, hidden.size(1) - 1, hidden.size(1));
    if (network.hooks) last = network.hooks->before_head(last);
    Tensor logits = forward(network.head, last);
    if (network.hooks) network.hooks->after_head(logits);
    const Family& family = family_of(run.spec.model_type);
    return family.shape_logits ? family.shape_logits(run, std::move(logits)) : logits;
}

/// The model's forward as generate calls it: with adapters peft hands the call to the model inside, which accelerate
/// has not wrapped.
Tensor logits_of_last(const Run& run, const Network& network, const Batch& batch, const KvCachePointer& cache,
                      const ForwardWrapper* around) {
    const auto dtype = run.plan.peft ? std::nullopt : prepared_dtype(run.plan);
    Tensor logits;
    if (around) around->before();
    if (run.session.module_hooks) run.session.module_hooks->before(key_of(&network, Part::whole), {});
    {
        std::optional<AutocastScope> autocast;
        if (dtype) autocast.emplace(run.session, true, *dtype);
        logits = run.recorded ? recorded_last_logits(run, network, batch, cache)
                              : logits_of_family(run, network, batch, cache);
    }
    if (dtype) logits = to(logits, DType::float32);
    Tensor* const outputs[] = {&logits};
    if (around) around->after(logits, outputs);
    return logits;
}

/// _has_unfinished_sequences: under ZeRO-3 ranks add up who goes on, since all have to call the model as often.
void ask_all_ranks(const Run& run) {
    const bool is_sharded = run.plan.distributed && run.plan.distributed->as<Fsdp2Plan>();
    if ((!run.session.module_hooks && !is_sharded) || run.plan.distributed->world_size == 1) return;
    const Tensor flag = to_device(host_tensor(run.session, {}, DType::float32));
    run.session.streams.host_waits(0);  // for that copy
    all_reduce(flag);
    run.session.streams.host_waits(0);
}

/// model_kwargs: what one token's forward leaves to the next one's.
struct Kwargs {
    Tensor mask, position_ids;
    bool padded = false;
    Missing missing = {};
};

/// _update_model_kwargs_for_generation.
void update_kwargs(Kwargs& kwargs) {
    const Tensor before = kwargs.position_ids;
    Session& session = before.session();
    {
        Tensor next;
        {
            const Tensor last = slice(before, 1, before.size(1) - 1, before.size(1));
            Tensor sum;
            {
                const Tensor range = view(arange(session, 1), {1, 1});
                sum = add(range, last);
            }
            next = add(sum, 1);
        }
        const Tensor parts[2] = {before, next};
        kwargs.position_ids = cat(parts, -1);
    }
    if (!kwargs.mask.defined()) return;
    const Tensor one = empty(session, {kwargs.mask.size(0), 1}, kwargs.mask.dtype(), Op::new_empty);
    const Tensor parts[2] = {kwargs.mask, one};
    kwargs.mask = cat(parts, -1);
}

/// model_inputs of one new token of each row.
Batch inputs_of_token(const Tensor& ids, const Kwargs& kwargs) {
    const auto last = [](const Tensor& t) { return clone_contiguous(slice(t, 1, t.size(1) - 1, t.size(1))); };
    Batch inputs;
    inputs.input_ids = last(ids);
    inputs.position_ids = last(kwargs.position_ids);
    inputs.attention_mask = kwargs.mask;
    inputs.padded = kwargs.padded;
    inputs.missing = kwargs.missing;
    return inputs;
}

/// model_inputs of the prompt, or without a cache of all tokens so far.
Batch inputs_of_all(const Tensor& ids, const Kwargs& kwargs) {
    Batch inputs;
    inputs.input_ids = clone_contiguous(ids);
    inputs.attention_mask = kwargs.mask;
    inputs.position_ids = kwargs.position_ids;
    inputs.padded = kwargs.padded;
    inputs.missing = kwargs.missing;
    return inputs;
}

/// _sample. What it has been called with is held by the caller.
Tensor sample(const Run& run, const Network& network, const Tensor& ids, Kwargs kwargs, const Tensor& end_ids,
              KvCachePointer& cache, std::int64_t tokens, const ForwardWrapper* around, const Prompts& prompts) {
    Session& session = run.session;
    Sampling s;
    s.stop_words = {prompts.stop_words, ids.size(1)};
    s.kept_scores = prompts.scores;
    s.input_ids = ids;
    s.unfinished_sequences = empty(session, {ids.size(0)}, DType::int64, Op::ones);
    Batch model_inputs;
    TokenPaths paths(run, ids, tokens, kwargs.padded, kwargs.missing);
    for (std::int64_t token = 0; token < tokens; ++token) {
        if (const std::int64_t times = cache && !s.kept_scores ? paths.repeats(token) : 0) {
            std::vector<Grown> live = {{&s.input_ids, 1}, {&kwargs.position_ids, 1}};
            if (kwargs.mask.defined())
                live.insert(live.begin() + 1, {{&kwargs.mask, 1}, {&model_inputs.attention_mask, 1}});
            for (Tensor* t : {&s.next_token_logits, &s.next_token_scores, &s.probs, &s.next_tokens,
                              &s.unfinished_sequences, &model_inputs.input_ids, &model_inputs.position_ids})
                live.push_back({t, -1});
            if (s.this_peer_finished.defined()) live.push_back({&s.this_peer_finished, -1});
            Tensor* const held = network.hooks ? network.hooks->held() : nullptr;
            if (held && held->defined()) live.push_back({held, -1});
            for (KvCache::Layer& layer : cache->layers())
                for (Tensor* t : {&layer.keys, &layer.values}) live.push_back({t, layer.is_full() ? -1 : 2});
            const std::int64_t written = paths.write(times, live);
            cache->add_tokens(written);
            token += written;
        }
        paths.begin();
        Tensor logits;
        if (token == 0) {
            logits = logits_of_last(run, network, inputs_of_all(s.input_ids, kwargs), cache, around);
            ask_all_ranks(run);
        } else {
            ask_all_ranks(run);
            model_inputs = (cache ? inputs_of_token : inputs_of_all)(s.input_ids, kwargs);
            logits = logits_of_last(run, network, model_inputs, cache, around);
        }
        update_kwargs(kwargs);
        sample_token(run, logits, end_ids, s);
        logits.reset();
        paths.end();
    }
    ask_all_ranks(run);
    s.this_peer_finished.reset();
    kwargs.mask.reset();
    kwargs.position_ids.reset();
    s.unfinished_sequences.reset();
    for (Tensor* t : {&model_inputs.input_ids, &model_inputs.position_ids, &model_inputs.attention_mask}) t->reset();
    for (Tensor* t : {&s.next_token_logits, &s.next_token_scores, &s.probs, &s.next_tokens}) t->reset();
    return s.input_ids;
}

}  // namespace

void let_go(const KvCachePointer& cache) {
    if (!cache) return;
    for (auto layer = cache->layers().rbegin(); layer != cache->layers().rend(); ++layer) {
        layer->window.reset();
        layer->keys.reset();
        layer->values.reset();
    }
}

Generated generate_with_cache(const Run& run, const Network& network, const Prompts& prompts, std::int64_t tokens,
                              bool caches) {
    const Tensor &ids = prompts.ids, &mask = prompts.mask;
    const GradMode no_grad(run.session, false);
    Tensor begin_id;
    if (prompts.has_begin) begin_id = on_device(run, {});
    Tensor end_ids, pad_id;
    if (prompts.has_ends) end_ids = on_device(run, {prompts.ends ? *prompts.ends : end_tokens(run)});
    if (prompts.has_pad) pad_id = on_device(run, {});
    if (prompts.has_ends) look_at_tokens(end_ids, pad_id.defined() ? pad_id : end_ids);
    const bool knows_padding = prompts.has_ends || prompts.has_pad;  // the end stands in for a token of padding
    if (knows_padding && run.session.decide("several rows", ids.size(0) > 1)) look_at_last_places(mask);
    Tensor position_ids = positions_of(mask);
    Tensor seen = mask;
    if (run.stack.generation_drops_whole_masks() && !prompts.differ) seen.reset();
    if (run.stack.generation_drops_whole_masks()) look_for_padding(mask);
    Generated out;
    if (caches) out.cache = std::make_shared<KvCache>(layer_count(network));
    out.ids = sample(run, network, ids, {seen, position_ids, prompts.differ, prompts.missing}, end_ids, out.cache,
                     tokens, run.plan.peft ? nullptr : prompts.around,  // the model inside of the adapters has no hooks
                     prompts);
    for (Tensor* t : {&pad_id, &position_ids, &end_ids, &begin_id}) t->reset();
    return out;
}

// transformers 5.17 trainer.py: register_fsdp_forward_method(self.model, "generate").
Tensor generate(const Run& run, const Network& network, const Prompts& prompts, std::int64_t tokens) {
    const GradMode no_grad(run.session, false);
    if (prompts.around) prompts.around->before();
    Generated out = generate_with_cache(run, network, prompts, tokens);
    if (prompts.around) prompts.around->after(out.ids, {});
    let_go(out.cache);
    return out.ids;
}

}  // namespace vramfit::model
