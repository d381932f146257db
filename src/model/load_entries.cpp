// The tensors of a checkpoint and what bitsandbytes makes of them on the way.
#include "model/load_entries.hpp"

#include <algorithm>
#include <regex>

#include "engine/ops/view.hpp"
#include "model/quantized.hpp"
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
        if (plan->method == QuantMethod::int8)
            throw Error(ErrorKind::unsupported, "load.quantization_config", "8-bit layers are not supported yet",
                        "load_in_4bit");
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
    std::vector<Entry> out;
    const auto add_linear = [&](Linear& l) {
        const engine::Dims sizes = l.is_conv1d ? engine::Dims{l.in, l.out} : engine::Dims{l.out, l.in};
        out.push_back({l.name + ".weight", sizes, &l.weight, choice.converts(l) ? &l : nullptr});
        if (l.has_bias) out.push_back({l.name + ".bias", {l.out}, &l.bias, nullptr, choice.converts(l)});
    };
    const auto add_norm = [&out](Norm& norm) {
        out.push_back({norm.name + ".weight", {norm.width}, &norm.weight});
        if (norm.has_bias) out.push_back({norm.name + ".bias", {norm.width}, &norm.bias});
    };
    for (Embedding* table : {&n.embed, &n.positions})
        if (table->rows > 0)
            out.push_back({table->name + ".weight", {table->rows, n.spec->hidden_size}, &table->weight});
    for (DecoderLayer& l : n.layers) for_each_module(l, add_linear, add_norm);
    add_norm(n.norm);
    if (!n.tied) add_linear(n.head);
    return out;
}

// bitsandbytes nn/modules.py Params4bit._quantize: the original goes as soon as the packed weight is there.
void load_entry(const Run& run, Network& network, const Entry& entry) {
    Tensor value = empty(run.session, entry.sizes, run.plan.load.dtype, Op::to_copy);
    if (!entry.packed) {
        *entry.place = value;
        return;
    }
    label(value, Category::temporaries);
    // transformers 5.17 integrations/bitsandbytes.py Bnb4bitQuantize.convert: Conv1D's weight is turned first.
    if (entry.packed->is_conv1d) value = transpose2d(value);
    entry.packed->quantized = quantize_4bit(value, *run.plan.load.quantization, network.dynamic_code);
}

}  // namespace vramfit::model
