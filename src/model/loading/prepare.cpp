// peft 0.10 to 0.21.2 utils/other.py prepare_model_for_kbit_training; transformers modeling_utils.py, gradient
// checkpointing.
#include "model/loading/prepare.hpp"

#include "engine/ops/copy.hpp"
#include "spec/network/model.hpp"

namespace vramfit::model {

using namespace engine;

namespace {

/// param.data = param.data.to(dtype): whoever shares the parameter sees it.
void cast_in_place(const Tensor& t, DType dtype) {
    if (t.dtype() == dtype) return;
    Recorder& recorder = t.session().recorder;
    const Category category = label_of(t);
    const Scoped<Module> module(recorder.module, recorder.place_of(t->storage->id));
    set_data(t, to(detach(t), dtype));
    label(t, category);
}

bool is_norm(const NamedParameter& p) { return p.layer_norm || p.name().find("norm") != std::string::npos; }

bool is_head_or_embedding(const NamedParameter& p) {
    for (const char* word : {"lm_head", "embed_tokens", "wte", "wpe"})
        if (p.name().find(word) != std::string::npos) return true;
    return false;
}

}  // namespace

void require_input_grads(Network& network) { network.embed.output_requires_grad = true; }

void enable_checkpointing(const Run& run, Network& network, std::optional<bool> reentrant) {
    network.checkpointing = reentrant.value_or(run.stack.checkpointing_is_reentrant()) ? Checkpointing::reentrant
                                                                                       : Checkpointing::non_reentrant;
    if (run.stack.checkpointing_requires_input_grads()) require_input_grads(network);
}

void prepare_for_kbit_training(const Run& run, Network& network, const PreparePlan& plan) {
    const GradMode no_grad(run.session, false);
    for (const NamedParameter& p : named_parameters(network)) {
        p.tensor->set_requires_grad(false);
        if (is_half(p.tensor->dtype())) cast_in_place(*p.tensor, DType::float32);
    }
    if (plan.auto_clear_cache && run.stack.prepare_empties_cache()) run.session.recorder.empty_cache();
    if (!run.plan.load.quantization || !plan.use_gradient_checkpointing) return;
    // The arguments are passed on as {} where there are none; torch's own default is then reentrant.
    const bool reentrant = plan.use_reentrant.value_or(true);
    if (reentrant) require_input_grads(network);
    enable_checkpointing(run, network, reentrant);
}

void prepare_for_kbit_training_by_trl(const Run& run, Network& network, const PreparePlan& plan) {
    for (const NamedParameter& p : named_parameters(network)) p.tensor->set_requires_grad(false);
    if (!run.plan.load.quantization || !plan.use_gradient_checkpointing) return;
    require_input_grads(network);
    enable_checkpointing(run, network, plan.use_reentrant.value_or(true));
}

namespace {

/// axolotl 0.18 loaders/model.py _convert_embedding_modules_dtype, with loaders/utils.py get_linear_embedding_layers.
bool is_upcast(const Run& run, const std::string& name, UpcastParts parts) {
    if (name.find("norm") != std::string::npos) return true;
    if (parts == UpcastParts::norms) return false;
    const std::string_view type = run.spec.model_type;
    const bool neox = type == "gpt_neox";
    const char* const table = neox ? "embed_in" : type == "falcon" ? "word_embeddings" : "embed_tokens";
    for (const char* word : {table, neox ? "embed_out" : "lm_head"})
        if (name.find(word) != std::string::npos) return true;
    return false;
}

/// Module.to casts floating-point buffers as well: those of a recorded network's table.
void cast_buffers_of(const Network& network, const std::vector<network::Buffer>& buffers, std::string_view weight,
                     DType dtype) {
    if (!weight.ends_with(".weight")) return;
    const std::string_view module = weight.substr(0, weight.size() - std::string_view("weight").size());
    for (std::size_t i = 0; i < buffers.size(); ++i) {
        const std::string_view name = buffers[i].name;
        const bool is_own = name.starts_with(module) && name.find('.', module.size()) == std::string_view::npos;
        if (is_own && is_floating(network.buffers[i].dtype())) cast_in_place(network.buffers[i], dtype);
    }
}

}  // namespace

void prepare_upcast(const Run& run, Network& network, UpcastParts parts) {
    const std::vector<network::Buffer> buffers =
        run.spec.recording ? network::buffers_in(*run.spec.recording) : std::vector<network::Buffer>{};
    const auto cast = [&](DType dtype, bool routers) {
        const GradMode no_grad(run.session, false);
        for (const NamedParameter& p : state_dict_entries(network)) {  // modules have a shared one each
            const std::string name = p.name();
            if (is_upcast(run, name, parts) || (routers && name.find(".gate.") != std::string::npos)) {
                cast_in_place(*p.tensor, dtype);
                cast_buffers_of(network, buffers, name, dtype);
                if (p.tensor == &network.embed.weight && network.embed.scale.defined())
                    cast_in_place(network.embed.scale, dtype);
            }
        }
    };
    cast(DType::float32, true);
    if (run.plan.prepare_kbit) prepare_for_kbit_training(run, network, *run.plan.prepare_kbit);
    if (!run.plan.load.upcast_stays) cast(run.plan.load.dtype, false);
}

void cast_to_bf16_by_trl(const Run& run, Network& network) {
    const GradMode no_grad(run.session, false);
    // The embedding's module has a weight of its own; its adapter's matrices have not.
    const bool whole = network.embed.weight.dtype() == DType::float32;
    for (const NamedParameter& p : named_parameters(network)) {
        if (is_norm(p)) cast_in_place(*p.tensor, DType::float32);
        if (!whole && p.name().find("lora_embedding") != std::string::npos) continue;
        if (is_head_or_embedding(p) && p.tensor->dtype() == DType::float32) cast_in_place(*p.tensor, DType::bfloat16);
    }
    // Module.to casts floating-point buffers as well.
    if (whole && network.embed.scale.defined()) cast_in_place(network.embed.scale, DType::bfloat16);
}

// trl 1.16 experimental/utils.py prepare_peft_model: whatever is float32.
void cast_float32_by_trl(const Run& run, Network& network) {
    const GradMode no_grad(run.session, false);
    for (const NamedParameter& p : named_parameters(network))
        if (p.tensor->dtype() == DType::float32) cast_in_place(*p.tensor, DType::bfloat16);
}

// trl 1.16 trainer/sft_trainer.py: DoRA's magnitudes stay in float32.
void prepare_adapted_by_trl(const Run& run, Network& network) {
    if (!run.plan.peft) return;
    const GradMode no_grad(run.session, false);
    if (run.plan.training.gradient_checkpointing) require_input_grads(network);
    if (!run.plan.load.quantization) return;
    for (const NamedParameter& p : trainable_parameters(network))
        if (!run.stack.trl_leaves_magnitudes() || p.name().find("lora_magnitude_vector") == std::string::npos)
            cast_in_place(*p.tensor, DType::bfloat16);
}

// trl 0.8.6 trainer/utils.py: BaseTunerLayer first, with the layer inside of it.
void cast_to_bf16_by_trl_0_8(const Run& run, Network& network) {
    const GradMode no_grad(run.session, false);
    for (const NamedParameter& p : named_parameters(network)) {
        if (p.adapted)
            cast_in_place(*p.tensor, DType::bfloat16);
        else if (is_norm(p))
            cast_in_place(*p.tensor, DType::float32);
        else if (is_head_or_embedding(p) && p.tensor->dtype() == DType::float32)
            cast_in_place(*p.tensor, DType::bfloat16);
    }
}

void cast_adapted(const Run& run, Network& network) {
    const GradMode no_grad(run.session, false);
    if (run.plan.trl_casting_to_bf16) cast_to_bf16_by_trl(run, network);
    if (!run.plan.load.cast_after_adapter) return;
    const DType dtype = *run.plan.load.cast_after_adapter;
    for (const NamedParameter& p : named_parameters(network)) cast_in_place(*p.tensor, dtype);
    // Module.to casts floating-point buffers as well.
    for (const auto* buffers : {&network.layer_buffers, &network.buffers})
        for (const Tensor& buffer : *buffers) cast_in_place(buffer, dtype);
}

}  // namespace vramfit::model
