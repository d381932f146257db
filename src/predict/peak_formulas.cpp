// Records the run with symbols and adds up what is alive at each peak.
#include "vramfit/predict/peak_formulas.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "model/record.hpp"
#include "predict/peaks.hpp"
#include "symbolic/words.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/spec/lengths.hpp"
#include "vramfit/spec/plan_check.hpp"

namespace vramfit {

namespace {

/// What the letters may stand for: as far as paths are looked for.
model::AxisRange wide(std::int64_t here, std::int64_t most) { return {1, std::max(here, most)}; }

/// The highest moment of a peak: just behind this event.
struct Moment {
    const Peak* peak = nullptr;
    std::size_t window = 0;
    std::size_t event = 0;
    std::int64_t requested = -1;
};

std::int64_t change(const Program& program, std::span<const Size> bytes, std::size_t event) {
    const Event& e = program.events[event];
    if (e.kind == EventKind::alloc) return bytes[e.id].value();
    return e.kind == EventKind::free ? -bytes[e.id].value() : 0;
}

std::vector<Moment> highest_moments(const Program& program, std::span<const Size> bytes, const RunShape& run) {
    std::vector<Moment> moments;
    for (const Peak* peak : peaks_in_order()) moments.push_back({peak});
    std::int64_t level = 0;
    for (std::size_t w = 0; w < program.windows.size(); ++w) {
        const bool last = w + 1 == program.windows.size();
        const std::size_t end = last ? program.events.size() : program.windows[w + 1].first_event;
        std::vector<Moment*> own;
        for (Moment& m : moments)
            if (m.peak->covers(program.windows[w].phase, run)) own.push_back(&m);
        for (std::size_t e = program.windows[w].first_event; e < end; ++e) {
            level += change(program, bytes, e);
            for (Moment* m : own)
                if (level > m->requested) *m = {m->peak, w, e, level};
        }
    }
    std::erase_if(moments, [](const Moment& m) { return m.requested < 0; });
    return moments;
}

/// The sum of what is alive behind the event, as a size.
Size level_behind(const Program& program, std::span<const Size> bytes, std::size_t event) {
    std::vector<bool> alive(bytes.size(), false);
    for (std::size_t e = 0; e <= event; ++e) {
        const Event& at = program.events[e];
        if (at.kind == EventKind::alloc || at.kind == EventKind::free) alive[at.id] = at.kind == EventKind::alloc;
    }
    Size sum = 0;
    for (std::size_t id = 0; id < bytes.size(); ++id)
        if (alive[id]) sum += bytes[id];
    return sum;
}

}  // namespace

PeakFormulas peak_formulas(const Job& job) {
    check_plan(job.model, job.plan, job.stack);
    if (may_generate(job.plan.loop.kind))
        throw Error(ErrorKind::unsupported, "loop.kind",
                    "formulas of a run that generates are not written: each length has its own steps",
                    "vramfit predict shows the peaks of one length");
    if (lengths_are_apart(job.model, job.plan))
        throw Error(ErrorKind::unsupported, "model",
                    "formulas of a network that goes over rows in rounds are not written: each length has its own",
                    "vramfit predict shows the peaks of one length");
    const TrainPlan& plan = job.plan;
    const std::int64_t batch = plan.training.per_device_train_batch_size, length = plan.batch.sequence_length;
    model::FormulaAxes axes{wide(batch, 1024), wide(length, 131072), {}};
    PeakFormulas out;
    out.axes = {fmt::format("B = batch size, here {}", batch),
                fmt::format("S = tokens of a sequence, here {}", length)};
    std::vector<std::string> names = {"B", "S"};
    // HRA makes other tensors for each rank.
    const bool has_rank = plan.peft && facts_of(plan.peft->kind).has_rank() && plan.peft->kind != AdapterKind::hra;
    if (plan.peft && !has_rank) axes.rank = {plan.peft->r, plan.peft->r};
    if (has_rank) {
        axes.rank = wide(plan.peft->r, 512);
        out.axes.push_back(fmt::format("r = rank of the adapters, here {}", plan.peft->r));
        names.emplace_back("r");
    }
    const auto use = [&](const symbolic::Symbols& symbols, const Program& program, std::span<const Size> bytes) {
        std::vector<symbolic::Polynomial> polynomials;
        const std::vector<Moment> moments = highest_moments(program, bytes, run_shape(job.model, plan));
        for (const Moment& m : moments)
            polynomials.push_back(symbols.polynomial_of(level_behind(program, bytes, m.event)));
        symbolic::Words words(symbols, names);
        for (std::size_t i = 0; i < moments.size(); ++i)
            out.peaks.push_back({moments[i].peak, name_of(program.windows[moments[i].window].phase),
                                 moments[i].requested, words.text_of(polynomials[i])});
        std::set<std::string> seen;
        for (const symbolic::Condition& condition : symbols.conditions())
            if (std::string text = words.text_of(condition); seen.insert(text).second)
                out.conditions.push_back(std::move(text));
        out.functions = words.functions();
    };
    model::record_symbols(job.model, plan, job.stack, job.device, axes, use);
    return out;
}

}  // namespace vramfit
