// Paths of a token: what the kernels that see the whole row choose by its length.
#include "model/preferences/grpo/token_paths.hpp"

#include <algorithm>
#include <utility>

#include "engine/ops/attention.hpp"
#include "engine/ops/reduce_scratch.hpp"
#include "engine/session.hpp"

namespace vramfit::model {

using namespace engine;

namespace {

/// The first tokens differ: the prompt's, the one behind it, and one that still holds what came with the prompt.
constexpr std::int64_t kFirstAlike = 3;

}  // namespace

TokenPaths::TokenPaths(const Run& run, const Tensor& prompts, std::int64_t tokens, bool padded)
    : run_(run),
      rows_(prompts.size(0)),
      prompt_(run.session.decide("tokens of a prompt", prompts.size(1))),
      tokens_(tokens),
      padded_(padded) {}

void TokenPaths::begin() {
    stretches_[0] = std::move(stretches_[1]);
    stretches_[1] = std::move(stretches_[2]);
    stretches_[2] = {};
    stretches_[2].begin = run_.session.recorder.written_to();
}

void TokenPaths::end() {
    stretches_[2].end = run_.session.recorder.written_to();
    ++run_in_a_row_;
}

// The flash kernel cuts long rows into parts (attention_flash.cpp); the mask is summed up over rows and places, which
// from some size on takes scratch (masks.cpp read_all).
std::vector<std::int64_t> TokenPaths::path_of(std::int64_t token) const {
    Session& session = run_.session;
    const Size places = prompt_ + token;
    const Tensor query =
        host_tensor(session, {rows_, 1, run_.spec.num_attention_heads, run_.spec.head_dim}, DType::bfloat16);
    const Tensor mask = host_tensor(session, {rows_, places}, DType::int64);
    const ReducePlan sum = plan_reduction(layout_of(mask), 3, {8, 8, 8, 4}, session.device);
    std::vector<std::int64_t> path = {
        static_cast<std::int64_t>(flash_splits(session.device.multiprocessors * 2, query, places)),
        static_cast<std::int64_t>(sum.accumulation)};
    // Behind its window a sliding layer's keys and values do not grow; the tokens about its end are unlike the others.
    if (const auto window = run_.spec.sliding_window)
        path.push_back(static_cast<std::int64_t>(std::clamp<Size>(places - *window, -1, 2)));
    if (padded_)
        path.insert(path.end(), {static_cast<std::int64_t>(places % 8), static_cast<std::int64_t>(places / 8)});
    for (const ReduceScratch& part : sum.parts)
        path.insert(path.end(), {static_cast<std::int64_t>(part.buffer), static_cast<std::int64_t>(part.semaphores)});
    return path;
}

std::int64_t TokenPaths::repeats(std::int64_t token) {
    if (!run_.session.repeats || run_in_a_row_ < 3 || token < kFirstAlike + 3) return 0;
    const std::vector<std::int64_t> path = path_of(token - 1);
    if (path_of(token - 2) != path || path_of(token - 3) != path) return 0;
    std::int64_t times = 0;
    while (token + times + 1 < tokens_ && path_of(token + times) == path) ++times;
    if (times == 0 || !run_.session.recorder.grow_alike(stretches_[0], stretches_[1], stretches_[2])) return 0;
    return times;
}

void TokenPaths::write(std::int64_t times, const std::vector<Grown>& live) {
    Recorder& recorder = run_.session.recorder;
    const auto count = static_cast<std::uint32_t>(stretches_[2].end.allocations - stretches_[2].begin.allocations);
    std::vector<TensorImpl*> seen;
    Size growth = 0;
    for (const Grown& each : live) {
        TensorImpl* impl = each.tensor->get();
        if (std::find(seen.begin(), seen.end(), impl) != seen.end()) continue;
        seen.push_back(impl);
        if (recorder.keeps_program()) impl->storage->id += count * static_cast<std::uint32_t>(times);
        if (each.dim < 0) continue;
        const Size one = impl->storage->bytes / impl->sizes[each.dim];
        growth += one;
        impl->storage->bytes += one * times;
        impl->sizes[each.dim] += times;
        impl->strides = contiguous_strides(impl->sizes);
    }
    recorder.write_grown(stretches_[2], times, static_cast<std::int64_t>(growth));
    run_in_a_row_ = 0;
}

}  // namespace vramfit::model
