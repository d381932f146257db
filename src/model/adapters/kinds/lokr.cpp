// peft 0.21.2 tuners/lokr/layer.py Linear, factorization and make_kron.
#include <algorithm>
#include <utility>

#include "engine/ops/copy.hpp"
#include "engine/ops/matmul.hpp"
#include "engine/ops/pointwise.hpp"
#include "engine/ops/view.hpp"
#include "engine/session.hpp"
#include "model/adapters/kinds/kinds.hpp"
#include "model/network/modules.hpp"

namespace vramfit::model {

using namespace engine;

namespace {

/// factorization: two factors, the smaller one first, of which it is at most `factor`.
std::pair<std::int64_t, std::int64_t> factors_of(std::int64_t dimension, std::int64_t factor) {
    if (factor > 0 && dimension % factor == 0) return {factor, dimension / factor};
    if (factor == -1) factor = dimension;
    std::int64_t m = 1, n = dimension;
    const std::int64_t length = m + n;
    while (m < n) {
        std::int64_t new_m = m + 1;
        while (dimension % new_m != 0) ++new_m;
        const std::int64_t new_n = dimension / new_m;
        if (new_m + new_n > length || new_m > factor) break;
        m = new_m;
        n = new_n;
    }
    return {std::min(m, n), std::max(m, n)};
}

bool has_parameter(const OtherAdapter& adapter, std::string_view name) {
    return std::any_of(adapter.parameters.begin(), adapter.parameters.end(),
                       [&](const AddedTensor& t) { return t.name == name; });
}

}  // namespace

// LoKrLayer.__init__ registers w1, w1_a, w1_b, w2, w2_a, w2_b in this order, and they are moved in it.
void create_lokr(const NewAdapter& made) {
    const AdapterOptions& options = made.plan().options;
    const auto [in_m, in_n] = factors_of(static_cast<std::int64_t>(made.layer.in), options.decompose_factor);
    const auto [out_l, out_k] = factors_of(static_cast<std::int64_t>(made.layer.out), options.decompose_factor);
    const Size r = made.rank;
    if (options.decompose_both && 2 * r < std::max(out_l, in_m)) {
        made.add("lokr_w1_a.default", {out_l, r});
        made.add("lokr_w1_b.default", {r, in_m});
    } else {
        made.add("lokr_w1.default", {out_l, in_m});
    }
    if (2 * r < std::max(out_k, in_n)) {
        made.add("lokr_w2_a.default", {out_k, r});
        made.add("lokr_w2_b.default", {r, in_n});
    } else {
        made.add("lokr_w2.default", {out_k, in_n});
    }
}

namespace {

/// torch.kron of two matrices (torch 2.11 ATen/native/LinearAlgebra.cpp KronImpl).
Tensor kron(const Tensor& a, const Tensor& b) {
    const Tensor left = reshape(a, {a.size(0), 1, a.size(1), 1});
    const Tensor right = reshape(b, {1, b.size(0), 1, b.size(1)});
    return reshape(mul(left, right), {a.size(0) * b.size(0), a.size(1) * b.size(1)});
}

/// get_delta_weight.
Tensor lokr_weight(const Linear& layer) {
    const OtherAdapter& adapter = *layer.other;
    const std::size_t second = has_parameter(adapter, "lokr_w1.default") ? 1 : 2;
    const Tensor w1 = second == 1 ? adapter[0] : matmul(adapter[0], adapter[1]);
    const Tensor w2 =
        adapter.parameters.size() == second + 1 ? adapter[second] : matmul(adapter[second], adapter[second + 1]);
    const Tensor product = kron(w1, w2);
    return reshape(mul(product, 1.0), {layer.out, layer.in});
}

}  // namespace

Tensor lokr(const Linear& layer, const Tensor& x) {
    Tensor result = base_layer(layer, x);
    result = add(result, [&] {
        const Tensor weight = lokr_weight(layer);
        const Tensor input = to(x, weight.dtype());
        return functional_linear(input, weight);
    }());
    return to(result, x.dtype());
}

}  // namespace vramfit::model
