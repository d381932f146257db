// bitsandbytes 0.43 to 0.50 optim/optimizer.py: Optimizer8bit.step, get_state_buffer, init_state; optim/ademamix.py.
#include "model/optimizers/shared/bnb.hpp"

#include <fmt/format.h>

#include "engine/ops/copy.hpp"
#include "vramfit/base/checked.hpp"
#include "vramfit/base/error.hpp"

namespace vramfit::optimizers {

using namespace model;
using engine::Op;
using engine::Session;

namespace {

constexpr Size kSmallest8bit = 4096;     // min_8bit_size
constexpr Size kSmallestPaged = 100000;  // get_state_buffer: p.numel() < 1e5 stays in device memory

/// Makes the states of one parameter.
struct StateMaker {
    Session& session;
    Optimizer& optimizer;
    const Tensor& p;
    bool paged = false;
    bool in_8bit = false;
    OptimizerState state;

    DType dtype() const { return in_8bit ? DType::uint8 : DType::float32; }

    /// get_state_buffer: zeros like the parameter, or managed memory (functional.py get_paged). Where the state lives
    /// changes no other event, so that a formula holds on both sides: one of the two places gets no bytes.
    void buffer(Size times = 1) {
        const Size in_device = paged ? indicator_less(p.numel(), kSmallestPaged) : Size(1);
        if (in_device.is_symbolic()) {
            const Size bytes = in_device * times * p.numel() * element_size(dtype());
            state.push_back(engine::empty(session, {bytes}, DType::uint8, Op::optimizer_state));
        } else if (paged && !session.decide("state in device memory", in_device)) {
            const auto id =
                session.recorder.managed_alloc(times * p.numel() * element_size(dtype()), Op::optimizer_state);
            session.recorder.label(id, Category::optimizer_states);
            state.push_back(engine::host_tensor(session, p.sizes(), dtype()));
        } else if (times > 1) {
            state.push_back(engine::empty(session, p.sizes().insert(0, times), dtype(), Op::optimizer_state));
        } else {
            state.push_back(engine::empty_strided(session, p.sizes(), engine::preserved_strides(p.sizes(), p.strides()),
                                                  dtype(), Op::optimizer_state));
        }
    }
    /// One absmax for each block.
    void absmax(Size times = 1) {
        const Size blocks = ceil_div(p.numel(), session.stack.optimizer_block_size());
        if (in_8bit) state.push_back(engine::zeros(session, {times, blocks}, DType::float32));
    }
    /// The code books come onto the card with the first 8-bit state and are shared (fill_qmap, init_state).
    void code_books(int count) {
        if (!in_8bit || !optimizer.shared.empty()) return;
        for (int i = 0; i < count; ++i)
            optimizer.shared.push_back(engine::to_device(engine::host_tensor(session, {256}, DType::float32)));
    }
};

template <BnbStates States>
OptimizerState init_state(StateMaker maker) {
    if constexpr (States == BnbStates::one) {
        maker.code_books(1);
        maker.buffer();
        maker.absmax();
    } else if constexpr (States == BnbStates::two) {
        maker.code_books(2);
        for (int i = 0; i < 2; ++i) maker.buffer();
        for (int i = 0; i < 2; ++i) maker.absmax();
    } else {
        maker.code_books(2);
        maker.absmax(2);
        maker.absmax();
        maker.buffer(2);
        maker.buffer();
    }
    return std::move(maker.state);
}

/// bitsandbytes 0.50 backends/cuda/ops.py _optimizer_update_32bit_impl.
[[noreturn]] void throw_no_kernel(const std::string& name) {
    throw Error(
        ErrorKind::invalid, "training.optim",
        fmt::format("Gradient+optimizer bit data type combination not supported: grad torch.bfloat16, optimizer "
                    "torch.float32 (bitsandbytes, {})",
                    name),
        "rmsprop with states in 32 bits, which parameters below 4096 elements always have, takes no bfloat16");
}

}  // namespace

template <BnbStates States, int Bits, bool Paged, bool Bfloat16>
void bnb_step(Session& session, Optimizer& optimizer) {
    for (std::size_t g = 0; g < optimizer.groups.size(); ++g) {
        const auto& parameters = optimizer.groups[g].parameters;
        for (std::size_t i = 0; i < parameters.size(); ++i) {
            const Tensor& p = *parameters[i].tensor;
            if (!p->grad) continue;
            OptimizerState& state = optimizer.states[g][i];
            if (state.empty()) {
                const engine::Scoped<Category> fresh(session.recorder.fresh, Category::optimizer_states);
                const engine::Scoped<engine::Module> module(session.recorder.module,
                                                            session.recorder.place_of(p->storage->id));
                const bool in_8bit = Bits == 8 && !(parameters[i].embedding && optimizer.embeddings_in_32bit) &&
                                     session.decide("state in 8 bits", p.numel() >= kSmallest8bit);
                state = init_state<States>({session, optimizer, p, Paged, in_8bit, {}});
            }
            // update_step: p.grad = p.grad.contiguous()
            p->grad = engine::contiguous(p.grad()).ref();
            if (!Bfloat16 && p.grad().dtype() == DType::bfloat16 && state.front().dtype() == DType::float32)
                throw_no_kernel(parameters[i].name());
            session.streams.host_waits_for_all();  // torch.cuda.synchronize
        }
    }
}

VRAMFIT_BNB_STEPS(, BnbStates::one)
template void bnb_step<BnbStates::one, 8, false, false>(Session&, Optimizer&);
template void bnb_step<BnbStates::one, 32, false, false>(Session&, Optimizer&);
VRAMFIT_BNB_STEPS(, BnbStates::two)
VRAMFIT_BNB_STEPS(, BnbStates::double_and_one)

}  // namespace vramfit::optimizers
