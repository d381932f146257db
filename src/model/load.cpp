// The loader of transformers 5.x (core_model_loading.py, modeling_utils.py caching_allocator_warmup).
#include "model/load.hpp"

#include <algorithm>
#include <regex>

#include "engine/ops/copy.hpp"
#include "model/family.hpp"
#include "model/quantized.hpp"
#include "vramfit/base/error.hpp"

namespace vramfit::model {

using namespace engine;

namespace {

/// Which linear layers bitsandbytes' take the place of (quantizers/base.py get_modules_to_not_convert,
/// quantizers_utils.py should_convert_module).
class Choice {
  public:
    explicit Choice(const Run& run) {
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
        return quantizes_ && std::none_of(skip_.begin(), skip_.end(), [&](const std::string& key) {
                   return name.ends_with(key) ||
                          std::regex_search(name, std::regex(key), std::regex_constants::match_continuous);
               });
    }
    bool quantizes_ = false;
    std::vector<std::string> skip_;
};

/// One tensor of the checkpoint and where it goes.
struct Entry {
    std::string name;
    Dims sizes;
    Tensor* place = nullptr;
    Linear* packed = nullptr;  ///< quantized on the way
};

std::vector<Entry> entries(Network& n, const Choice& choice) {
    std::vector<Entry> out;
    const auto add_linear = [&](Linear& l) {
        out.push_back({l.name + ".weight", {l.out, l.in}, &l.weight, choice.converts(l) ? &l : nullptr});
        if (l.has_bias) out.push_back({l.name + ".bias", {l.out}, &l.bias});
    };
    const auto add_norm = [&out](Norm& norm) { out.push_back({norm.name + ".weight", {norm.width}, &norm.weight}); };
    out.push_back({n.embed.name + ".weight", {n.spec->vocab_size, n.spec->hidden_size}, &n.embed.weight});
    for (DecoderLayer& l : n.layers) {
        for (Linear* linear : {&l.q, &l.k, &l.v, &l.o, &l.gate, &l.up, &l.down}) add_linear(*linear);
        add_norm(l.input_norm);
        add_norm(l.post_attention_norm);
        for (auto* norm : {&l.q_norm, &l.k_norm, &l.pre_feedforward_norm, &l.post_feedforward_norm})
            if (*norm) add_norm(**norm);
    }
    add_norm(n.norm);
    if (!n.tied) add_linear(n.head);
    return out;
}

}  // namespace

namespace {

/// caching_allocator_warmup: one block for everything, in units of float16; less on a card that is hardly larger.
void warm_up(const Run& run, const std::vector<Entry>& all) {
    std::int64_t half_bytes = 0;
    for (const Entry& e : all) {
        const std::int64_t n = numel_of(e.sizes);
        half_bytes += e.packed ? n : 2 * size_of(n, run.plan.load.dtype).count;
    }
    std::int64_t total = half_bytes / 2;
    const Device& device = run.session.device;
    const std::int64_t most = device.total.count - 1288490189;  // 1.2 GiB
    if (device.capacity_known && run.session.decide("warm-up is cut", most < total)) total = most;
    const Tensor block = empty(run.session, {total / 2}, DType::float16, Op::loader);
}

/// Params4bit._quantize: the original goes as soon as the packed weight is there.
void load_packed(const Run& run, const Entry& entry, Tensor& dynamic_code) {
    const Tensor value = empty(run.session, entry.sizes, run.plan.load.dtype, Op::to_copy);
    label(value, Category::temporaries);
    entry.packed->quantized = quantize_4bit(value, *run.plan.load.quantization, dynamic_code);
}

}  // namespace

Network load(const Run& run) {
    Network network = make_network(run.spec);
    std::vector<Entry> all = entries(network, Choice(run));
    std::sort(all.begin(), all.end(), [](const Entry& a, const Entry& b) { return a.name < b.name; });
    Session& session = run.session;
    const Scoped<Category> fresh(session.recorder.fresh, Category::weights);
    warm_up(run, all);
    for (const Entry& e : all) {
        if (e.packed)
            load_packed(run, e, network.dynamic_code);
        else
            *e.place = empty(session, e.sizes, run.plan.load.dtype, Op::loader);
    }
    if (network.tied) network.head.weight = network.embed.weight;
    if (family_of(run.spec.model_type).scales_embedding)
        network.embed.scale = empty(session, {}, run.plan.load.dtype, Op::loader);  // torch.tensor in the default dtype
    for (int i = 0; i < 2; ++i)
        network.buffers.push_back(empty(session, {run.spec.head_dim / 2}, DType::float32, Op::loader));
    return network;
}

}  // namespace vramfit::model
