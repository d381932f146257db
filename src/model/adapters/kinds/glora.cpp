// peft 0.21.2 tuners/glora/layer.py GloraLinear and its paths.
#include <array>

#include "engine/ops/copy.hpp"
#include "engine/ops/matmul.hpp"
#include "engine/ops/pointwise.hpp"
#include "engine/ops/shape.hpp"
#include "engine/ops/view.hpp"
#include "engine/session.hpp"
#include "model/adapters/kinds/kinds.hpp"
#include "model/network/modules.hpp"

namespace vramfit::model {

using namespace engine;

namespace {

/// One of the five terms, its parameters' names, and the size of what it gives.
struct Term {
    GloraPath path;
    std::string_view x, down, up;
    Dims sizes;   ///< of the whole term
    Dims vector;  ///< of its vector
};

std::array<Term, 5> terms_of(const AdapterOptions& options, const Linear& layer) {
    const Size in = layer.in, out = layer.out;
    const bool biased = layer.bias.defined();
    const GloraPath c = biased ? options.glora_c : GloraPath::none;
    const GloraPath d_e = biased ? options.glora_d_e : GloraPath::none;
    return {{{options.glora_a_b, "glora_A.default.X", "glora_A.default.Xd", "glora_A.default.Xu", {out, in}, {out, 1}},
             {options.glora_a_b, "glora_B.default.X", "glora_B.default.Xd", "glora_B.default.Xu", {out, in}, {out, 1}},
             {c, "glora_C.default.X", "glora_C.default.Xd", "glora_C.default.Xu", {in, 1}, {in, 1}},
             {d_e, "glora_D.default.X", "", "", {out}, {out}},
             {d_e, "glora_E.default.X", "", "", {out}, {out}}}};
}

}  // namespace

// GloraEmptyPath is a buffer of zeros.
void create_glora(const NewAdapter& made) {
    made.adapter.raises_buffers = false;
    int module = 0;
    for (const Term& term : terms_of(made.plan().options, made.layer)) {
        ++module;
        switch (term.path) {
            case GloraPath::lora:
                made.add(term.down, {term.sizes[0], made.rank}, module);
                made.add(term.up, {made.rank, term.sizes[1]}, module);
                break;
            case GloraPath::vector: made.add(term.x, term.vector, module); break;
            case GloraPath::constant: made.add(term.x, {1}, module); break;
            case GloraPath::none: made.add_buffer(moved_from_host(made.run.session, term.sizes, made.dtype)); break;
        }
    }
}

namespace {

/// What the terms give, in the weight's dtype.
std::array<Tensor, 5> values_of(const Linear& layer) {
    const OtherAdapter& adapter = *layer.other;
    std::array<Tensor, 5> out;
    std::size_t next = 0, next_buffer = 0, i = 0;
    for (const Term& term : terms_of(adapter.plan->options, layer)) {
        const Tensor value = [&] {
            switch (term.path) {
                case GloraPath::lora: next += 2; return matmul(adapter[next - 2], adapter[next - 1]);
                case GloraPath::vector: return adapter[next++];
                case GloraPath::constant: return select(adapter[next++], 0);
                case GloraPath::none: break;
            }
            return adapter.buffers[next_buffer++];
        }();
        out[i++] = to(value, layer.weight.dtype());
    }
    return out;
}

/// own + own * scale + shift.
Tensor changed(const Tensor& own, const Tensor& scale, const Tensor& shift) {
    const Tensor sum = [&] {
        const Tensor scaled = mul(own, scale);
        return add(own, scaled);
    }();
    return add(sum, shift);
}

}  // namespace

Tensor glora(const Linear& layer, const Tensor& x) {
    const Tensor base = base_layer(layer, x);
    Tensor result = base;
    const auto [a, b, c, d, e] = values_of(layer);
    const Tensor weight = changed(layer.weight, a, b);
    Tensor bias;
    if (layer.bias.defined()) {
        const Tensor sum = changed(layer.bias, d, e);
        bias = add(sum, squeeze(matmul(layer.weight, c), -1));
    }
    const Tensor adapted = functional_linear(x, weight, bias);
    result = add(result, adapted);
    result = sub(result, mul(base, 1));
    return to(result, base.dtype());
}

}  // namespace vramfit::model
