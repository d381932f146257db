// The loader of transformers 5.x (core_model_loading.py, modeling_utils.py caching_allocator_warmup).
#include "model/load.hpp"

#include <algorithm>

#include "engine/ops/copy.hpp"
#include "model/family.hpp"

namespace vramfit::model {

using namespace engine;

namespace {

/// One tensor of the checkpoint and where it goes.
struct Entry {
    std::string name;
    Dims sizes;
    Tensor* place = nullptr;
};

std::vector<Entry> entries(Network& n) {
    std::vector<Entry> out;
    const auto add_linear = [&out](Linear& l) {
        out.push_back({l.name + ".weight", {l.out, l.in}, &l.weight});
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
    if (!n.tied) out.push_back({n.head.name + ".weight", {n.head.out, n.head.in}, &n.head.weight});
    return out;
}

}  // namespace

Network load(const Run& run) {
    Network network = make_network(run.spec);
    std::vector<Entry> all = entries(network);
    std::sort(all.begin(), all.end(), [](const Entry& a, const Entry& b) { return a.name < b.name; });
    Session& session = run.session;
    const Scoped<Category> fresh(session.recorder.fresh, Category::weights);
    std::int64_t total = 0;
    for (const Entry& e : all) total += size_of(numel_of(e.sizes), run.plan.load.dtype).count;
    { const Tensor warm_up = empty(session, {total}, DType::uint8, Op::loader); }
    for (const Entry& e : all) *e.place = empty(session, e.sizes, run.plan.load.dtype, Op::loader);
    if (network.tied) network.head.weight = network.embed.weight;
    if (family_of(run.spec.model_type).scales_embedding)
        network.embed.scale = empty(session, {}, run.plan.load.dtype, Op::loader);  // torch.tensor in the default dtype
    for (int i = 0; i < 2; ++i)
        network.buffers.push_back(empty(session, {run.spec.head_dim / 2}, DType::float32, Op::loader));
    return network;
}

}  // namespace vramfit::model
