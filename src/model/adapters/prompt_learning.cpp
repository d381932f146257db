// peft 0.21.2 peft_model.py PeftModel.get_prompt, tuners/prompt_tuning/model.py PromptEmbedding,
// tuners/p_tuning/model.py PromptEncoder, tuners/prefix_tuning/model.py PrefixEncoder, tuners/cartridge/model.py
// CartridgeEncoder.
#include "model/adapters/prompt_learning.hpp"

#include <array>

#include "engine/ops/copy.hpp"
#include "engine/ops/embedding.hpp"
#include "engine/ops/pointwise.hpp"
#include "engine/ops/shape.hpp"
#include "engine/ops/view.hpp"
#include "engine/session.hpp"
#include "model/adapters/kinds/kinds.hpp"
#include "model/network/modules.hpp"

namespace vramfit::model {

using namespace engine;

namespace {

/// A parameter in float32, as nn.Module.to leaves it.
void add_parameter(const Run& run, PromptEncoder& encoder, std::string_view name, const Dims& sizes) {
    encoder.parameters.push_back({name, moved_from_host(run.session, sizes, DType::float32)});
}

/// PromptEmbedding.__init__, prompt_tuning_init TEXT or SAMPLE_VOCAB: rows of the word embeddings.
Tensor rows_of_words(const Run& run, const Network& network, std::int64_t tokens) {
    const Tensor ids = moved_from_host(run.session, {tokens}, DType::int64);
    const Tensor rows = clone(detach(embed(network, ids)));
    return to(rows, DType::float32);
}

void add_p_tuning(const Run& run, PromptEncoder& encoder) {
    const AdapterOptions& options = run.plan.peft->options;
    const std::int64_t width = run.spec.hidden_size, inside = *options.encoder_hidden_size;
    add_parameter(run, encoder, "embedding.weight", {encoder.tokens, width});
    add_parameter(run, encoder, "mlp_head.0.weight", {inside, width});
    add_parameter(run, encoder, "mlp_head.0.bias", {inside});
    add_parameter(run, encoder, "mlp_head.2.weight", {inside, inside});
    add_parameter(run, encoder, "mlp_head.2.bias", {inside});
    add_parameter(run, encoder, "mlp_head.4.weight", {width, inside});
    add_parameter(run, encoder, "mlp_head.4.bias", {width});
}

/// utils/other.py _prepare_prompt_learning_config: the width of a layer's keys.
std::int64_t width_of_keys(const ModelSpec& spec) { return spec.num_key_value_heads * spec.head_dim; }

/// Keys and values of all layers.
std::int64_t width_of_cache(const ModelSpec& spec) { return 2 * spec.num_hidden_layers * width_of_keys(spec); }

void add_prefix_tuning(const Run& run, PromptEncoder& encoder) {
    const AdapterOptions& options = run.plan.peft->options;
    const std::int64_t width = width_of_keys(run.spec), all = width_of_cache(run.spec);
    add_parameter(run, encoder, "embedding.weight", {encoder.tokens, options.prefix_projection ? width : all});
    if (!options.prefix_projection) return;
    const std::int64_t inside = *options.encoder_hidden_size;
    add_parameter(run, encoder, "transform.0.weight", {inside, width});
    add_parameter(run, encoder, "transform.0.bias", {inside});
    add_parameter(run, encoder, "transform.2.weight", {all, inside});
    add_parameter(run, encoder, "transform.2.bias", {all});
}

void add_cartridge(const Run& run, PromptEncoder& encoder) {
    const std::int64_t frozen = run.plan.peft->options.frozen_tokens, width = width_of_cache(run.spec);
    encoder.has_frozen = frozen > 0;
    if (encoder.has_frozen) add_parameter(run, encoder, "frozen_embedding", {frozen, width});
    add_parameter(run, encoder, "trainable_embedding", {encoder.tokens - frozen, width});
}

/// CartridgeEncoder.weight.
Tensor weight_of_cartridge(const PromptEncoder& encoder) {
    if (!encoder.has_frozen) return encoder[0];
    const std::array<Tensor, 2> parts{encoder[0], encoder[1]};
    return cat(parts, 0);
}

}  // namespace

void add_prompt_encoder(const Run& run, Network& network) {
    const LoraPlan& plan = *run.plan.peft;
    PromptEncoder encoder;
    encoder.tokens = plan.options.virtual_tokens;
    if (plan.kind == AdapterKind::prefix_tuning)
        add_prefix_tuning(run, encoder);
    else if (plan.kind == AdapterKind::cartridge)
        add_cartridge(run, encoder);
    else if (plan.kind == AdapterKind::p_tuning)
        add_p_tuning(run, encoder);
    else if (plan.options.prompt_init == "RANDOM")
        add_parameter(run, encoder, "embedding.weight", {encoder.tokens, run.spec.hidden_size});
    else
        encoder.parameters.push_back({"embedding.weight", rows_of_words(run, network, encoder.tokens)});
    network.prompt = std::move(encoder);
}

Tensor virtual_tokens(const Run& run, const PromptEncoder& encoder, const Size& rows) {
    const Tensor ids = moved_from_host(run.session, {rows, encoder.tokens}, DType::int64);
    Tensor out = engine::embedding(encoder[0], slice(ids, 0, 0, 1));  // rows are alike
    if (run.plan.peft->kind != AdapterKind::p_tuning) return repeat_along(out, 0, rows);
    out = functional_linear(out, encoder[1], encoder[2]);
    out = relu(out);
    out = functional_linear(out, encoder[3], encoder[4]);
    out = relu(out);
    out = functional_linear(out, encoder[5], encoder[6]);
    return repeat_along(out, 0, rows);
}

Tensor prefixes(const Run& run, const PromptEncoder& encoder, const Size& rows) {
    const bool is_cartridge = run.plan.peft->kind == AdapterKind::cartridge;
    if (is_cartridge) weight_of_cartridge(encoder);  // where it is
    const Tensor ids = moved_from_host(run.session, {rows, encoder.tokens}, DType::int64);
    if (is_cartridge) {
        const Tensor whole = unsqueeze(weight_of_cartridge(encoder), 0);
        return expand(whole, {rows, whole.size(1), whole.size(2)});
    }
    Tensor out = engine::embedding(encoder[0], ids);
    if (!run.plan.peft->options.prefix_projection) return out;
    out = functional_linear(out, encoder[1], encoder[2]);
    out = tanh(out);
    return functional_linear(out, encoder[3], encoder[4]);
}

}  // namespace vramfit::model
