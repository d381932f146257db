// peft 0.21.2 tuners/psoft/layer.py Linear and OrthLayer, with the Neumann series.
#include "engine/ops/copy.hpp"
#include "engine/ops/dropout.hpp"
#include "engine/ops/matmul.hpp"
#include "engine/ops/pointwise.hpp"
#include "engine/ops/view.hpp"
#include "engine/session.hpp"
#include "model/adapters/kinds/kinds.hpp"
#include "model/adapters/kinds/neumann.hpp"

namespace vramfit::model {

using namespace engine;

// OrthLayer, whose buffers are rows and columns; then A and B, which stay in float32.
void create_psoft(const NewAdapter& made) {
    const AdapterOptions& options = made.plan().options;
    Session& session = made.run.session;
    const Size r = made.rank, elements = r * (r - 1) / 2;
    made.add("psoft_R.default.weight", options.psoft_orth ? Dims{elements} : Dims{r, r}, 1);
    if (options.psoft_mag_b) made.add("psoft_R.default.vector_b", {r}, 1);
    if (options.psoft_mag_a) made.add("psoft_R.default.vector_a", {r}, 1);
    for (int i = 0; i < 2 && options.psoft_orth; ++i)
        made.add_buffer(moved_from_host(session, {elements}, DType::int64));
    made.add_buffer(moved_from_host(session, {r, made.layer.in}, DType::float32));
    made.add_buffer(moved_from_host(session, {made.layer.out, r}, DType::float32));
}

namespace {

/// OrthLayer.get_matrix.
Tensor matrix_of(const OtherAdapter& adapter, const Size& r) {
    const AdapterOptions& options = adapter.plan->options;
    const Tensor& weight = adapter[0];
    Tensor matrix = weight, skew, identity, power;  // all have names
    if (options.psoft_orth) {
        skew = skew_symmetric(weight, {r, r}, adapter.buffers[0], adapter.buffers[1], false);
        identity = empty(weight.session(), {r, r}, weight.dtype(), Op::eye);
        matrix = clone(identity);
        power = add_neumann_series(matrix, skew, options.cayley_neumann_terms, matmul);
    }
    std::size_t next = 1;
    if (options.psoft_mag_b) matrix = mul(unsqueeze(adapter[next++], 1), matrix);
    if (options.psoft_mag_a) matrix = mul(matrix, unsqueeze(adapter[next], 0));
    return matrix;
}

/// OrthLayer.forward.
Tensor rotated_by(const OtherAdapter& adapter, const Tensor& x) {
    const Tensor matrix = matrix_of(adapter, x.size(-1));
    return to(matmul(x, transpose2d(to(matrix, x.dtype()))), x.dtype());
}

}  // namespace

Tensor psoft(const Linear& layer, const Tensor& x) {
    const OtherAdapter& adapter = *layer.other;
    Tensor result = base_layer(layer, x);
    const DType dtype = result.dtype();
    const Tensor &a = adapter.buffers[adapter.buffers.size() - 2], &b = adapter.buffers.back();
    const Tensor cast = to(x, a.dtype());
    const Tensor input = dropout(cast, adapter.dropout);
    const Tensor inner = matmul(input, transpose2d(a));
    const Tensor turned = rotated_by(adapter, inner);
    const Tensor delta = [&] {
        const Tensor change = sub(turned, inner);
        return matmul(change, transpose2d(b));
    }();
    result = [&] {
        const Tensor scaled = mul(delta, 1.0);
        return add(result, scaled);
    }();
    return to(result, dtype);
}

}  // namespace vramfit::model
