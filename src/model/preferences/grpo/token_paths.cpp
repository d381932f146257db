// Paths of a token: what the kernels that see the whole row choose by its length.
#include "model/preferences/grpo/token_paths.hpp"

#include <algorithm>
#include <utility>

#include "engine/ops/attention.hpp"
#include "engine/ops/cub_scratch.hpp"
#include "engine/ops/reduce_scratch.hpp"
#include "engine/session.hpp"
#include "model/preferences/grpo/sampling.hpp"
#include "model/recorded/model.hpp"

namespace vramfit::model {

using namespace engine;

namespace {

/// The first tokens differ: the prompt's, the one behind it, and one that still holds what came with the prompt.
constexpr std::int64_t kFirstAlike = 3;

std::vector<Size> windows_of(const Run& run) {
    std::vector<Size> windows;
    if (run.recorded) {
        for (const std::optional<std::int64_t>& window : run.recorded->document().windows)
            if (window && std::find(windows.begin(), windows.end(), Size(*window)) == windows.end())
                windows.emplace_back(*window);
    } else if (run.spec.sliding_window) {
        windows.push_back(*run.spec.sliding_window);
    }
    return windows;
}

}  // namespace

TokenPaths::TokenPaths(const Run& run, const Tensor& prompts, std::int64_t tokens, bool padded, Missing missing)
    : run_(run),
      rows_(prompts.size(0)),
      prompt_(run.session.decide("tokens of a prompt", prompts.size(1))),
      tokens_(tokens),
      padded_(padded),
      missing_(std::move(missing)),
      windows_(windows_of(run)),
      period_(padded && run.plan.load.attention != AttentionImplementation::flash_attention_2 ? 8 : 1) {}

void TokenPaths::begin() {
    if (run_in_a_row_ % period_ != 0) return;
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
    const ModelSpec& spec = run_.spec;
    const auto splits = [&](Size queries, Size heads) {
        const Tensor query = host_tensor(session, {rows_, queries, heads, spec.head_dim}, DType::bfloat16);
        return static_cast<std::int64_t>(flash_splits(session.device.multiprocessors * 2, query, places));
    };
    const Tensor mask = host_tensor(session, {rows_, places}, DType::int64);
    const ReducePlan sum = plan_reduction(layout_of(mask), 3, {8, 8, 8, 4}, session.device);
    std::vector<std::int64_t> path = {splits(1, spec.num_attention_heads), static_cast<std::int64_t>(sum.accumulation)};
    if (by_ms_swift(run_.plan)) path.push_back(token + 1 >= kTokensOfStopWords);
    // Behind its window a sliding layer's keys and values do not grow; the tokens about its end are unlike the others.
    for (const Size& window : windows_)
        path.push_back(static_cast<std::int64_t>(std::clamp<Size>(places - window, -1, 2)));
    for (const ReduceScratch& part : sum.parts)
        path.insert(path.end(), {static_cast<std::int64_t>(part.buffer), static_cast<std::int64_t>(part.semaphores)});
    if (run_.plan.load.attention == AttentionImplementation::flash_attention_2) {
        // flash_attn.cpp: heads that share keys are queries of one head.
        path.push_back(splits(spec.num_attention_heads / spec.num_key_value_heads, spec.num_key_value_heads));
        add_packing(places, path);
    }
    return path;
}

/// What flash_attention.cpp asks of the mask, and how many tokens it sees through a window.
void TokenPaths::add_packing(const Size& places, std::vector<std::int64_t>& path) const {
    Session& session = run_.session;
    const auto add = [&](const ReducePlan& plan) {
        for (const ReduceScratch& part : plan.parts)
            path.insert(path.end(),
                        {static_cast<std::int64_t>(part.buffer), static_cast<std::int64_t>(part.semaphores)});
    };
    const Tensor mask = host_tensor(session, {rows_, places}, DType::boolean);
    add(plan_reduction(layout_of(mask), 3, {1, 1, 1, 4}, session.device));
    if (!padded_) return;
    const Tensor numbers = host_tensor(session, {rows_, places}, DType::int32);
    add(plan_reduction(layout_of(numbers), 2, {4, 4, 4, 4}, session.device));
    for (const Size& scratch : {count_scratch(session, rows_ * places), select_scratch(session, rows_ * places)})
        path.push_back(static_cast<std::int64_t>(scratch));
    const auto window = run_.spec.sliding_window;
    if (!window || places <= *window) return;
    const Size seen = missing_.seen(rows_, *window, places), before = missing_.seen(rows_, *window, places - 1);
    path.insert(path.end(),
                {static_cast<std::int64_t>(seen - before), static_cast<std::int64_t>(seen == rows_ * *window)});
}

bool TokenPaths::have_path(std::int64_t first, std::int64_t count, const std::vector<std::int64_t>& path) const {
    for (std::int64_t token = first; token < first + count; ++token)
        if (path_of(token) != path) return false;
    return true;
}

std::int64_t TokenPaths::repeats(std::int64_t token) {
    const std::int64_t seen = 3 * period_;
    if (!run_.session.repeats || run_in_a_row_ < seen || run_in_a_row_ % period_ != 0 || token < kFirstAlike + seen)
        return 0;
    const std::vector<std::int64_t> path = path_of(token - 1);
    if (!have_path(token - seen, seen, path)) return 0;
    std::int64_t times = 0;
    while (token + (times + 1) * period_ < tokens_ && have_path(token + times * period_, period_, path)) ++times;
    if (times == 0 || !run_.session.recorder.grow_alike(stretches_[0], stretches_[1], stretches_[2])) return 0;
    return times;
}

std::int64_t TokenPaths::write(std::int64_t times, const std::vector<Grown>& live) {
    Recorder& recorder = run_.session.recorder;
    const auto count = static_cast<std::uint32_t>(stretches_[2].end.allocations - stretches_[2].begin.allocations);
    const std::int64_t tokens = times * period_;
    std::vector<TensorImpl*> seen;
    Size growth = 0;
    for (const Grown& each : live) {
        TensorImpl* impl = each.tensor->get();
        if (std::find(seen.begin(), seen.end(), impl) != seen.end()) continue;
        seen.push_back(impl);
        if (recorder.keeps_program()) impl->storage->id += count * static_cast<std::uint32_t>(times);
        if (each.dim < 0) continue;
        const Size one = impl->storage->bytes / impl->sizes[each.dim];
        growth += one * period_;
        impl->storage->bytes += one * tokens;
        impl->sizes[each.dim] += tokens;
        impl->strides = contiguous_strides(impl->sizes);
    }
    recorder.write_grown(stretches_[2], times, static_cast<std::int64_t>(growth));
    run_in_a_row_ = 0;
    return tokens;
}

}  // namespace vramfit::model
