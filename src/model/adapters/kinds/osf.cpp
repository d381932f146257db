// peft 0.21.2 tuners/osf/layer.py Linear, utils.py decompose_weight_matrix.
#include <array>
#include <limits>
#include <memory>

#include "engine/ops/copy.hpp"
#include "engine/ops/matmul.hpp"
#include "engine/ops/pointwise.hpp"
#include "engine/ops/view.hpp"
#include "engine/session.hpp"
#include "model/adapters/kinds/kinds.hpp"
#include "model/network/modules.hpp"
#include "spec/adapters/read.hpp"

namespace vramfit::model {

using namespace engine;

namespace {

// Of the parameters (torch.nn.ParameterDict sorts those that it is made of), and of the buffers.
constexpr std::size_t kS = 0, kU = 1, kV = 2;
constexpr std::size_t kFirstU = 0, kFirstS = 1, kFirstV = 2, kHigh = 3;

}  // namespace

// What is trained are the ranks that the first ones leave; they are kept as they were, and of the side that is no
// square the first ones too.
void create_osf(const NewAdapter& made) {
    const Size in = made.layer.in, out = made.layer.out;
    const std::int64_t kept = osf_rank(made.plan().options, made.target.module);
    const Size trained = std::min(made.target.module.in, made.target.module.out) - kept;
    made.add("osf_svd_params.default.S_low", {trained}, 1);
    made.add("osf_svd_params.default.U_low", {out, trained}, 1);
    made.add("osf_svd_params.default.V_low", {trained, in}, 1);
    for (const Dims& size : {Dims{out, trained}, Dims{trained}, Dims{trained, in}})
        made.add_buffer(moved_from_host(made.run.session, size, made.dtype));
    if (made.target.module.out > made.target.module.in)
        made.add_buffer(moved_from_host(made.run.session, {out, kept}, made.dtype));
    if (made.target.module.out < made.target.module.in)
        made.add_buffer(moved_from_host(made.run.session, {kept, in}, made.dtype));
}

namespace {

/// What the hook on a gradient projects it with.
struct Projection : NodeState {
    Tensor by;
    bool is_of_high = false;  ///< away from it; else onto it
};

// OSFLayer._attach_hooks: of U.
void project_rows(Node& node, Grads& in, Grads& out) {
    const auto& projection = static_cast<const Projection&>(*node.state);
    const Tensor projected = mm(projection.by, mm(transpose2d(projection.by), in[0]));
    out[0] = projection.is_of_high ? sub(in[0], projected) : projected;
}
const NodeType kProjectRows{"register_hook", project_rows};

// ... and of V.
void project_columns(Node& node, Grads& in, Grads& out) {
    const auto& projection = static_cast<const Projection&>(*node.state);
    const Tensor projected = mm(mm(in[0], transpose2d(projection.by)), projection.by);
    out[0] = projection.is_of_high ? sub(in[0], projected) : projected;
}
const NodeType kProjectColumns{"register_hook", project_columns};

/// The parameter, whose gradient passes the hook.
Tensor hooked(const NodeType& type, const Tensor& parameter, const Tensor& by, bool is_of_high) {
    if (!needs_grad(parameter)) return parameter;
    const Ref<Node> node = make_node(parameter.session(), type);
    add_edge(*node, parameter);
    node->sequence = std::numeric_limits<std::uint64_t>::max();  // AccumulateGrad's
    auto projection = std::make_unique<Projection>();
    projection->by = by;
    projection->is_of_high = is_of_high;
    node->state = std::move(projection);
    Tensor out = detach(parameter);
    set_history(out, node);
    return out;
}

/// cast_adapter_dtype makes new parameters of those in 16 bits, which have no hooks.
bool has_hooks(const Linear& layer) { return !is_half(layer.weight.dtype()); }

}  // namespace

Tensor osf(const Linear& layer, const Tensor& x) {
    const OtherAdapter& adapter = *layer.other;
    const std::vector<Tensor>& kept = adapter.buffers;
    Tensor result = base_layer(layer, x);
    Tensor u = adapter[kU], v = adapter[kV];
    const Tensor& s = adapter[kS];
    if (has_hooks(layer)) {
        const bool tall = u.size(0) > v.size(1), wide = u.size(0) < v.size(1);
        u = hooked(kProjectRows, u, tall ? kept[kHigh] : kept[kFirstU], tall);
        v = hooked(kProjectColumns, v, wide ? kept[kHigh] : kept[kFirstV], wide);
    }
    const Tensor a = [&] {
        const Tensor now = mul(u, unsqueeze(s, 0));
        const Tensor before = neg(mul(kept[kFirstU], unsqueeze(kept[kFirstS], 0)));
        const std::array<Tensor, 2> parts{now, before};
        return cat(parts, 1);
    }();
    const std::array<Tensor, 2> rows{v, kept[kFirstV]};
    const Tensor b = cat(rows, 0);
    const Tensor input = to(x, a.dtype());
    const Tensor inner = functional_linear(input, b);
    const Tensor delta = functional_linear(inner, a);
    return add(result, to(delta, x.dtype()));
}

}  // namespace vramfit::model
