// The library's front door: record, replay, name the peaks.
#include "vramfit/predict/predict.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "model/record.hpp"
#include "predict/ends.hpp"
#include "predict/peaks.hpp"
#include "predict/predict_recorded.hpp"
#include "predict/quantities.hpp"
#include "predict/stages.hpp"
#include "predict/unsloth_on_card.hpp"
#include "vramfit/predict/allocator.hpp"
#include "vramfit/spec/devices.hpp"
#include "vramfit/spec/plan_check.hpp"
#include "vramfit/spec/sizes.hpp"

namespace vramfit {

namespace {

/// The levels at the last mark of that name, or what the run ends with.
Levels at_mark(const Timeline& timeline, std::string_view name) {
    Levels levels = timeline.end;
    for (const MarkLevels& mark : timeline.marks) {
        if (mark.name == name) levels = mark.now;
    }
    return levels;
}

void append(Notes& notes, const Notes& more) { notes.insert(notes.end(), more.begin(), more.end()); }

void take_verdict(const Judged& judged, Prediction& out) {
    out.retries = judged.on_card.retries;
    out.assumptions = judged.assumptions;
    out.ends = judged.ends;
    out.verdict = judged.ends.verdict();
    const Timeline& timeline = judged.on_card;
    if (!timeline.out_of_memory) return;
    out.out_of_memory = timeline.out_of_memory;
    out.out_of_memory_window = name_of(timeline.windows[timeline.out_of_memory->window].phase);
    out.out_of_memory_levels = timeline.end;
}

}  // namespace

Prediction predict_recorded(const ModelSpec& model, const TrainPlan& plan, const Stack& stack, const Device& given,
                            const Record& record) {
    const Device device = of_process(given, plan);
    Prediction out;
    out.model = model;
    out.plan = plan;
    out.stack = stack;
    out.device = device;
    out.notes = notes_of(Job{model, plan, stack, device, {}});
    const Program program = record(model, plan, stack, device);
    const Judged judged = judge_program(program, model, plan, stack, device);
    take_verdict(judged, out);
    const Timeline& timeline = judged.whole();
    out.peaks = find_peaks(judged.of_card(program), timeline, run_shape(model, plan), device.context);
    if (const PeakResult* highest = highest_of(out.peaks)) out.highest = highest->name;
    out.peak = timeline.peak;
    out.after_load = at_mark(timeline, "after_load");
    out.resident = at_mark(timeline, "resident");
    out.end = at_mark(timeline, "allocated_end");
    out.quantities = quantities_of(timeline, plan.loop, device);
    out.managed = timeline.peak.managed;
    out.trainable_parameters = program.trainable_parameters;
    out.total_parameters = program.total_parameters;
    out.collectives = program.collectives;
    return out;
}

Judgement judge_recorded(const ModelSpec& model, const TrainPlan& plan, const Stack& stack, const Device& given,
                         const Record& record) {
    check_plan(model, plan, stack);
    const Job job{model, plan, stack, given, {}};
    return judge(record(model, plan, stack, of_process(given, plan)), job);
}

Prediction predict(const ModelSpec& model, const TrainPlan& plan, const Stack& stack, const Device& given) {
    if (plan.distributed && plan.distributed->any_rank) return predict_stages(model, plan, stack, given);
    return predict_recorded(model, plan, stack, given, model::record);
}

Prediction predict(const Job& job) {
    Prediction out = predict(job.model, job.plan, job.stack, job.device);
    out.notes.insert(out.notes.begin(), job.notes.begin(), job.notes.end());
    return out;
}

Judgement judge(const Job& job) {
    if (job.plan.distributed && job.plan.distributed->any_rank) {
        const Prediction p = predict(job);
        return {p.ends, p.peak, p.device, p.assumptions};
    }
    return judge(program_of(job), job);
}

Judgement judge(const Program& program, const Job& job) {
    Device device = of_process(job.device, job.plan);
    const Judged judged = judge_program(program, job.model, job.plan, job.stack, device);
    return {judged.ends, judged.whole().peak, std::move(device), judged.assumptions};
}

Timeline timeline(const ModelSpec& model, const TrainPlan& plan, const Stack& stack, const Device& device) {
    return timeline(Job{model, plan, stack, device, {}});
}

Timeline timeline(const Job& job) {
    const ReplayOptions allocator = allocator_of(job);
    return replay(program_on_card(job), allocator);
}

Program program_on_card(const Job& job) {
    Program program = program_of(job);
    const Device device = of_process(job.device, job.plan);
    if (!asks_card(job.plan, device)) return program;
    const ReplayOptions options = allocator_of(job.stack, device);
    UnslothRun run = run_on_card(program, replay(program, options), job.model, job.plan, job.stack, device, options);
    return run.program ? std::move(*run.program) : std::move(program);
}

Notes notes_of(const Job& job) {
    Notes notes = job.notes;
    append(notes, job.device.notes);
    append(notes, check_plan(job.model, job.plan, job.stack));
    return notes;
}

Program program_of(const Job& job) {
    check_plan(job.model, job.plan, job.stack);
    if (job.plan.distributed && job.plan.distributed->any_rank)
        return model::record(job.model, predict(job).plan, job.stack, job.device);
    return model::record(job.model, job.plan, job.stack, job.device);
}

}  // namespace vramfit
