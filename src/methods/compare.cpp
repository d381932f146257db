// Predicts a run under each method, looks for the largest batch, and ranks.
#include "vramfit/methods/compare.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include "base/parallel.hpp"
#include "methods/candidates.hpp"
#include "methods/traffic.hpp"
#include "predict/most_rows.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/predict/predict.hpp"

namespace vramfit {

namespace {

/// FSDP2 cuts packed weights only in a floating dtype, FSDP1 only in the dtype of the norms beside them, and so without
/// peft's preparation, which makes those float32 (accelerate's and peft's guides to QLoRA with FSDP).
void make_divisible(TrainPlan& plan) {
    const bool in_vectors = plan.distributed->as<Fsdp1Plan>() != nullptr;
    if (!in_vectors && !plan.distributed->as<Fsdp2Plan>()) return;
    plan.load.quantization->storage = plan.load.dtype;
    if (in_vectors) plan.prepare_kbit.reset();
}

/// Batches that would be accumulated are the micro batches; the loop is a plain one.
void make_pipeline(TrainPlan& plan) {
    plan.distributed->any_rank = true;
    plan.distributed->as<PipelinePlan>()->micro_batches = std::exchange(plan.training.gradient_accumulation_steps, 1);
    if (plan.loop.kind == LoopKind::trainer) plan.loop.kind = LoopKind::plain;
}

/// The question's run under that method, with as many rows in an optimizer step.
Job job_under(const MethodsQuestion& question, const Candidate& candidate) {
    Job job = candidate.quantized ? *question.quantized : question.job;
    job.plan.distributed.reset();
    if (candidate.alone) {
        job.plan.training.gradient_accumulation_steps *= question.cards;
    } else {
        DistributedPlan& processes = job.plan.distributed.emplace();
        processes.world_size = question.cards;
        processes.method = candidate.method();
        if (candidate.context) processes.as<Fsdp2Plan>()->context.size = question.cards;
        job.plan.training.gradient_accumulation_steps *= question.cards / processes.replicas();
        if (processes.as<PipelinePlan>()) make_pipeline(job.plan);
        if (candidate.quantized) make_divisible(job.plan);
    }
    return job;
}

/// Where processes hold different amounts the first holds most of the shards; the last may hold more of what is left.
std::vector<std::int64_t> processes_of(const MethodsQuestion& question, const Candidate& candidate) {
    if (candidate.uneven) return {0, question.cards - 1};
    return {0};
}

Job of_rank(Job job, std::int64_t rank) {
    if (job.plan.distributed) job.plan.distributed->rank = rank;
    return job;
}

/// The prediction of the process that needs most.
void predict_worst(const Job& job, MethodRow& row) {
    row.prediction.reset();
    for (const std::int64_t rank : row.processes) {
        const Job own = of_rank(job, rank);
        Prediction p = predict(own);
        const auto need = [](const Prediction& of) {
            return std::tuple(of.verdict == Verdict::too_large, of.verdict == Verdict::tight, of.peak.reserved);
        };
        if (row.prediction && need(p) <= need(*row.prediction)) continue;
        row.job = own;
        row.prediction = std::move(p);
    }
}

/// Rows of a batch with which every one of the processes fits.
FitsRows rows_that_fit(const Job& job, const std::vector<std::int64_t>& processes) {
    return [&](std::int64_t rows) {
        return std::all_of(processes.begin(), processes.end(), [&](std::int64_t rank) {
            Job own = of_rank(job, rank);
            own.plan.training.per_device_train_batch_size = rows;
            return predict(own).verdict == Verdict::fits;
        });
    };
}

/// A question that is nearly the row's and takes less time: of the process that needs most, and from the third batch
/// of a step on they hardly differ.
Job nearly(const MethodRow& row) {
    Job job = row.job;
    std::int64_t& batches = job.plan.training.gradient_accumulation_steps;
    batches = std::min<std::int64_t>(batches, 3);
    if (!job.plan.distributed) return job;
    job.plan.distributed->any_rank = false;
    job.plan.distributed->rank = row.prediction->plan.distributed->rank;
    return job;
}

/// Rows of a batch that fit while one more does not: found near those of the quicker question.
std::int64_t largest_batch(const MethodRow& row) {
    const Job quicker = nearly(row);
    const std::vector<std::int64_t> process = {quicker.plan.distributed ? quicker.plan.distributed->rank : 0};
    const std::int64_t start = row.job.plan.training.per_device_train_batch_size;
    const std::int64_t near = most_rows(start, rows_that_fit(quicker, process));
    if (row.processes.size() == 1 && quicker.plan == row.job.plan) return near;  // it was the whole question
    return most_rows(std::max<std::int64_t>(near, 1), rows_that_fit(row.job, row.processes));
}

/// A multiplication and an addition for each weight and token of a pass; a backward pass counts as two forward passes,
/// recomputation as one. What attention does between tokens is left out: it is the same under every method.
double operations_of(const Prediction& p) {
    const TrainingPlan& training = p.plan.training;
    const auto& processes = p.plan.distributed;
    const std::int64_t shared_by = processes ? processes->world_size / processes->replicas() : 1;  // each product
    const double passes = p.plan.checkpoints() ? 4 : 3;
    const PipelinePlan* const pipeline = processes ? processes->as<PipelinePlan>() : nullptr;
    const std::int64_t batches = pipeline ? pipeline->micro_batches : training.gradient_accumulation_steps;
    const double tokens = static_cast<double>(batches) * static_cast<double>(training.per_device_train_batch_size) *
                          static_cast<double>(p.plan.batch.sequence_length);
    return 2 * passes * tokens * static_cast<double>(p.total_parameters) / static_cast<double>(shared_by);
}

/// How much longer a step takes than a stage computes and sends: with m micro batches p - 1 turns more, in which the
/// pipeline fills and empties (Narayanan et al., arXiv 2104.04473, 2.2).
double idle_factor(const Prediction& p) {
    const PipelinePlan* const pipeline = p.plan.distributed ? p.plan.distributed->as<PipelinePlan>() : nullptr;
    if (!pipeline) return 1;
    const auto turns = static_cast<double>(pipeline->micro_batches * pipeline->virtual_stages);
    return (turns + static_cast<double>(p.plan.distributed->world_size - 1)) / turns;
}

/// Without checkpointing if it fits so, else with it.
void predict_row(const MethodsQuestion& question, const Job& job, MethodRow& row) {
    if (!question.choose_checkpointing || row.quantized) return predict_worst(job, row);
    for (const bool on : {false, true}) {
        Job tried = job;
        tried.plan.set_checkpointing(on);
        predict_worst(tried, row);
        if (row.fits()) return;
    }
}

MethodRow row_of(const MethodsQuestion& question, const Candidate& candidate) {
    MethodRow row;
    row.id = candidate.id;
    row.title = candidate.title;
    row.cards = candidate.alone ? 1 : question.cards;
    row.quantized = candidate.quantized;
    row.refusal = candidate.refusal;
    if (!row.refusal.empty()) return row;
    row.processes = processes_of(question, candidate);
    row.job = job_under(question, candidate);
    try {
        predict_row(question, row.job, row);
        if (question.largest_batch) row.largest = largest_batch(row);
    } catch (const Error& error) {
        const bool whole_question = candidate.alone && !candidate.quantized && error.kind() == ErrorKind::invalid;
        if (whole_question) throw;
        row.prediction.reset();
        row.refusal = error.problems().front().what;
        return row;
    }
    row.traffic = traffic_of(*row.prediction);
    row.host_bytes = host_bytes_of(*row.prediction);
    row.lacks_host_memory = question.host_memory && row.host_bytes > question.host_memory->count;
    row.operations = operations_of(*row.prediction);
    const auto sent = static_cast<double>(row.traffic.between_cards() + row.traffic.with_host);
    row.cost = (row.operations + question.operations_per_byte * sent) * idle_factor(*row.prediction);
    return row;
}

auto rank_of(const MethodRow& row) {
    const std::int64_t reserved = row.prediction ? row.prediction->peak.reserved : 0;
    return std::tuple(!row.prediction, !row.fits(), !row.is_tight(), row.quantized, row.traffic.with_host > 0, row.cost,
                      reserved);
}

}  // namespace

MethodsAnswer compare_methods(const MethodsQuestion& question) {
    std::vector<Candidate> candidates;
    for (const Candidate& candidate : method_candidates())
        if ((question.cards > 1 || candidate.alone) && (question.quantized || !candidate.quantized))
            candidates.push_back(candidate);
    MethodsAnswer answer;
    answer.rows.resize(candidates.size());
    for_each_index(candidates.size(), question.threads,
                   [&](std::size_t i) { answer.rows[i] = row_of(question, candidates[i]); });
    std::stable_sort(answer.rows.begin(), answer.rows.end(),
                     [](const MethodRow& a, const MethodRow& b) { return rank_of(a) < rank_of(b); });
    return answer;
}

}  // namespace vramfit
