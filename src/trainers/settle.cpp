// What follows from all files together: the length of rows, their mask, the number of cards.
#include "trainers/settle.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "vramfit/spec/plan_names.hpp"

namespace vramfit::trainers {

namespace {

void add_input(Reading& reading, const char* field, std::string value, InputSource source, std::string key,
               FilePlace place = {}) {
    reading.inputs.push_back({field, std::move(value), source, std::move(key), std::move(place)});
}

/// Rows that are filled up to the limit: the data decides nothing.
void settle_fixed_rows(const TrainerQuestion& question, const Draft& draft, Reading& reading) {
    RowLengths& rows = reading.rows;
    rows.fixed = true;
    rows.taken = rows.limit * draft.packed_rows;
    add_input(reading, "batch.sequence_length", std::to_string(rows.taken), InputSource::derived,
              draft.packed ? fmt::format("packed to {}{}", rows.limit_key,
                                         draft.packed_rows > 1 ? fmt::format(" x {}", draft.packed_rows) : "")
                           : fmt::format("padded to {}", rows.limit_key),
              rows.limit_place);
    if (question.seq || !question.lengths.empty())
        reading.notes.push_back(
            {RemarkKind::odd_value,
             fmt::format("sequences are filled up to {}: the lengths given change nothing", rows.limit_key),
             "leave --seq and --lengths out"});
}

/// Rows as long as the longest of the data, at most the limit.
void settle_data_rows(const TrainerQuestion& question, const Draft& draft, Reading& reading, Problems& problems) {
    RowLengths& rows = reading.rows;
    std::int64_t longest = question.seq.value_or(0);
    const char* flag = "--seq";
    if (!question.lengths.empty()) {
        flag = "--lengths";
        longest = *std::max_element(question.lengths.begin(), question.lengths.end());
        if (rows.limit > 0)
            rows.rows_cut = std::count_if(question.lengths.begin(), question.lengths.end(),
                                          [&](std::int64_t length) { return length > rows.limit; });
    }
    rows.longest = longest;
    if (longest == 0 && rows.limit == 0) {
        problems.invalid(
            rows.limit_key.empty() ? "--seq" : fmt::format("{} {}", text_of(rows.limit_place), rows.limit_key),
            "no file says how long sequences are: the data decides",
            "give the tokens of the longest sequence with --seq N, or all of them with --lengths FILE");
        return;
    }
    const bool cut = rows.limit > 0 && (longest == 0 || longest > rows.limit);
    rows.taken = cut ? rows.limit : longest;
    rows.taken = (rows.taken + draft.pad_multiple - 1) / draft.pad_multiple * draft.pad_multiple;
    if (!cut) return add_input(reading, "batch.sequence_length", std::to_string(rows.taken), InputSource::flag, flag);
    add_input(reading, "batch.sequence_length", std::to_string(rows.taken), InputSource::derived,
              fmt::format("{}, the longest that sequences can be", rows.limit_key), rows.limit_place);
    if (longest == 0)
        reading.notes.push_back({RemarkKind::assumed_length,
                                 fmt::format("the data decides how long sequences are: {} tokens are assumed, the most "
                                             "that {} allows",
                                             rows.taken, rows.limit_key),
                                 "give --seq N or --lengths FILE"});
}

/// What stands beside rows that are not packed.
AttentionMask mask_of_rows(const Draft& draft, const TrainPlan& plan, std::int64_t rows) {
    const bool flash = plan.load.attention == AttentionImplementation::flash_attention_2;
    const bool alone = plan.loop.kind == LoopKind::sft && rows == 1;  // trl's collator cuts a row that stands alone
    const bool mask = (rows > 1 || draft.padded_to_limit) && !flash && !alone && !draft.no_padding_mask;
    return mask ? AttentionMask::right_padded : AttentionMask::ones;
}

/// GKD: rows differ in length, and prompts are as long as is said, or as rows allow.
void settle_distilled_rows(const TrainerQuestion& question, TrainPlan& plan, Reading& reading) {
    plan.batch.pairs = {};
    plan.batch.pairs.padded = true;
    const char* const prompts = question.prompt ? "" : ", and prompts are as long as they allow";
    add_input(reading, "batch.padded", "true", InputSource::derived,
              fmt::format("sequences differ in length{}", prompts));
    if (!question.prompt) return;
    plan.batch.pairs.prompt = {std::max<std::int64_t>(*question.prompt, 1)};
    add_input(reading, "batch.prompt_length", std::to_string(*question.prompt), InputSource::flag, "--prompt");
}

/// Pairs whose prompts are as short as can be, since only completions are scored, and whose rows differ in length: a
/// token, which is enough for trl's collator to pad. Of KTO, whose rows stand alone, all are padded.
void settle_pairs(const Draft& draft, TrainPlan& plan, Reading& reading) {
    const bool flash = plan.load.attention == AttentionImplementation::flash_attention_2;
    const bool pairs = has_pairs(plan.loop.kind);
    const bool several = pairs || plan.training.per_device_train_batch_size > 1;
    const bool padded = !flash && several && plan.batch.sequence_length > 2;
    const std::int64_t shorter = padded ? 1 : 0;
    plan.batch.pairs = {.prompt = {1}, .chosen_shorter = {0}, .rejected_shorter = {0}, .desirable = {}};
    (pairs ? plan.batch.pairs.rejected_shorter : plan.batch.pairs.chosen_shorter) = {shorter};
    add_input(reading, "batch.prompt_length", "1", InputSource::derived,
              "prompts are not scored: the shorter they are, the more memory the rest needs");
    add_input(reading, pairs ? "batch.rejected_length" : "batch.completion_length",
              std::to_string(plan.batch.sequence_length - 1 - shorter), InputSource::derived,
              padded ? "sequences differ in length" : "flash attention, sequences of full length");
    for (ReadingNote& note : reading.notes)
        if (note.kind == RemarkKind::assumed_length)
            note.text += fmt::format(", nearly all of them completion ({})", draft.length_key);
}

/// Tokens of the longest prompt, which the data decides; 0: nothing says it.
std::int64_t longest_prompt(const TrainerQuestion& question, const GroupRowsDraft& group, Reading& reading,
                            Problems& problems) {
    const auto given = [&](std::int64_t tokens, const char* flag) {
        add_input(reading, "batch.prompt_length", std::to_string(tokens), InputSource::flag, flag);
        return tokens;
    };
    if (question.prompt && *question.prompt < 1) problems.invalid("--prompt", "a number of tokens is wanted", "512");
    if (question.prompt) return given(std::max<std::int64_t>(*question.prompt, 1), "--prompt");
    if (!question.lengths.empty())
        return given(*std::max_element(question.lengths.begin(), question.lengths.end()), "--lengths");
    if (question.seq) {
        const std::int64_t left = *question.seq - group.completion;
        if (left < 1)
            problems.invalid("--seq",
                             fmt::format("rows of {} tokens have no prompt beside completions of {}", *question.seq,
                                         group.completion),
                             "--prompt N, the tokens of the longest prompt");
        return given(std::max<std::int64_t>(left, 1), "--seq");
    }
    if (group.prompt) {
        reading.notes.push_back({RemarkKind::assumed_length,
                                 fmt::format("the data decides how long prompts are: {} tokens are assumed, as {} "
                                             "says",
                                             *group.prompt, group.prompt_key),
                                 "give --prompt N, the tokens of the longest prompt, or --lengths FILE"});
        return *group.prompt;
    }
    problems.invalid("--prompt", "no file says how long prompts are: the data decides",
                     "give the tokens of the longest prompt with --prompt N, or those of all prompts with --lengths "
                     "FILE");
    return 0;
}

/// Rows that are generated: all completions as long as they can be, but for what makes trl pad.
void settle_group(const TrainerQuestion& question, const Draft& draft, TrainPlan& plan, Reading& reading,
                  Problems& problems) {
    const GroupRowsDraft& group = *draft.group;
    const std::int64_t prompt = longest_prompt(question, group, reading, problems);
    RowLengths& rows = reading.rows;
    rows.fixed = true;  // lengths that are given are those of prompts
    rows.taken = prompt + group.completion;
    plan.batch.sequence_length = rows.taken;
    plan.batch.pairs = {.prompt = {std::max<std::int64_t>(prompt, 1)}, .desirable = {}, .padded = true};
    if (prompt == 0) return;
    add_input(reading, "batch.padded", "true", InputSource::derived, "rows differ in length");
}

/// Rows of different lengths are padded to the right; the mask that says so stands beside them.
void settle_mask(const Draft& draft, TrainPlan& plan, Reading& reading) {
    const bool flash = plan.load.attention == AttentionImplementation::flash_attention_2;
    const bool several = plan.training.per_device_train_batch_size > 1;
    const bool padded = draft.packed ? draft.packing_needs_mask : several || draft.padded_to_limit;
    const bool alone = plan.loop.kind == LoopKind::sft && !several;  // trl's collator cuts a row that stands alone
    const bool mask = padded && !flash && !alone && !draft.no_padding_mask;
    plan.batch.attention_mask = mask ? AttentionMask::right_padded : AttentionMask::ones;
    const char* why = mask ? (draft.packed ? "parts of packed sequences are kept apart" : "sequences differ in length")
                      : flash        ? "flash attention, sequences of full length"
                      : draft.packed ? "packed sequences"
                                     : "one sequence";
    add_input(reading, "batch.attention_mask", std::string(name_of(plan.batch.attention_mask)), InputSource::derived,
              why);
}

/// How the rows of evaluation are put together; those of preferences are as in training.
void settle_evaluated_rows(const Draft& draft, const TrainPlan& plan, const Reading& reading,
                           EvaluationPlan& evaluation) {
    const AskedEvaluation& asked = *draft.evaluation;
    const bool packed = draft.packed && asked.packed;
    if (packed && draft.one_row) {
        evaluation.per_device_eval_batch_size = 1;
        evaluation.sequence_length = reading.rows.limit * asked.rows;
    } else if (draft.packed_rows > 1) {
        evaluation.sequence_length = reading.rows.limit;
    }
    const AttentionMask mask = packed ? plan.batch.attention_mask : mask_of_rows(draft, plan, asked.rows);
    if (mask != plan.batch.attention_mask) evaluation.attention_mask = mask;
}

/// Rows of evaluation are as long as those of training can be. Of a model that is divided, and of preferences on
/// several GPUs or by LLaMA-Factory, only a batch of no more rows is judged: it needs at most what a training step
/// needs.
void settle_evaluation(const Draft& draft, TrainPlan& plan, Reading& reading) {
    if (!draft.evaluation) return;
    const AskedEvaluation& asked = *draft.evaluation;
    const bool divided = plan.distributed && !plan.distributed->as<DdpPlan>();
    const bool own = by_own_trainer(plan);
    if (divided || own || (plan.distributed && is_preference(plan.loop.kind))) {
        if (asked.rows <= asked.train_rows) return;
        reading.refusals.push_back(
            {asked.key, asked.place,
             fmt::format("evaluation with {} rows, training with {}: of {} only evaluation with at most as "
                         "many rows is judged, which needs no more than training",
                         asked.rows, asked.train_rows,
                         divided                  ? "a divided model"
                         : by_llama_factory(plan) ? "LLaMA-Factory's preferences"
                         : own                    ? "ms-swift's preferences"
                                                  : "preferences on several GPUs"),
             fmt::format("set {} to {}, or leave evaluation out of the answer: --assume-off {}", asked.key,
                         asked.train_rows, asked.key)});
        return;
    }
    EvaluationPlan& evaluation = plan.evaluation.emplace();
    evaluation.every = 1;
    evaluation.per_device_eval_batch_size = asked.rows;
    if (asked.accumulation) {
        evaluation.accumulation = asked.accumulation;
        evaluation.batches = *asked.accumulation + 1;
    }
    if (!is_preference(plan.loop.kind)) settle_evaluated_rows(draft, plan, reading, evaluation);
    add_input(reading, "evaluation", fmt::format("{} rows", asked.rows), InputSource::derived,
              fmt::format("{}, after each step", asked.key), asked.place);
}

/// DeepSpeed and FSDP divide the model; what they do with one process is another run than one without them.
void judge_one_card(const Draft& draft, const std::string& key, bool known, Reading& reading, Problems& problems) {
    if (!draft.processes || draft.processes->as<DdpPlan>()) return;
    const char* name = draft.processes->as<ZeroPlan>() ? "DeepSpeed" : "FSDP";
    if (known)
        reading.refusals.push_back({key, draft.gpus_key == key ? draft.gpus_place : FilePlace{},
                                    fmt::format("{} with one GPU is not predicted", name),
                                    "two GPUs or more, or a run without it"});
    else
        problems.invalid("--gpus", fmt::format("no file says how many GPUs {} divides the model between", name),
                         "give --gpus N, or the file of accelerate config as well");
}

/// FSDP1's hybrid strategies cut over the cards of a machine, of which each has as many.
void settle_nodes(Draft& draft, Reading& reading) {
    DistributedPlan& processes = *draft.job.plan.distributed;
    const Fsdp1Plan* const fsdp = processes.as<Fsdp1Plan>();
    if (!fsdp || !is_hybrid(fsdp->sharding_strategy) || draft.machines == 1) return;
    if (processes.world_size % draft.machines == 0)
        processes.local_world_size = processes.world_size / draft.machines;
    else
        reading.refusals.push_back({draft.gpus_key, draft.gpus_place,
                                    fmt::format("{} processes on {} machines: torch expects as many on each",
                                                processes.world_size, draft.machines),
                                    fmt::format("a multiple of {}", draft.machines)});
}

/// A quantized network is whole when ZeRO-3 gets it, so that what a trainer does to it before then takes memory.
void judge_quantized_zero3(const Draft& draft, const std::string& key, Reading& reading) {
    const ZeroPlan* const zero = draft.processes->as<ZeroPlan>();
    const auto& load = draft.job.plan.load;
    if (!zero || zero->stage != 3 || !load.quantization) return;
    const bool is_int8 = load.quantization->method == QuantMethod::int8;
    if (load.upcast)
        reading.refusals.push_back({key, draft.gpus_place,
                                    "what this trainer casts between loading a quantized network and ZeRO-3 is not "
                                    "predicted",
                                    "ZeRO-2, or a base that is not quantized"});
    else if (is_int8 && draft.no_int8_in_zero3)
        reading.refusals.push_back({key, draft.gpus_place, draft.no_int8_in_zero3, "4 bits, or ZeRO-2"});
}

/// accelerate 1.15.0 parallelism_config.py _validate_accelerator.
void settle_mesh(const TrainerQuestion& question, Draft& draft, Problems& problems) {
    if (!draft.mesh_size) return;
    if (!draft.gpus) {
        draft.gpus = draft.mesh_size;
        draft.gpus_key = draft.mesh_key;
        draft.gpus_place = draft.mesh_place;
    }
    const std::int64_t gpus = question.gpus.value_or(*draft.gpus);
    if (gpus == *draft.mesh_size) return;
    const std::string where =
        question.gpus ? "--gpus" : fmt::format("{} {}", text_of(draft.mesh_place), draft.mesh_key);
    problems.invalid(
        where,
        fmt::format("accelerate stops: total_size ({}) does not match num_processes ({})", *draft.mesh_size, gpus),
        fmt::format("{} GPUs, or sizes whose product is {}", *draft.mesh_size, gpus));
}

void settle_gpus(const TrainerQuestion& question, Draft& draft, Reading& reading, Problems& problems) {
    settle_mesh(question, draft, problems);
    const std::int64_t gpus = question.gpus.value_or(draft.gpus.value_or(1));
    const bool flag = question.gpus.has_value();
    const InputSource source = flag ? InputSource::flag : draft.gpus ? InputSource::file : InputSource::trainer_default;
    const std::string key = flag ? "--gpus" : draft.gpus_key;
    add_input(reading, "gpus", std::to_string(gpus), source, key, flag ? FilePlace{} : draft.gpus_place);
    if (gpus == 1) judge_one_card(draft, key, flag || draft.gpus, reading, problems);
    if (gpus > 1 && draft.processes) {
        draft.job.plan.distributed = draft.processes;
        draft.job.plan.distributed->world_size = gpus;
        settle_nodes(draft, reading);
        judge_quantized_zero3(draft, key, reading);
        // What axolotl casts there and back has been cut by zero.Init before, and holds nothing.
        if (is_zero3(draft.job.plan)) draft.job.plan.load.upcast.reset();
    } else if (gpus > 1) {
        reading.refusals.push_back({key, flag ? FilePlace{} : draft.gpus_place,
                                    fmt::format("runs on {} GPUs are not predicted yet", gpus),
                                    "--gpus 1 asks about one GPU alone"});
    }
    if (!flag && !draft.gpus)
        reading.notes.push_back({RemarkKind::assumed_gpus, "no file says how many GPUs the run has: 1 is assumed",
                                 "give --gpus N, or the file of accelerate config as well"});
}

// ms-swift 3.8 to 4.5, trainers/mixin.py _fix_gradient_checkpointing; before, reentrant ones in any case.
void settle_checkpoints(const Draft& draft, TrainPlan& plan, Reading& reading) {
    TrainingPlan& training = plan.training;
    if (!draft.reentrant_unless_ddp || !training.gradient_checkpointing || training.use_reentrant) return;
    training.use_reentrant = !(plan.distributed && plan.distributed->as<DdpPlan>());
    add_input(reading, "training.use_reentrant", *training.use_reentrant ? "true" : "false",
              InputSource::trainer_default, "gradient_checkpointing_kwargs.use_reentrant");
}

}  // namespace

void settle(const TrainerQuestion& question, Draft& draft, Reading& reading, Problems& problems) {
    RowLengths& rows = reading.rows;
    rows.limit = draft.length_limit;
    rows.limit_key = draft.length_key;
    rows.limit_place = draft.length_place;
    rows.multiple = draft.pad_multiple;
    TrainPlan& plan = draft.job.plan;
    if (draft.group)
        settle_group(question, draft, plan, reading, problems);
    else if (rows.limit > 0 && (draft.packed || draft.padded_to_limit))
        settle_fixed_rows(question, draft, reading);
    else
        settle_data_rows(question, draft, reading, problems);
    if (!draft.group) plan.batch.sequence_length = std::max<std::int64_t>(rows.taken, 1);
    const bool distills = plan.loop.kind == LoopKind::gkd;
    if (question.prompt && !draft.group && !distills)
        problems.invalid("--prompt", "only training that generates completions has prompts of their own",
                         "--seq or --lengths");
    if (draft.group)
        plan.evaluation.reset();
    else if (distills)
        settle_distilled_rows(question, plan, reading);
    else if (is_preference(plan.loop.kind))
        settle_pairs(draft, plan, reading);
    else
        settle_mask(draft, plan, reading);
    settle_gpus(question, draft, reading, problems);
    settle_checkpoints(draft, plan, reading);
    settle_evaluation(draft, plan, reading);
}

}  // namespace vramfit::trainers
