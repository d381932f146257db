// transformers.Adafactor as Trainer builds it: factored second moments, no first ones.
#include "engine/ops/copy.hpp"
#include "engine/ops/pointwise.hpp"
#include "engine/ops/reduce.hpp"
#include "engine/ops/view.hpp"
#include "model/step/optimizer.hpp"

namespace vramfit::optimizers {

using namespace model;
using namespace engine;

namespace {

/// state: exp_avg_sq_row and exp_avg_sq_col, or exp_avg_sq; then RMS.
struct AdafactorState {
    OptimizerState& state;
    bool factored() const { return state.size() == 3; }
    Tensor& rms() { return state.back(); }
};

OptimizerState first_state(Session& session, const Tensor& grad) {
    const Scoped<Category> fresh(session.recorder.fresh, Category::optimizer_states);
    const Scoped<Module> module(session.recorder.module, session.recorder.place_of(grad->storage->id));
    if (grad.dim() < 2) return {zeros_like(grad), {}};
    // torch.zeros(shape).to(grad): made in host memory.
    OptimizerState state;
    state.push_back(empty(session, grad.sizes().erase(grad.dim() - 1), grad.dtype(), Op::to_copy));
    state.push_back(empty(session, grad.sizes().erase(grad.dim() - 2), grad.dtype(), Op::to_copy));
    state.emplace_back();
    return state;
}

/// _rms: tensor.norm(2) / numel ** 0.5.
Tensor root_mean_square(const Tensor& t) {
    const DimMask all = (1u << t.dim()) - 1u;
    return div(reduce(t, all, false, t.dtype(), Op::linalg_vector_norm), 1.0);
}

Tensor mean_dim(const Tensor& t, int dim, bool keepdim) { return reduce(t, 1u << dim, keepdim, t.dtype(), Op::mean); }

/// _approx_sq_grad.
Tensor approximate_square(const Tensor& row, const Tensor& column) {
    Tensor r_factor = div(row, mean_dim(row, row.dim() - 1, true));
    r_factor = unsqueeze(r_factor, -1);
    const Tensor c_factor = rsqrt(unsqueeze(column, -2));
    return mul(r_factor, c_factor);
}

/// The local variables of step(): they live from one parameter to the next.
struct Locals {
    Tensor grad, p_data_fp32, update;
};

void step_parameter(Session& session, const Tensor& p, OptimizerState& stored, Locals& locals) {
    locals.grad = p.grad();
    if (is_half(locals.grad.dtype())) locals.grad = to(locals.grad, DType::float32);
    if (stored.empty()) stored = first_state(session, locals.grad);
    AdafactorState state{stored};
    locals.p_data_fp32 = p;
    if (is_half(p.dtype())) locals.p_data_fp32 = to(p, DType::float32);
    state.rms() = root_mean_square(locals.p_data_fp32);
    locals.update = add(pointwise_result(locals.grad, locals.grad.dtype(), Op::pow), 1e-30);
    if (state.factored()) {
        const int last = locals.update.dim() - 1;
        mean_dim(locals.update, last, false);
        mean_dim(locals.update, last - 1, false);
        locals.update = approximate_square(stored[0], stored[1]);
    } else {
        locals.update = rsqrt(stored[0]);
    }
    { const Tensor clipped = div(root_mean_square(locals.update), 1.0); }
    const Tensor minus = neg(locals.update);
}

void step_adafactor(Session& session, Optimizer& optimizer) {
    Locals locals;
    for (std::size_t g = 0; g < optimizer.groups.size(); ++g) {
        const auto& parameters = optimizer.groups[g].parameters;
        for (std::size_t i = 0; i < parameters.size(); ++i)
            if ((*parameters[i].tensor)->grad)
                step_parameter(session, *parameters[i].tensor, optimizer.states[g][i], locals);
    }
}

}  // namespace

// transformers 4.40 to 5.17 optimization.py Adafactor.step with scale_parameter and relative_step off.
extern const OptimizerType adafactor_entry;
const OptimizerType adafactor_entry{"adafactor", nullptr, nullptr, step_adafactor};

}  // namespace vramfit::optimizers
