// peft 0.10 to 0.21.2: tuners/lora/layer.py and bnb.py, tuners/tuners_utils.py inject_adapter and cast_adapter_dtype.
#include "model/adapters/adapters.hpp"

#include <algorithm>
#include <span>

#include <fmt/format.h>

#include "engine/ops/copy.hpp"
#include "engine/ops/dropout.hpp"
#include "engine/ops/embedding.hpp"
#include "engine/ops/matmul.hpp"
#include "engine/ops/pointwise.hpp"
#include "engine/ops/view.hpp"
#include "model/adapters/adaption_prompt.hpp"
#include "model/adapters/dora.hpp"
#include "model/adapters/kinds/kinds.hpp"
#include "model/adapters/param_wrapper.hpp"
#include "model/adapters/prompt_learning.hpp"
#include "model/adapters/saved_modules.hpp"
#include "model/adapters/trained_tokens.hpp"
#include "model/network/called.hpp"
#include "model/network/modules.hpp"
#include "model/network/partitions.hpp"
#include "model/parallel/tensor/tensor_parallel.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/spec/modules.hpp"

namespace vramfit::model {

using namespace engine;

namespace {

/// LoraConfig.__post_init__ and lora.Embedding.update_layer.
void refuse_by_peft(const LoraPlan& plan, const Network& network, const std::vector<LoraTarget>& targets) {
    if (!plan.lora_bias) return;
    if (plan.use_dora)
        throw Error(ErrorKind::invalid, "peft.lora_bias", "is not supported for DoRA (peft)", "leave one of them out");
    for (const LoraTarget& target : targets)
        if (target.module.name == network.embed.name)
            throw Error(ErrorKind::invalid, "peft.lora_bias", "is not supported for embeddings (peft)",
                        "leave the embedding out of target_modules");
}

/// tuners/lora/model.py add_lora_tp_hooks_dtensor: a matrix that is there is replaced by this process's piece.
void cut_matrix(Session& session, Tensor& matrix, const Dims& piece) {
    matrix = empty(session, piece, matrix.dtype(), Op::clone);
}

void adapt(Session& session, Linear& layer, Size rank, const LoraPlan& plan, Partitions* partitions) {
    const DType dtype = adapter_dtype(session.stack, layer);
    // Layers that cut their input or gather their output have whole adapters: peft warns that their plan is not
    // supported and leaves both as they are.
    const bool by_rows = layer.cut == Cut::rows, by_columns = layer.cut == Cut::columns;
    LoraAdapter adapter;
    adapter.a = moved_from_host(session, {rank, cuts_inputs(layer.cut) ? layer.in * layer.pieces : layer.in}, dtype);
    adapter.b = moved_from_host(session, {cuts_outputs(layer.cut) ? layer.out * layer.pieces : layer.out, rank}, dtype);
    if (by_rows) cut_matrix(session, adapter.a, {rank, layer.in});
    if (by_columns) cut_matrix(session, adapter.b, {layer.out, rank});
    if (plan.lora_bias) adapter.bias = moved_from_host(session, {layer.out}, dtype);
    adapter.dropout = plan.lora_dropout;
    if (plan.use_dora && layer.cut != Cut::none)
        throw Error(ErrorKind::invalid, "peft.use_dora",
                    fmt::format("torch stops: DoRA adds whole adapters to {}, which is cut (aten.add.Tensor got mixed "
                                "torch.Tensor and DTensor)",
                                layer.name),
                    "LoRA without it, or FSDP2");
    if (plan.use_dora) {
        const Gathered gathered(partitions, {&layer.weight, &layer.bias});
        adapter.magnitude = dora_magnitude(layer, adapter);
    }
    layer.lora = adapter;
}

void adapt(Session& session, Embedding& layer, Size rank, const LoraPlan& plan, Partitions* partitions) {
    if (layer.pieces > 1)
        throw Error(ErrorKind::unsupported, "peft.target_modules",
                    "an adapter of an embedding that is cut is not supported with tensor parallelism",
                    "modules of the decoder layers");
    LoraEmbeddingAdapter adapter;
    adapter.a = moved_from_host(session, {rank, layer.weight.size(0)}, layer.weight.dtype());
    adapter.b = moved_from_host(session, {layer.weight.size(1), rank}, layer.weight.dtype());
    if (plan.use_dora) {
        const Gathered gathered(partitions, {&layer.weight});
        adapter.magnitude = dora_magnitude(layer, adapter);
    }
    layer.lora = adapter;
    // A hook that is there already stays on the module that it was put on, which is now inside.
    layer.base_output_requires_grad = layer.output_requires_grad;
    layer.output_requires_grad = false;
}

/// What the adapters consist of, in the order of named_modules.
std::vector<Tensor*> adapter_tensors(Network& network) {
    std::vector<Tensor*> out;
    const auto add = [&out](Tensor& t) {
        if (t.defined()) out.push_back(&t);
    };
    const auto add_table = [&](Embedding& table) {
        if (auto& tokens = table.tokens) add(tokens->delta);
        if (auto& lora = table.lora)
            for (Tensor* t : {&lora->a, &lora->b, &lora->magnitude}) add(*t);
    };
    const auto add_linear = [&](Linear& linear) {
        if (auto& other = linear.other) {
            for (const TiedTensor& tied : other->tied) add((*other->shared)[tied.place]);
            for (AddedTensor& added : other->parameters) add(added.tensor);
        }
        if (auto& other = linear.other; other && !other->shared_name.empty()) add(other->shared->front());
        if (auto& lora = linear.lora)
            for (Tensor* t : {&lora->a, &lora->b, &lora->bias, &lora->magnitude}) add(*t);
    };
    const auto add_bare = [&](BareModule& module) {
        for (auto& lora : module.lora)
            if (lora)
                for (Tensor* t : {&lora->a, &lora->b}) add(*t);
    };
    for_each_module(network, Overloaded{add_table, add_linear, [](Norm&) {}, add_bare});
    for (DecoderLayer& layer : network.layers)
        if (layer.prompted)
            for (Tensor& t : layer.attention_parameters.tensors) add(t);
    if (network.prompt)
        for (AddedTensor& added : network.prompt->parameters) add(added.tensor);
    return out;
}

/// Adapters on a parameter of a router or of experts.
void adapt_bare(Session& session, Network& network, const LoraTarget& target, Size rank, const LoraPlan& plan) {
    for (BareModule* module : bare_modules(network))
        if (module->name == target.module.name) return adapt_parameter(session, *module, target, rank, plan);
}

/// A LoRA layer around each target.
void adapt_targets(const Run& run, Network& network, const std::vector<LoraTarget>& targets) {
    Session& session = run.session;
    const LoraPlan& plan = *run.plan.peft;
    const std::vector<Linear*> all = linears(network);
    Partitions* const partitions = network.partitions.get();
    for (const LoraTarget& target : targets) {
        const Size rank = target.has_own_rank ? Size(target.r) : run.sizes.rank;
        if (target.module.kind == ModuleKind::embedding) {
            for (Embedding* table : embeddings(network))
                if (table->name == target.module.name) adapt(session, *table, rank, plan, partitions);
            continue;
        }
        if (!target.parameter.empty()) {
            adapt_bare(session, network, target, rank, plan);
            continue;
        }
        const auto found =
            std::find_if(all.begin(), all.end(), [&](const Linear* l) { return l->name == target.module.name; });
        if (found == all.end())
            throw Error(ErrorKind::invalid, "peft.target_modules",
                        fmt::format("'{}' is no linear layer and no embedding", target.module.name),
                        "name linear layers");
        adapt(session, **found, rank, plan, partitions);
    }
}

/// tuners_utils.py cast_adapter_dtype: a new parameter for each half-precision tensor.
class Raiser {
  public:
    /// Of a ParameterDict or BufferDict.
    void entry(Tensor& t) {
        if (t.defined() && is_half(t.dtype())) t = to(detach(t), DType::float32);
    }
    /// A module's parameters: the old ones live to the end of the list, the last one until the next list begins.
    void module(std::span<Tensor* const> parameters) {
        std::vector<Tensor> old;
        for (Tensor* t : parameters) {
            last_.reset();
            if (!t->defined() || !is_half(t->dtype())) continue;
            old.push_back(*t);
            last_ = *t;
            *t = to(detach(*t), DType::float32);
        }
    }
    void module(std::initializer_list<Tensor*> parameters) { module(std::span(parameters.begin(), parameters.end())); }

    void adapter(OtherAdapter& other) {
        for (const TiedTensor& tied : other.tied) module({&(*other.shared)[tied.place]});
        std::vector<Tensor*> held;
        for (std::size_t i = 0; i < other.parameters.size(); ++i) {
            AddedTensor& added = other.parameters[i];
            if (added.module == 0) {
                entry(added.tensor);
                continue;
            }
            held.push_back(&added.tensor);
            const bool ends = i + 1 == other.parameters.size() || other.parameters[i + 1].module != added.module;
            if (!ends) continue;
            module(held);
            held.clear();
        }
        if (other.raises_buffers)
            for (Tensor& buffer : other.buffers) entry(buffer);
        if (other.shared && other.tied.empty())
            for (Tensor& buffer : *other.shared) entry(buffer);
    }

  private:
    Tensor last_;
};

void raise_dtype(Network& network) {
    Raiser raise;
    const auto raise_linear = [&raise](Linear& linear) {
        if (linear.other) raise.adapter(*linear.other);
        if (!linear.lora) return;
        raise.module({&linear.lora->a});
        raise.module({&linear.lora->b, &linear.lora->bias});
        raise.module({&linear.lora->magnitude});
    };
    const auto raise_bare = [&raise](BareModule& module) {
        for (auto& lora : module.lora)
            if (lora)
                for (Tensor* t : {&lora->a, &lora->b}) raise.module({t});
    };
    const auto raise_table = [&raise](Embedding& table) {
        if (auto& tokens = table.tokens)
            for (Tensor* t : {&tokens->delta, &tokens->original}) raise.entry(*t);
        if (auto& lora = table.lora)
            for (Tensor* t : {&lora->a, &lora->b, &lora->magnitude}) raise.entry(*t);
    };
    for_each_module(network, Overloaded{raise_table, raise_linear, [](Norm&) {}, raise_bare});
}

/// get_peft_model(autocast_adapter_dtype). trl 1.16 trainer/dpo_trainer.py DPOTrainer.__init__, sft_trainer.py
/// SFTTrainer.__init__: false under ZeRO-3.
bool raises_adapters(const Run& run, const Network& network) {
    const bool by_sft = run.plan.loop.kind == LoopKind::sft && run.plan.sft_makes_adapters &&
                        run.stack.sft_leaves_adapters_under_zero3();
    const bool by_trl = by_sft || (is_preference(run.plan.loop.kind) && run.plan.trl_makes_adapters);
    return run.stack.adapters_of_float16_are_float32() && !(by_trl && network.partitions);
}

/// _mark_only_adapters_as_trainable: LoraConfig.bias.
void train_biases(const Stack& stack, Network& network, LoraBias which) {
    if (which == LoraBias::none) return;
    for (Linear* l : linears(network))
        if (l->bias.defined() && (which == LoraBias::all || l->lora || l->other)) l->bias.set_requires_grad(true);
    if (which != LoraBias::all) return;
    for (Norm* n : norms(network))
        if (n->bias.defined()) n->bias.set_requires_grad(true);
    for (BareModule* module : bare_modules(network))
        for (std::size_t i = 0; i < module->tensors.size(); ++i) {
            const BareParameter& parameter = module->parameters[i];
            if (parameter.bias && (parameter.name == "bias" || !stack.biases_are_called_bias()))
                module->tensors[i].set_requires_grad(true);
        }
}

}  // namespace

void add_adapters(const Run& run, Network& network) {
    const LoraPlan& plan = *run.plan.peft;
    const std::vector<LoraTarget> targets = lora_targets(run.spec, plan);
    const AdapterKindFacts& kind = facts_of(plan.kind);
    if (targets.empty() && wraps_modules(kind))
        throw Error(ErrorKind::invalid, "peft.target_modules", "matches no module", "name modules of the network");
    refuse_by_peft(plan, network, targets);
    for (const NamedParameter& p : named_parameters(network)) p.tensor->set_requires_grad(false);
    if (plan.kind == AdapterKind::lora && !plan.is_variant())
        adapt_targets(run, network, targets);
    else if (kind.is_prompt)
        add_prompt_encoder(run, network);
    else if (plan.kind == AdapterKind::adaption_prompt)
        add_adaption_prompts(run, network);
    else if (wraps_modules(kind))
        add_other_adapters(run, network, targets);
    train_biases(run.stack, network, plan.bias);
    // peft 0.21 peft_model.py: PeftModelForTokenClassification names the head once the adapters are there.
    const bool saves_late = run.plan.load.labels_tokens;
    if (!saves_late) save_modules(run, network);
    add_trained_tokens(run, network);
    // PeftModel.__init__, prepare_model_for_gradient_checkpointing: only where checkpointing is already on.
    if (network.checkpointing != Checkpointing::off && !run.plan.load.quantization)
        network.embed.output_requires_grad = true;
    if (raises_adapters(run, network)) raise_dtype(network);
    if (saves_late) save_modules(run, network);
    for (Tensor* t : adapter_tensors(network)) {
        t->set_requires_grad(true);
        label(*t, Category::adapters);
    }
    if (network.prompt && network.prompt->has_frozen)
        network.prompt->parameters.front().tensor.set_requires_grad(false);
    for (const NamedParameter& p : trainable_parameters(network))
        if (!p.wrapper.empty()) label(*p.tensor, Category::adapters);
    place_parameters(network);
}

namespace {

/// lora_B(lora_A(dropout(x))) * scaling.
Tensor delta(const Linear& layer, const Tensor& x) {
    const LoraAdapter& adapter = *layer.lora;
    const Cut cut_a = layer.cut == Cut::rows ? Cut::rows : Cut::none;
    const Cut cut_b = layer.cut == Cut::columns ? Cut::columns : Cut::none;
    Tensor t =
        called(&layer, Part::dropout, x, [&adapter](const Tensor& given) { return dropout(given, adapter.dropout); });
    t = called(&layer, Part::lora_a, t,
               [&](const Tensor& given) { return cut_product(cut_a, layer.pieces, given, adapter.a); });
    t = called(&layer, Part::lora_b, t,
               [&](const Tensor& given) { return cut_product(cut_b, layer.pieces, given, adapter.b, adapter.bias); });
    return mul(t, 1.0);
}

// tuners/lora/layer.py Linear.forward.
Tensor lora_dense(const Linear& layer, const Tensor& x) {
    Tensor result =
        called(&layer, Part::base_layer, x, [&layer](const Tensor& given) { return base_forward(layer, given); });
    const DType dtype = result.dtype();
    read(layer.lora->a);
    Tensor input = to(x, layer.lora->a.dtype());
    if (!layer.lora->magnitude.defined()) {
        result = add(result, delta(layer, input));
    } else if (x.session().stack.dora_is_a_variant()) {
        result = dora_linear(layer, input, result);
    } else {
        input = dropout(input, layer.lora->dropout);
        result = add(result, dora_delta(layer, input, result));
    }
    return to(result, dtype);
}

// tuners/lora/bnb.py Linear4bit.forward: a defensive clone, casts only outside of autocast. Linear8bitLt.forward does
// without the clone.
Tensor lora_packed(const Linear& layer, const Tensor& x) {
    Tensor result =
        called(&layer, Part::base_layer, x, [&layer](const Tensor& given) { return base_forward(layer, given); });
    if (layer.quantized) result = clone(result);
    const bool convert = !x.session().autocast.enabled;
    ModuleHooks* const hooks = x.session().module_hooks;
    if (convert && hooks) hooks->read(layer.lora->a);
    Tensor input = convert ? to(x, layer.lora->a.dtype()) : x;
    if (layer.lora->magnitude.defined()) {
        const DType dtype = result.dtype();
        const Stack& stack = x.session().stack;
        if (!stack.dora_is_a_variant()) {
            if (stack.dora_drops_out_in_packed_layers()) input = dropout(input, layer.lora->dropout);
            Tensor output = dora_delta(layer, input, result);
            if (convert) output = to(output, dtype);
            return add(result, output);
        }
        result = dora_linear(layer, input, result);
        return convert ? to(result, dtype) : result;
    }
    Tensor output = delta(layer, input);
    if (convert) output = to(output, result.dtype());
    return add(result, output);
}

}  // namespace

Tensor lora_linear(const Linear& layer, const Tensor& x) {
    return is_packed(layer) ? lora_packed(layer, x) : lora_dense(layer, x);
}

Tensor lora_embedding(const Embedding& layer, const Tensor& ids) {
    Tensor result = called(&layer, Part::base_layer, ids, [&layer](const Tensor& given) {
        Tensor out = base_forward(layer, given);
        if (layer.base_output_requires_grad && grad_enabled(out.session())) {
            out->is_activation = out.is_leaf();
            out.set_requires_grad(true);
        }
        return out;
    });
    const DType dtype = result.dtype();
    if (layer.lora->magnitude.defined()) {
        result = dora_embedding(layer, ids, result);
        return to(result, dtype);
    }
    read(layer.lora->a);
    const Tensor a = transpose2d(layer.lora->a);
    read(layer.lora->b);
    const Tensor b = transpose2d(layer.lora->b);
    const Tensor after_a = engine::embedding(a, ids);
    Tensor output = matmul(after_a, b);
    output = mul(output, 1.0);
    if (layer.scale.defined()) output = mul(output, to(layer.scale, output.dtype()));
    result = add(result, output);
    return to(result, dtype);
}

}  // namespace vramfit::model
