// The tensors of a checkpoint and what bitsandbytes makes of them on the way.
#include "model/loading/load_entries.hpp"

#include <algorithm>
#include <map>
#include <regex>
#include <set>
#include <string>

#include <fmt/format.h>

#include "engine/ops/view.hpp"
#include "model/layers/family.hpp"
#include "model/loading/checkpoint_names.hpp"
#include "model/quantizers/int8.hpp"
#include "model/quantizers/quantized.hpp"
#include "spec/network/model.hpp"
#include "spec/network/rewritten/tensor_parallel.hpp"
#include "spec/regular_expression.hpp"
#include "vramfit/base/error.hpp"

namespace vramfit::model {

using namespace engine;

engine::Dims dims_of(const std::vector<std::int64_t>& sizes) {
    engine::Dims dims;
    for (const std::int64_t size : sizes) dims.push(size);
    return dims;
}

namespace {

/// transformers 5.17 quantizers/base.py get_keys_to_not_convert: what is tied, the last module and the head. While that
/// is asked no weights are tied (modeling_utils.py from_pretrained, init.no_tie_weights), so a tied head may be the
/// last.
std::vector<std::string> recorded_keys_to_skip(const ModelSpec& spec) {
    std::vector<std::string> keys;
    const auto module_of = [](std::string name) {
        if (name.ends_with(".weight")) name.resize(name.size() - 7);
        return name;
    };
    for (const std::vector<std::string>& names : spec.recording->ties)
        for (const std::string& name : names) keys.push_back(module_of(name));
    if (!spec.recording->output_embeddings.empty()) keys.push_back(spec.recording->output_embeddings);
    std::string last;
    for (const NamedModule& module : modules_of(spec)) {
        if (parameters_in(module) == 0 && module.part != ModulePart::head) continue;
        const bool bare = module.kind == ModuleKind::bare;
        last = fmt::format("{}.{}", module.name,
                           bare          ? module.parameters.back().name
                           : module.bias ? "bias"
                                         : "weight");
    }
    keys.push_back(module_of(last));
    return keys;
}

/// unsloth 2026.10.7, models/llama.py from_pretrained: what the checkpoint or the caller leaves out, and what
/// unsloth_zoo/peft_utils.py SKIP_QUANTIZATION_MODULES has of these networks.
std::vector<std::string> unsloth_keys_to_skip(const Run& run) {
    std::vector<std::string> keys = run.plan.unsloth.skip_modules;
    if (keys.empty() && run.spec.packed_but_for) keys = *run.spec.packed_but_for;
    keys.emplace_back("lm_head");
    return keys;
}

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
        if (run.spec.recording) derived_ = network::derived_linear_layers(*run.spec.recording);
        skip_ = run.unsloth                ? unsloth_keys_to_skip(run)
                : plan->skip_modules_given ? plan->skip_modules
                : run.spec.recording       ? recorded_keys_to_skip(run.spec)
                                           : std::vector<std::string>{run.spec.num_labels > 0 ? "score" : "lm_head"};
        if (run.spec.recording)
            skip_.insert(skip_.end(), run.spec.recording->keep_in_float32.begin(),
                         run.spec.recording->keep_in_float32.end());
        if (by_pattern_)
            for (const std::string& key : skip_)
                patterns_.push_back(regular_expression(key, "load.quantization_config.llm_int8_skip_modules"));
        const std::string head = run.spec.recording ? run.spec.recording->output_embeddings : "lm_head";
        if (run.spec.tie_word_embeddings && quantizes(head))
            throw Error(ErrorKind::unsupported, "load.quantization_config.llm_int8_skip_modules",
                        "a quantized head that shares the embedding's weight is not supported", "add lm_head");
    }
    /// 5.17.0 integrations/bitsandbytes.py replace_with_bnb_linear asks `type(module) is nn.Linear`: no falcon's.
    bool converts(const Linear& layer) const { return !derived_.contains(layer.name) && quantizes(layer.name); }

  private:
    bool quantizes(const std::string& name) const {
        if (!quantizes_) return false;
        for (std::size_t i = 0; i < skip_.size(); ++i)
            if (skips(name, i)) return false;
        return true;
    }
    bool skips(const std::string& name, std::size_t i) const {
        const std::string& key = skip_[i];
        if (by_pattern_)
            return name.ends_with(key) || std::regex_search(name, patterns_[i], std::regex_constants::match_continuous);
        return name == key || name.ends_with("." + key) || name.find(key + ".") != std::string::npos;
    }
    bool by_pattern_ = true;
    bool quantizes_ = false;
    std::set<std::string> derived_;
    std::vector<std::string> skip_;
    std::vector<std::regex> patterns_;  ///< of these, where they are patterns
};

}  // namespace

namespace {

/// Whether a pattern is found in a name, its dots being any character (transformers 5.17.0 core_model_loading.py,
/// build_glob_alternation: regular expressions that are searched).
bool is_found(std::string_view pattern, std::string_view name) {
    return std::search(name.begin(), name.end(), pattern.begin(), pattern.end(),
                       [](char n, char p) { return p == '.' || p == n; }) != name.end();
}

}  // namespace

bool stays_float32(const network::Document& recording, DType dtype, std::string_view name) {
    const auto any = [&](const std::vector<std::string>& patterns) {
        return std::any_of(patterns.begin(), patterns.end(),
                           [&](const std::string& pattern) { return is_found(pattern, name); });
    };
    return (dtype == DType::float16 && any(recording.keep_in_float32)) ||
           (is_half(dtype) && any(recording.keep_in_float32_strict));
}

namespace {

/// The dtypes that a recorded network's parameters are loaded in.
class RecordedDtypes {
  public:
    explicit RecordedDtypes(const Run& run) : run_(run), dtype_(run.plan.load.dtype) {
        const network::Document& recording = *run.spec.recording;
        network::for_each_kind(recording, [&](const std::string& path, const network::ModuleKind& kind) {
            for (const network::Parameter& parameter : kind.parameters)
                if (parameter.dtype.of == network::DTypeName::Of::name && is_floating(parameter.dtype.dtype))
                    own_[fmt::format("{}{}{}", path, path.empty() ? "" : ".", parameter.name)] = parameter.dtype.dtype;
        });
    }
    DType of(const std::string& name) const {
        const auto own = own_.find(name);
        return stays_float32(*run_.spec.recording, run_.plan.load.dtype, name) ? DType::float32
               : own == own_.end()                                             ? dtype_
                                                                               : own->second;
    }
    /// Whether the class says the dtype of the parameter, whatever the weights have.
    bool says(const std::string& name) const { return own_.contains(name) && own_.at(name) != dtype_; }

  private:
    const Run& run_;
    DType dtype_;
    std::map<std::string, DType> own_;  ///< of parameters whose class says it
};

// What is floating and not the weights' dtype is said by its class.
DType recorded_dtype(const Run& run, const network::Buffer& buffer) {
    const network::DTypeName& dtype = buffer.what->dtype;
    const bool is_integer = dtype.of == network::DTypeName::Of::name && !is_floating(dtype.dtype);
    if (buffer.what->persistent && !is_integer && stays_float32(*run.spec.recording, run.plan.load.dtype, buffer.name))
        return DType::float32;
    if (dtype.of == network::DTypeName::Of::weights) return run.plan.load.dtype;
    if (dtype.of == network::DTypeName::Of::name) return dtype.dtype;
    throw Error(ErrorKind::unsupported, buffer.name, fmt::format("a buffer of dtype {} is not supported", dtype.text),
                "record the network with the recorder of this version");
}

/// The same of a recorded network: its leaves in order of registration, then the buffers that checkpoints hold.
std::vector<Entry> recorded_entries(const Run& run, Network& n) {
    const Choice choice(run);
    const RecordedDtypes dtypes(run);
    std::vector<Entry> out;
    const auto add = [&](std::string name, engine::Dims sizes, Tensor& place) -> Entry& {
        const DType dtype = dtypes.of(name);
        const bool splits = !network::planned_cut(*run.spec.recording, name).empty();
        const bool has_own_dtype = dtypes.says(name);
        out.push_back({std::move(name), sizes, &place, nullptr, false, dtype, {}, splits});
        out.back().has_own_dtype = has_own_dtype;
        return out.back();
    };
    const auto add_linear = [&](Linear& l) {
        const bool packs = choice.converts(l);
        // The code may ask for the dtype, which a quantized weight has not (hunyuan_v1_moe's router).
        if (packs && dtypes.says(l.name + ".weight"))
            throw Error(ErrorKind::unsupported, "load.quantization_config",
                        fmt::format("{} has a dtype that its class says: quantized, it was not recorded", l.name),
                        "leave it out by llm_int8_skip_modules");
        if (&l != &n.head || !n.tied) {
            Entry& weight =
                add(l.name + ".weight", l.is_conv1d ? engine::Dims{l.in, l.out} : engine::Dims{l.out, l.in}, l.weight);
            weight.packed = packs ? &l : nullptr;
            weight.in_split_plan = weight.in_split_plan && l.cut == Cut::none;
        }
        if (l.has_bias && (&l != &n.head || n.bias_of_head.empty())) {
            Entry& bias = add(l.name + ".bias", {l.out}, l.bias);
            bias.of_packed = packs;
            bias.in_split_plan = bias.in_split_plan && !cuts_outputs(l.cut);
        }
    };
    const auto add_table = [&](Embedding& e) {
        Entry& table = add(e.name + ".weight", {e.rows, e.width}, e.weight);
        table.in_split_plan = table.in_split_plan && e.pieces == 1;
    };
    const auto add_norm = [&](Norm& norm) {
        if (norm.width > 0) add(norm.name + ".weight", {norm.width}, norm.weight);
        if (norm.has_bias) add(norm.name + ".bias", {norm.width}, norm.bias);
    };
    const auto add_bare = [&](BareModule& m) {
        for (std::size_t i = 0; i < m.parameters.size(); ++i)
            add(m.name + "." + m.parameters[i].name, dims_of(m.parameters[i].sizes), m.tensors[i]);
    };
    for_each_module(n, Overloaded{add_table, add_linear, add_norm, add_bare});
    std::erase_if(out, [&](const Entry& entry) { return n.shared.contains(entry.name); });
    const std::vector<network::Buffer> buffers = network::buffers_in(*run.spec.recording);
    n.buffers.resize(buffers.size());
    for (std::size_t i = 0; i < buffers.size(); ++i) {
        if (!buffers[i].what->persistent) continue;
        add(buffers[i].name, dims_of(network::sizes_of(*buffers[i].what)), n.buffers[i]).dtype =
            recorded_dtype(run, buffers[i]);
    }
    return out;
}

}  // namespace

Tensor recorded_buffer(const Run& run, const network::Buffer& buffer, engine::Op op, std::optional<DType> cast) {
    const DType dtype = recorded_dtype(run, buffer);
    return empty(run.session, dims_of(network::sizes_of(*buffer.what)),
                 is_floating(dtype) ? cast.value_or(dtype) : dtype, op);
}

std::vector<Entry> checkpoint_entries(const Run& run, Network& n) {
    if (run.spec.recording) return recorded_entries(run, n);
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
            const std::string name = p.merged_from.empty() ? m.published + "." + p.name : m.published;
            out.push_back({name, dims_of(p.sizes), &m.tensors[i], nullptr, false, dtype, p.merged_from,
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
void place_entry(const Run& run, const Entry& entry, Tensor value) {
    if (!entry.packed) {
        *entry.place = value;
        return;
    }
    if (is_8bit(run, entry)) return place_8bit(run, entry);
    // transformers 5.17 integrations/bitsandbytes.py Bnb4bitQuantize and Bnb8bitQuantize.convert: Conv1D's weight is
    // turned first.
    if (entry.packed->is_conv1d) value = transpose2d(value);
    entry.packed->quantized = quantize_4bit(value, *run.plan.load.quantization, run.session.dynamic_code);
}

void load_entry(const Run& run, const Entry& entry) {
    // quantizers/quantizer_bnb_8bit.py create_quantized_param: new_value = param_value.to("cpu").
    if (is_8bit(run, entry)) return place_8bit(run, entry);
    place_entry(run, entry, empty(run.session, entry.sizes, entry.dtype, Op::to_copy));
}

}  // namespace vramfit::model
