// What differences between a run and its prediction suggest, as sentences.
#include "report/comparison_reasons.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/text_table.hpp"
#include "vramfit/spec/sizes.hpp"

namespace vramfit::report {

namespace {

std::string size_of_bytes(std::int64_t bytes) { return text_of(Bytes{bytes}); }

/// Tokens of a row in the run, where the first difference is a batch of other bytes; 0: it is not.
std::int64_t other_tokens(const ComparisonReport& r) {
    if (r.comparison.differences.empty()) return 0;
    const SnapshotDifference& d = r.comparison.differences.front();
    if (d.kind != DifferenceKind::size || !d.window.ends_with("inputs") || !d.predicted || !d.seen) return 0;
    const std::int64_t all = r.batch * r.tokens;
    if (all <= 0 || r.batch <= 0 || d.predicted->bytes % all != 0) return 0;
    const std::int64_t row = d.predicted->bytes / all * r.batch;  // bytes of one token of each row
    return d.seen->bytes % row == 0 ? d.seen->bytes / row : 0;
}

/// transformers, trainer.py: torch.isnan(loss) or torch.isinf(loss); the latter's comparison is missing.
bool loss_is_no_number(const SnapshotDifference& d) {
    return d.kind == DifferenceKind::only_in_prediction && d.predicted_count == 1 && d.predicted &&
           d.predicted->bytes == 1 && d.predicted->op == "aten::eq" && d.window.find(".backward.") != std::string::npos;
}

/// What the device's memory goes to, beside PyTorch's.
void add_other_users(const OomReport& r, std::vector<std::string>& out) {
    const OomMessage& m = r.explanation.message;
    if (m.total && m.free && m.process) {
        const std::int64_t others = m.total->bytes - m.free->bytes - m.process->bytes;
        const std::int64_t error = m.total->error + m.free->error + m.process->error;
        if (others > 512 * kMiB + error)
            out.push_back(fmt::format("other processes, or the driver, use {} of the GPU: nvidia-smi names them",
                                      size_of_bytes(others)));
    }
    if (m.process && m.unallocated) {
        const std::int64_t context = m.process->bytes - m.allocated.bytes - m.unallocated->bytes;
        const std::int64_t assumed = r.prediction.device.context.count;
        if (context > assumed + 256 * kMiB)
            out.push_back(
                fmt::format("{} of this process are outside of PyTorch's allocator (CUDA context, NCCL, other "
                            "libraries), {} are assumed: give --reserve for what is more",
                            size_of_bytes(context), size_of_bytes(assumed)));
    }
    if (m.allowed)
        out.push_back(
            fmt::format("a memory fraction allows this process {} only "
                        "(torch.cuda.set_per_process_memory_fraction)",
                        size_of_bytes(m.allowed->bytes)));
}

void add_fragmentation(const OomReport& r, std::vector<std::string>& out) {
    const OomMessage& m = r.explanation.message;
    if (!m.unallocated || m.unallocated->bytes < m.tried.bytes) return;
    out.push_back(
        fmt::format("{} are reserved but free in pieces that are too small: "
                    "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True (--alloc-conf asks about it) often helps",
                    size_of_bytes(m.unallocated->bytes)));
}

}  // namespace

std::vector<std::string> reasons_of(const ComparisonReport& r) {
    std::vector<std::string> out;
    const SnapshotComparison& c = r.comparison;
    if (const std::int64_t tokens = other_tokens(r); tokens > 0)
        out.push_back(
            fmt::format("the rows of this batch have {} tokens instead of {}: --seq {} asks about them; the "
                        "longest rows of the data decide about the peak",
                        grouped(tokens), grouped(r.tokens), tokens));
    if (!c.differences.empty() && loss_is_no_number(c.differences.front()))
        out.push_back(
            "the recorded loss is NaN: Trainer asks whether it is infinite only where it is a number "
            "(logging_nan_inf_filter), which is what is predicted");
    if (!c.aligned)
        out.push_back(
            "is it the same model, method and version? A snapshot that was begun before training and "
            "has at least one step says most");
    else if (!c.differences.empty() && c.differences.front().kind == DifferenceKind::only_in_snapshot &&
             c.differences.front().window == "train_end")
        out.push_back("evaluation, generation and saving after training are not predicted");
    else if (!c.differences.empty() && c.differences.front().kind == DifferenceKind::only_in_snapshot &&
             c.differences.front().window.ends_with("zero_grad"))
        out.push_back("between steps, evaluation and logging can allocate what is not predicted");
    return out;
}

std::vector<std::string> reasons_of(const OomReport& r) {
    std::vector<std::string> out;
    const OomExplanation& e = r.explanation;
    const OomMessage& m = e.message;
    const std::int64_t more = e.nearest ? m.allocated.bytes - e.nearest->allocated : 0;
    if (!e.nearest && e.scaled)
        out.push_back(
            fmt::format("rows of {} tokens instead of {} would ask for that much in {} ({}): --seq {} asks "
                        "about them",
                        grouped(e.scaled_tokens), grouped(r.prediction.plan.batch.sequence_length), e.scaled->window,
                        e.scaled->what.op, e.scaled_tokens));
    else if (!e.nearest)
        out.push_back(
            "something else asked: evaluation with another batch, generation, longer rows, another model or "
            "version than the one that was asked about");
    if (e.nearest && !e.same_state && more > 0)
        out.push_back(
            fmt::format("{} more are allocated than predicted before any such request: longer rows earlier in "
                        "the run, evaluation, outputs that are kept, or a second model",
                        size_of_bytes(more)));
    if (e.nearest && !e.same_state && more < 0)
        out.push_back(
            fmt::format("{} less are allocated than predicted before such a request: it comes earlier in the "
                        "run, or from something else",
                        size_of_bytes(-more)));
    if (m.allocated.bytes > e.allocated_peak + m.allocated.error)
        out.push_back(
            fmt::format("the run holds more than it is predicted to need at its highest ({}): it is not the "
                        "run that was asked about",
                        size_of_bytes(e.allocated_peak)));
    add_other_users(r, out);
    add_fragmentation(r, out);
    return out;
}

}  // namespace vramfit::report
