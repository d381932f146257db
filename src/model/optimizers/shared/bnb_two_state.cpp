// bitsandbytes 0.43 to 0.50 optim/optimizer.py: Optimizer8bit.step, get_state_buffer, Optimizer2State.init_state.
#include "model/optimizers/shared/bnb_two_state.hpp"

#include "engine/ops/copy.hpp"
#include "vramfit/base/checked.hpp"

namespace vramfit::optimizers {

using namespace model;
using engine::Op;
using engine::Session;

namespace {

constexpr std::int64_t kSmallest8bit = 4096;     // min_8bit_size
constexpr std::int64_t kSmallestPaged = 100000;  // get_state_buffer: p.numel() < 1e5 stays in device memory

/// get_state_buffer: zeros like the parameter, or managed memory (functional.py get_paged).
Tensor state_buffer(Session& session, const Tensor& p, DType dtype, bool paged) {
    if (paged && session.recorder.decide_place("state paged", p.numel() >= kSmallestPaged)) {
        const auto id = session.recorder.managed_alloc(size_of(p.numel(), dtype).count, Op::optimizer_state);
        session.recorder.label(id, Category::optimizer_states);
        return engine::host_tensor(session, p.sizes(), dtype);
    }
    return engine::empty_strided(session, p.sizes(), engine::preserved_strides(p.sizes(), p.strides()), dtype,
                                 Op::optimizer_state);
}

/// The two code books come onto the card with the first 8-bit state and are shared (fill_qmap, init_state).
void load_code_books(Session& session, Optimizer& optimizer) {
    if (!optimizer.shared.empty()) return;
    for (int i = 0; i < 2; ++i)
        optimizer.shared.push_back(engine::to_device(engine::host_tensor(session, {256}, DType::float32)));
}

OptimizerState init_state(Session& session, Optimizer& optimizer, const NamedParameter& parameter, int bits,
                          bool paged) {
    const Tensor& p = *parameter.tensor;
    const engine::Scoped<Category> fresh(session.recorder.fresh, Category::optimizer_states);
    const bool in_8bit = bits == 8 && !(parameter.embedding && optimizer.embeddings_in_32bit) &&
                         session.decide("state in 8 bits", p.numel() >= kSmallest8bit);
    const DType dtype = in_8bit ? DType::uint8 : DType::float32;
    if (in_8bit) load_code_books(session, optimizer);
    OptimizerState state;
    for (int i = 0; i < 2; ++i) state.push_back(state_buffer(session, p, dtype, paged));
    const std::int64_t blocks = ceil_div(p.numel(), session.stack.optimizer_block_size());
    for (int i = 0; in_8bit && i < 2; ++i) state.push_back(engine::zeros(session, {blocks}, DType::float32));
    return state;
}

}  // namespace

template <int Bits, bool Paged>
void bnb_two_state_step(Session& session, Optimizer& optimizer) {
    for (std::size_t g = 0; g < optimizer.groups.size(); ++g) {
        const auto& parameters = optimizer.groups[g].parameters;
        for (std::size_t i = 0; i < parameters.size(); ++i) {
            const Tensor& p = *parameters[i].tensor;
            if (!p->grad) continue;
            OptimizerState& state = optimizer.states[g][i];
            if (state.empty()) state = init_state(session, optimizer, parameters[i], Bits, Paged);
            // update_step: p.grad = p.grad.contiguous()
            p->grad = engine::contiguous(p.grad()).ref();
        }
    }
}

template void bnb_two_state_step<8, false>(Session&, Optimizer&);
template void bnb_two_state_step<8, true>(Session&, Optimizer&);
template void bnb_two_state_step<32, false>(Session&, Optimizer&);
template void bnb_two_state_step<32, true>(Session&, Optimizer&);

}  // namespace vramfit::optimizers
