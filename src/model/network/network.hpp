// The network in memory: modules with their tensors, in the order in which torch walks them.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "engine/tensor.hpp"
#include "model/network/added.hpp"
#include "vramfit/spec/model_spec.hpp"
#include "vramfit/spec/modules.hpp"
#include "vramfit/spec/train_plan.hpp"

namespace vramfit::model {

using engine::Tensor;

/// What bitsandbytes keeps of a 4-bit weight beside the packed bytes (functional.py QuantState).
struct QuantState4bit {
    Tensor packed;                  ///< [n/2, 1] uint8, or fewer elements of another dtype
    Tensor absmax;                  ///< float32 [n/64], or uint8 with double quantization
    Tensor code;                    ///< [16] float32
    Tensor offset;                  ///< 0-dim float32, double quantization only
    Tensor nested_absmax;           ///< float32
    Tensor nested_code;             ///< [256] float32, a copy for each weight
    DType dtype = DType::bfloat16;  ///< of the weight when it was quantized
    mutable DType compute_dtype = DType::float32;
    mutable bool compute_dtype_decided = false;  ///< some versions look at the first input
};

/// A weight that the first product turns into the kernels' layout (bitsandbytes up to 0.44).
struct TurnedWeight {
    Tensor rows;          ///< CB, until the first product is over
    Tensor turned;        ///< CxB -- [out, in] padded to whole tiles, int8
    Tensor tile_indices;  ///< what turns a tile back, from the first backward on
};

/// What bitsandbytes keeps of an 8-bit weight (autograd/_functions.py MatmulLtState).
struct State8bit {
    Tensor packed;           ///< the parameter -- [out, in] int8; undefined where it is turned
    Tensor whole;            ///< CB, where a method cuts the parameter; undefined: the parameter's own
    Tensor scales;           ///< SCB -- [out] float32
    double threshold = 6.0;  ///< 0: no search for outlier columns
    bool has_outliers = false;
    std::shared_ptr<TurnedWeight> layout;

    const Tensor& matrix() const { return whole.defined() ? whole : packed; }
    /// The layer's weight, in the layout that it has now.
    Tensor& stored() { return !layout ? packed : layout->rows.defined() ? layout->rows : layout->turned; }
};

/// How a module's weight is cut over the processes of tensor parallelism, and what is done with its output
/// (transformers 5.17 distributed/tensor_parallel.py ParallelInterface). Sizes of a module that is cut are local.
enum class Cut : std::uint8_t {
    none,
    columns,           ///< colwise
    columns_gathered,  ///< colwise_gather_output: the module gives the whole
    rows,              ///< rowwise: its input comes in pieces
    rows_split,        ///< rowwise_split_input: it cuts its input itself
};
constexpr bool cuts_inputs(Cut cut) { return cut == Cut::rows || cut == Cut::rows_split; }
constexpr bool cuts_outputs(Cut cut) { return cut == Cut::columns || cut == Cut::columns_gathered; }

/// nn.Linear or what stands in its place: quantized storage, an adapter around it.
struct Linear {
    std::string name;       ///< "model.layers.0.self_attn.q_proj"
    std::string published;  ///< its name in checkpoints
    Size in = 0;
    Size out = 0;
    bool has_bias = false;
    bool is_conv1d = false;   ///< transformers' Conv1D: weight -- [in, out]
    bool is_product = false;  ///< transformers' FalconLinear: x @ weight.T, and the bias added to it
    Cut cut = Cut::none;
    std::int64_t pieces = 1;  ///< of the weight
    Tensor weight;            ///< [out, in]; undefined if quantized
    Tensor bias;
    std::optional<QuantState4bit> quantized;
    std::optional<State8bit> in_8bit;
    std::optional<LoraAdapter> lora;
    std::optional<OtherAdapter> other;
    std::optional<OriginalModule> original;
};

/// Whether bitsandbytes holds the weight.
inline bool is_packed(const Linear& layer) { return layer.quantized || layer.in_8bit; }

struct Embedding {
    std::string name;
    Size rows = 0;
    Size width = 0;
    std::int64_t pieces = 1;  ///< of the rows (tensor parallelism)
    Tensor weight;
    Tensor scale;  ///< gemma: embed_scale, 0-dim; undefined where nothing is scaled or the model does it
    std::optional<LoraEmbeddingAdapter> lora;
    std::optional<TokenAdapter> tokens;
    std::optional<OriginalModule> original;
    bool output_requires_grad = false;       ///< the hook of enable_input_require_grads on the module that stands there
    bool base_output_requires_grad = false;  ///< the same on the layer inside the adapter: the hook was there first
};

struct Norm {
    std::string name;
    Size width = 0;
    bool has_bias = false;        ///< nn.LayerNorm
    bool is_layer_norm = false;   ///< nn.LayerNorm without a bias too
    bool sums_gradients = false;  ///< over the processes of tensor parallelism, in a full backward hook
    Tensor weight;
    Tensor bias;
    std::optional<OriginalModule> original;
};

/// A module with parameters that are not those of a linear layer: a router, the experts, an attention's sinks.
struct BareModule {
    std::string name;
    std::string published;                  ///< its name in checkpoints
    std::vector<BareParameter> parameters;  ///< none: the layer has no such module
    std::int64_t pieces = 1;                ///< of each parameter, whose sizes are local
    std::vector<Tensor> tensors;            ///< one for each parameter
    std::vector<std::optional<ParameterAdapter>> lora;

    const Tensor& operator[](std::size_t i) const { return tensors[i]; }
};

/// The modules of a decoder layer. A family has some of them, in its own order; those that it has not are unnamed.
struct DecoderLayer {
    std::int16_t index = 0;
    LayerAttention attention = LayerAttention::full;
    bool checkpoints_parts = false;  ///< what it calls are checkpointed units by themselves
    bool turns = true;               ///< smollm3: some layers use no rotary embedding
    bool prompted = false;           ///< attention_parameters are peft's adaption prompt and its gate
    std::vector<ModulePart> order;   ///< of registration
    Linear q, k, v, o;
    Linear qkv;           ///< q, k and v in one
    Norm q_norm, k_norm;  ///< width 0: none
    Linear gate, up, down;
    Linear gate_up;  ///< both in one
    BareModule attention_parameters, router, experts;
    Linear shared_gate, shared_up, shared_down, shared_expert_gate;  ///< the expert that all tokens see (qwen2_moe)
    Norm input_norm, post_attention_norm;
    Norm pre_feedforward_norm, post_feedforward_norm;
};

/// The linear layer, norm or bare module that is this part, or null.
Linear* linear_at(DecoderLayer& layer, ModulePart part);
Norm* norm_at(DecoderLayer& layer, ModulePart part);
BareModule* bare_at(DecoderLayer& layer, ModulePart part);

/// Calls `on_linear`, `on_norm` and `on_bare` for the modules of a layer in order of registration.
template <class OnLinear, class OnNorm, class OnBare>
void for_each_module(DecoderLayer& layer, OnLinear on_linear, OnNorm on_norm, OnBare on_bare) {
    for (const ModulePart part : layer.order) {
        if (Linear* linear = linear_at(layer, part)) on_linear(*linear);
        if (Norm* norm = norm_at(layer, part)) on_norm(*norm);
        if (BareModule* bare = bare_at(layer, part)) on_bare(*bare);
    }
}

/// Where one of the network's own modules stands in the list of a recorded network's leaves.
enum class Member : std::uint8_t { embedding, head };

/// A module of a recorded network: its members, and what else has parameters.
using RecordedLeaf = std::variant<Member, Embedding, Linear, Norm, BareModule>;

/// Where the modules of one decoder layer stand in that list.
struct LeafRange {
    std::size_t first = 0;
    std::size_t end = 0;
    std::string path;  ///< of the layer
};

class UnitHooks;
class Partitions;

enum class Checkpointing : std::uint8_t { off, reentrant, non_reentrant };

struct Network {
    const ModelSpec* spec = nullptr;
    Embedding embed;
    Embedding positions;  ///< learned positions; no rows: none
    std::vector<DecoderLayer> layers;
    std::vector<RecordedLeaf> leaves;  ///< of a recorded network, in order of registration, in place of layers and norm
    std::vector<LeafRange> leaf_layers;
    Norm norm;
    Linear head;
    std::optional<PromptEncoder> prompt;  ///< around the whole model
    Linear value_head;                    ///< trl's ValueHead around the whole model; no outputs: none
    bool tied = false;                    ///< head.weight is embed.weight
    std::string bias_of_head;             ///< the parameter that head.bias is, by its name; empty: none
    std::map<std::string, std::string, std::less<>> shared;  ///< parameters of layers that are one of an earlier layer
    std::int32_t first_layer = 0;               ///< of a stage of a pipeline: those before are another process's
    bool ends_with_layers = false;              ///< ... and so are norm and head
    mutable std::vector<Tensor> buffers;        ///< inv_freq and the like
    mutable std::vector<Tensor> layer_buffers;  ///< inv_freq of each layer in older releases
    mutable Tensor rotary_length;               ///< max_seq_len_cached, once it is a tensor
    mutable Size rotary_positions = 0;          ///< its value
    mutable std::vector<Tensor> rotary_caches;  ///< cos and sin of all positions, for each layer of older releases
    std::vector<Tensor> uncollected;            ///< of modules that only the garbage collector frees
    Tensor held_by_group;                       ///< of several processes, until their next barrier
    Checkpointing checkpointing = Checkpointing::off;
    std::shared_ptr<Partitions> partitions;  ///< of ZeRO-3; null: parameters are whole
    UnitHooks* hooks = nullptr;              ///< around modules that are gathered as units; null: none
};

/// Calls `visit` with the module that stands at a place of a recorded network's list.
template <class Visit>
void visit_leaf(Network& network, RecordedLeaf& leaf, const Visit& visit) {
    const auto visit_member = [&](Member member) {
        if (member == Member::embedding)
            visit(network.embed);
        else
            visit(network.head);
    };
    std::visit(
        [&](auto& module) {
            if constexpr (std::is_same_v<std::remove_reference_t<decltype(module)>, Member>)
                visit_member(module);
            else
                visit(module);
        },
        leaf);
}

/// Calls `visit` with each module that may have parameters (Embedding, Linear, Norm, BareModule), in order of
/// registration.
template <class Visit>
void for_each_module(Network& network, const Visit& visit) {
    for (RecordedLeaf& leaf : network.leaves) visit_leaf(network, leaf, visit);
    if (!network.leaves.empty()) return;
    visit(network.embed);
    visit(network.positions);
    for (DecoderLayer& layer : network.layers) for_each_module(layer, visit, visit, visit);
    visit(network.norm);
    visit(network.head);
    if (network.value_head.has_bias) visit(network.value_head);
}

/// How many decoder layers there are.
inline std::size_t layer_count(const Network& network) {
    return network.leaves.empty() ? network.layers.size() : network.leaf_layers.size();
}

/// The same of the modules of one decoder layer.
template <class Visit>
void for_each_module_of_layer(Network& network, std::size_t layer, const Visit& visit) {
    if (network.leaves.empty()) return for_each_module(network.layers[layer], visit, visit, visit);
    const LeafRange& range = network.leaf_layers[layer];
    for (std::size_t i = range.first; i < range.end; ++i) visit_leaf(network, network.leaves[i], visit);
}

/// The same of the modules that are in no decoder layer, and `on_layer` with the number of each layer, in order.
template <class Visit, class OnLayer>
void for_each_part(Network& network, const Visit& visit, const OnLayer& on_layer) {
    if (network.leaves.empty()) {
        visit(network.embed);
        visit(network.positions);
        for (std::size_t layer = 0; layer < network.layers.size(); ++layer) on_layer(layer);
        visit(network.norm);
        visit(network.head);
        return;
    }
    std::size_t place = 0;
    for (std::size_t layer = 0; layer < network.leaf_layers.size(); ++layer) {
        const LeafRange& range = network.leaf_layers[layer];
        for (; place < range.first; ++place) visit_leaf(network, network.leaves[place], visit);
        on_layer(layer);
        place = range.end;
    }
    for (; place < network.leaves.size(); ++place) visit_leaf(network, network.leaves[place], visit);
}

template <class Visit>
void for_each_module_around_layers(Network& network, const Visit& visit) {
    for_each_part(network, visit, [](std::size_t) {});
}

/// The norm behind the last layer, as accelerate finds it; null: there is none.
Norm* final_norm(Network& network);

/// A visitor of several functions, one for each type.
template <class... Functions>
struct Overloaded : Functions... {
    using Functions::operator()...;
};
template <class... Functions>
Overloaded(Functions...) -> Overloaded<Functions...>;

/// All embeddings in the order of registration.
std::vector<Embedding*> embeddings(Network& network);
/// All modules with parameters that are not those of a linear layer.
std::vector<BareModule*> bare_modules(Network& network);
/// The parameter of a bare module that is the head's bias too, or null.
Tensor* bias_of_head(Network& network);
/// Gives the head what it shares: the embedding's weight, the bias of the module around it; and layers what they share.
void tie_head(Network& network);

/// Which kinds of layers a network has.
struct LayerKinds {
    bool full = false;
    bool sliding = false;
};
LayerKinds layer_kinds(const ModelSpec& spec);

/// A parameter of the network with the parts of its name in the state dict, which live as long as the network.
struct NamedParameter {
    std::string_view module;
    std::string_view wrapper;    ///< what peft puts behind the module, with a dot, or nothing
    std::string_view parameter;  ///< inside of the module
    Tensor* tensor = nullptr;
    bool layer_norm = false;  ///< inside an nn.LayerNorm
    bool embedding = false;   ///< weight of an nn.Embedding
    bool adapted = false;     ///< of a layer with an adapter, inside of peft's BaseTunerLayer
    std::int64_t pieces = 1;  ///< that it is one of
    bool is_dtensor = false;  ///< under tensor parallelism, whole or in pieces

    std::string name() const;
};

/// model.named_parameters(): in the order of registration, a shared parameter once. Quantized weights are not in it.
std::vector<NamedParameter> named_parameters(Network& network);
/// The same with quantized weights.
std::vector<NamedParameter> named_states(Network& network);
/// model.state_dict(): a shared parameter as often as it has names.
std::vector<NamedParameter> state_dict_entries(Network& network);
std::vector<NamedParameter> trainable_parameters(Network& network);

/// All linear layers inside the decoder layers in the order of registration, then the head.
std::vector<Linear*> linears(Network& network);
std::vector<Linear*> linears(DecoderLayer& layer);

/// All norms in the order of registration.
std::vector<Norm*> norms(Network& network);

/// An unloaded network of the right names and sizes.
Network make_network(const ModelSpec& spec);

}  // namespace vramfit::model
