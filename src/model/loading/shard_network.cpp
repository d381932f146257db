// transformers 5.17 distributed/tensor_parallel.py apply_tensor_parallelism: the sizes of modules.
#include "model/loading/shard_network.hpp"

#include <algorithm>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "model/layers/family.hpp"
#include "model/network/network.hpp"
#include "spec/network/rewritten/tensor_parallel.hpp"
#include "vramfit/base/error.hpp"

namespace vramfit::model {

using namespace engine;

namespace {

[[noreturn]] void refuse_pieces(const ModelSpec& spec, std::int64_t pieces, std::string problem) {
    std::int64_t most = 1;
    for (std::int64_t n = 2; n < pieces; ++n)
        if (spec.num_key_value_heads % n == 0 && spec.num_attention_heads % n == 0 && spec.intermediate_size % n == 0 &&
            spec.vocab_size % n == 0)
            most = n;
    throw Error(ErrorKind::invalid, "distributed.world_size", std::move(problem),
                most > 1 ? fmt::format("{} processes", most) : "another method");
}

void cut(const ModelSpec& spec, Linear& layer, std::int64_t pieces, Cut how) {
    if (layer.name.empty() || how == Cut::none) return;
    layer.cut = how;
    layer.pieces = pieces;
    Size& size = cuts_inputs(how) ? layer.in : layer.out;
    if (how == Cut::columns_gathered && size.value() % pieces != 0)  // ColwiseParallel.validate_param
        refuse_pieces(spec, pieces,
                      fmt::format("transformers stops: \"The output size of `{}` ({}) must be divisible by the tensor "
                                  "parallel size ({}) when gathering a colwise output\"",
                                  layer.name, size.value(), pieces));
    if (how == Cut::rows_split && size.value() % pieces != 0)
        throw Error(ErrorKind::unsupported, "distributed.world_size",
                    fmt::format("pieces of different sizes ({} inputs of {} over {} processes) are not supported",
                                size.value(), layer.name, pieces),
                    "a divisor of them");
    if (how == Cut::rows && size.value() % pieces != 0)
        refuse_pieces(
            spec, pieces,
            fmt::format("torch stops in the first forward: {} inputs of {} cannot be cut into {} equal pieces",
                        size.value(), layer.name, pieces));
    size = size / pieces;
}

[[noreturn]] void refuse_width(std::int64_t width, std::int64_t pieces) {
    throw Error(
        ErrorKind::unsupported, "distributed.world_size",
        fmt::format("experts of {} cannot be cut into {} equal pieces, and others are not supported", width, pieces),
        "a divisor of their width");
}

/// packed_colwise and rowwise of experts' weights: gate_up_proj -- [E, 2I, H], down_proj -- [E, H, I].
void cut_experts(BareModule& experts, std::int64_t pieces) {
    if (experts.parameters.empty()) return;
    std::int64_t& width = experts.parameters[1].sizes[2];
    if (width % pieces != 0) refuse_width(width, pieces);
    experts.pieces = pieces;
    experts.parameters[0].sizes[1] /= pieces;
    width /= pieces;
}

[[noreturn]] void stop_in_forward(const char* where, std::string problem) {
    throw Error(ErrorKind::invalid, where, "torch stops in the first forward: " + std::move(problem), "FSDP or ZeRO");
}

/// What the first forward cannot put together: heads that do not divide, weights of all heads, a table that is whole.
void check_network(const ModelSpec& spec, const LayerCuts& cuts, const Network& network, std::int64_t pieces) {
    const std::int64_t key_values = spec.num_key_value_heads;
    const bool cuts_heads = cuts.projections == Cut::columns;
    if (cuts_heads && (key_values % pieces != 0 || spec.num_attention_heads % pieces != 0))
        refuse_pieces(spec, pieces,
                      fmt::format("torch stops in the first forward: {} heads of keys and values and {} of queries "
                                  "cannot be cut into {} pieces (\"shape '[..., -1, {}]' is invalid\")",
                                  key_values, spec.num_attention_heads, pieces, spec.head_dim));
    if (cuts_heads && network.layers[0].q_norm.width > spec.head_dim)  // cohere's use_qk_norm
        stop_in_forward("model.use_qk_norm",
                        fmt::format("norms of queries have weights for all {} heads, and a process has {} of them "
                                    "(\"The size of tensor a must match the size of tensor b\")",
                                    spec.num_attention_heads, spec.num_attention_heads / pieces));
    if (network.tied && !cuts.shared_table)
        stop_in_forward("model.tie_word_embeddings",
                        "the head is cut, and the table that it shares is not (aten.mm got mixed torch.Tensor and "
                        "DTensor)");
}

[[noreturn]] void refuse_style(std::string_view style, const std::string& module) {
    throw Error(
        ErrorKind::unsupported, module,
        fmt::format("tensor parallelism of a module that transformers' plan cuts as '{}' is not supported", style),
        "FSDP or ZeRO");
}

/// What a recorded class's plan says of a module that is a linear layer.
Cut cut_of(std::string_view style, const std::string& module) {
    if (style.empty()) return Cut::none;
    if (style == "colwise") return Cut::columns;
    if (style == "colwise_gather_output") return Cut::columns_gathered;
    if (style == "rowwise") return Cut::rows;
    if (style == "rowwise_split_input") return Cut::rows_split;
    if (style == "mla_kv_a_proj") return Cut::none;  // its output alone: RecordedModule::summed_tail
    refuse_style(style, module);
}

/// packed_colwise and rowwise of experts' matrices -- [E, out, in]; the plan cuts nothing else that is no layer's
/// weight.
void cut_parameters(const network::Document& recording, BareModule& bare, std::int64_t pieces) {
    for (BareParameter& p : bare.parameters) {
        const std::string_view style = network::planned_cut(recording, bare.name + "." + p.name);
        if (style.empty()) continue;
        const bool by_rows = style == "rowwise";
        if (p.sizes.size() != 3 || (!by_rows && style != "packed_colwise")) refuse_style(style, bare.name);
        std::int64_t& size = p.sizes[by_rows ? 2 : 1];
        if (size % pieces != 0) refuse_width(size, pieces);
        size /= pieces;
        bare.pieces = pieces;
    }
}

/// tp_plan of a recorded class, with the table that a tied head shares.
void cut_recorded(const Run& run, Network& network) {
    const std::int64_t pieces = run.plan.distributed->world_size;
    const network::Document& recording = *run.spec.recording;
    const auto style_of = [&](const std::string& module) {
        return network::planned_cut(recording, module + ".weight");
    };
    const auto cut_linear = [&](Linear& l) { cut(run.spec, l, pieces, cut_of(style_of(l.name), l.name)); };
    const auto check_table = [&](const Embedding& e) {
        const std::string_view style = style_of(e.name);
        const bool is_shared = &e == &network.embed && network.tied && style == "embedding_rowwise";
        if (!style.empty() && !is_shared) refuse_style(style, e.name);
    };
    const auto sum_gradients = [&](Norm& norm) {
        norm.sums_gradients = style_of(norm.name) == "replicated_with_grad_allreduce";
    };
    const auto cut_bare = [&](BareModule& bare) { cut_parameters(recording, bare, pieces); };
    for_each_module(network, Overloaded{cut_linear, check_table, sum_gradients, cut_bare});
    if (!style_of(network.embed.name).empty()) {  // as many rows as the head has outputs, which were checked
        network.embed.rows = network.embed.rows / pieces;
        network.embed.pieces = pieces;
    }
    if (network.tied && network.head.cut != Cut::none && network.embed.pieces == 1)
        stop_in_forward("model.tie_word_embeddings",
                        "the head is cut, and the table that it shares is not (aten.mm got mixed torch.Tensor and "
                        "DTensor)");
}

}  // namespace

// configuration_*.py base_model_tp_plan; modeling_*.py _tp_plan of the head; configuration_utils.py: a table that the
// head shares is cut by rows.
void cut_network(const Run& run, Network& network) {
    if (run.spec.recording) return cut_recorded(run, network);
    const std::int64_t pieces = run.plan.distributed->world_size;
    const Family& family = family_of(run.spec.model_type);
    const LayerCuts& cuts = family.cuts;
    if (family.split_plan == SplitPlan::none) return;
    check_network(run.spec, cuts, network, pieces);
    for (DecoderLayer& layer : network.layers) {
        for (Linear* linear : {&layer.q, &layer.k, &layer.v, &layer.qkv})
            cut(run.spec, *linear, pieces, cuts.projections);
        for (Linear* linear : {&layer.gate, &layer.up, &layer.gate_up}) cut(run.spec, *linear, pieces, cuts.up);
        cut(run.spec, layer.o, pieces, cuts.output);
        cut(run.spec, layer.down, pieces, cuts.down);
        if (family.split_plan == SplitPlan::experts) cut_experts(layer.experts, pieces);
        layer.q_norm.sums_gradients = layer.k_norm.sums_gradients = cuts.projections == Cut::columns;
    }
    cut(run.spec, network.head, pieces, Cut::columns_gathered);
    if (!network.tied) return;
    network.embed.rows = network.embed.rows / pieces;
    network.embed.pieces = pieces;
}

}  // namespace vramfit::model
