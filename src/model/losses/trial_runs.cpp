// torch 2.11 _inductor/runtime/triton_heuristics.py CachingAutotuner.bench, _inductor/runtime/benchmarking.py
// benchmark_gpu: hundreds of runs, of which one is like the other.
#include "model/losses/trial_runs.hpp"

#include "engine/ops/copy.hpp"
#include "engine/session.hpp"

namespace vramfit::model {

using namespace engine;

bool tries_reduction(Size reduced) { return reduced > 2048 && reduced <= 32768; }  // add_persistent_rblock

void try_kernel(Session& session, const Tensor& overwritten) {
    constexpr int kConfigurations = 2;
    for (int i = 0; i < kConfigurations; ++i) {
        if (overwritten.defined()) (void)clone(detach(overwritten));
        const Tensor cache = empty(session, {l2_cache_of(session.device).count}, DType::uint8, Op::trial_run);
        if (overwritten.defined()) (void)clone(detach(overwritten));
    }
}

}  // namespace vramfit::model
