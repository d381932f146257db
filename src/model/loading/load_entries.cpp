// The tensors of a checkpoint and what bitsandbytes makes of them on the way.
#include "model/loading/load_entries.hpp"

#include <algorithm>
#include <regex>

#include "engine/ops/view.hpp"
#include "model/layers/family.hpp"
#include "model/quantizers/int8.hpp"
#include "model/quantizers/quantized.hpp"
#include "vramfit/base/error.hpp"

namespace vramfit::model {

using namespace engine;

namespace {

/// Which linear layers bitsandbytes' take the place of: transformers 5.17 quantizers/base.py
/// get_modules_to_not_convert and quantizers_utils.py should_convert_module; 4.40 integrations/bitsandbytes.py
/// _replace_with_bnb_linear.
class Choice {
  public:
    explicit Choice(const Run& run) : by_pattern_(run.stack.quantizer_skips_by_pattern()) {
        const auto& plan = run.plan.load.quantization;
        if (!plan) return;
        if (plan->method == QuantMethod::int8) check_8bit_layouts(run);
        quantizes_ = true;
        skip_ = plan->skip_modules_given ? plan->skip_modules : std::vector<std::string>{"lm_head"};
        if (run.spec.tie_word_embeddings && quantizes("lm_head"))
            throw Error(ErrorKind::unsupported, "load.quantization_config.llm_int8_skip_modules",
                        "a quantized head that shares the embedding's weight is not supported", "add lm_head");
    }
    bool converts(const Linear& layer) const { return quantizes(layer.name); }

  private:
    bool quantizes(const std::string& name) const {
        return quantizes_ &&
               std::none_of(skip_.begin(), skip_.end(), [&](const std::string& key) { return skips(name, key); });
    }
    bool skips(const std::string& name, const std::string& key) const {
        if (by_pattern_)
            return name.ends_with(key) ||
                   std::regex_search(name, std::regex(key), std::regex_constants::match_continuous);
        return name == key || name.ends_with("." + key) || name.find(key + ".") != std::string::npos;
    }
    bool by_pattern_ = true;
    bool quantizes_ = false;
    std::vector<std::string> skip_;
};

}  // namespace

std::vector<Entry> checkpoint_entries(const Run& run, Network& n) {
    const Choice choice(run);
    const DType dtype = run.plan.load.dtype;
    // modeling_utils.py _get_dtype_plan: _keep_in_fp32_modules count for float16 only.
    const bool raised = dtype == DType::float16 && family_of(run.spec.model_type).norms_in_float32;
    const DType of_norms = raised ? DType::float32 : dtype;
    const SplitPlan plan = family_of(run.spec.model_type).split_plan;
    const bool splits_layers =
        (plan == SplitPlan::projections || plan == SplitPlan::experts) && run.stack.split_plans_have_layers();
    const bool splits_head = plan != SplitPlan::none && run.stack.split_plans_have_heads();
    std::vector<Entry> out;
    const auto add_linear = [&](Linear& l) {
        const engine::Dims sizes = l.is_conv1d ? engine::Dims{l.in, l.out} : engine::Dims{l.out, l.in};
        const bool packs = choice.converts(l);
        const bool beside = l.name.find(".shared_expert") != std::string::npos;  // qwen2_moe: in no plan
        const bool splits = &l == &n.head ? splits_head : splits_layers && !beside;
        out.push_back({l.published + ".weight",
                       sizes,
                       &l.weight,
                       packs ? &l : nullptr,
                       false,
                       dtype,
                       {},
                       splits && l.cut == Cut::none});
        if (l.has_bias)
            out.push_back(
                {l.published + ".bias", {l.out}, &l.bias, nullptr, packs, dtype, {}, splits && !cuts_outputs(l.cut)});
    };
    const auto add_norm = [&](Norm& norm) {
        const bool of_heads = norm.width == run.spec.head_dim && norm.name.ends_with("_norm");
        const bool splits = splits_layers && of_heads && run.stack.split_plans_have_norms_of_heads();
        out.push_back({norm.name + ".weight", {norm.width}, &norm.weight, nullptr, false, of_norms, {}, splits});
        if (norm.has_bias) out.push_back({norm.name + ".bias", {norm.width}, &norm.bias, nullptr, false, of_norms, {}});
    };
    const auto add_bare = [&](BareModule& m) {
        for (std::size_t i = 0; i < m.parameters.size(); ++i) {
            const BareParameter& p = m.parameters[i];
            engine::Dims sizes;
            for (const std::int64_t size : p.sizes) sizes.push(size);
            const std::string name = p.merged_from.empty() ? m.published + "." + p.name : m.published;
            out.push_back({name, sizes, &m.tensors[i], nullptr, false, dtype, p.merged_from,
                           plan == SplitPlan::experts && p.sizes.size() == 3 && m.pieces == 1});
        }
    };
    for (Embedding* table : {&n.embed, &n.positions}) {
        const bool splits = splits_layers && n.tied && table->pieces == 1 && table->name.ends_with("embed_tokens") &&
                            run.stack.split_plans_have_tied_embeddings();
        if (table->rows > 0)
            out.push_back({table->name + ".weight",
                           {table->rows, n.spec->hidden_size},
                           &table->weight,
                           nullptr,
                           false,
                           dtype,
                           {},
                           splits});
    }
    for (DecoderLayer& l : n.layers) for_each_module(l, add_linear, add_norm, add_bare);
    add_norm(n.norm);
    if (!n.tied) add_linear(n.head);
    return out;
}

namespace {

/// bitsandbytes nn/modules.py Int8Params._quantize: from host memory, by way of float16.
void place_8bit(const Run& run, const Entry& entry) {
    engine::Dims sizes = entry.sizes;
    if (entry.packed->is_conv1d) std::swap(sizes[0], sizes[1]);
    State8bit state = quantize_8bit(run.session, sizes, run.plan.load.quantization->int8_threshold);
    // Values are unknown; a search for outlier columns is told what a search in the mask is.
    const AttentionMask mask = run.plan.batch.attention_mask;
    state.has_outliers = mask == AttentionMask::ones || mask == AttentionMask::absent;
    entry.packed->in_8bit = std::move(state);
}

bool is_8bit(const Run& run, const Entry& entry) {
    return entry.packed && run.plan.load.quantization->method == QuantMethod::int8;
}

}  // namespace

// bitsandbytes nn/modules.py Params4bit._quantize and Int8Params._quantize: the original goes as soon as the packed
// weight is there.
void place_entry(const Run& run, Network& network, const Entry& entry, Tensor value) {
    if (!entry.packed) {
        *entry.place = value;
        return;
    }
    if (is_8bit(run, entry)) return place_8bit(run, entry);
    // transformers 5.17 integrations/bitsandbytes.py Bnb4bitQuantize and Bnb8bitQuantize.convert: Conv1D's weight is
    // turned first.
    if (entry.packed->is_conv1d) value = transpose2d(value);
    entry.packed->quantized = quantize_4bit(value, *run.plan.load.quantization, network.dynamic_code);
}

void load_entry(const Run& run, Network& network, const Entry& entry) {
    // quantizers/quantizer_bnb_8bit.py create_quantized_param: new_value = param_value.to("cpu").
    if (is_8bit(run, entry)) return place_8bit(run, entry);
    place_entry(run, network, entry, empty(run.session, entry.sizes, entry.dtype, Op::to_copy));
}

}  // namespace vramfit::model
