// Job files: the outermost keys.
#include "vramfit/spec/job.hpp"

#include <string_view>

#include <fmt/format.h>

#include "spec/adapters/read.hpp"
#include "spec/config_read.hpp"
#include "spec/job_read.hpp"
#include "spec/json_parse.hpp"
#include "spec/own_trainers.hpp"
#include "vramfit/spec/config.hpp"
#include "vramfit/spec/models.hpp"
#include "vramfit/spec/pair_rows.hpp"
#include "vramfit/spec/plan_names.hpp"
#include "vramfit/spec/stacks.hpp"

namespace vramfit {

namespace {

void read_schema(ObjectReader& job) {
    const std::string hint = fmt::format("write \"schema\": \"{}\"", kJobSchema);
    if (!job.has("schema")) return job.problems().invalid(job.path("schema"), "the key is missing", hint);
    const auto schema = job.text("schema");
    if (schema && *schema != kJobSchema) {
        job.problems().invalid(job.path("schema"), fmt::format("unknown schema '{}'", *schema), hint);
    }
}

}  // namespace

// A model by its name has problems of other files (its config.json); they keep their own places.
void read_model_key(ObjectReader& job, const Environment& environment, ModelSpec& model) {
    const JsonValue* value = job.value("model");
    if (!value)
        return job.problems().invalid(job.path("model"), "the key is missing",
                                      "give the content of a config.json, or a model's name or path");
    try {
        if (value->kind == JsonValue::Kind::text) {
            model = load_model(value->text, environment, job.problems().place(job.path("model")));
        } else if (auto read = read_model(*value, job.path("model"), job.problems())) {
            model = std::move(*read);
            if (const JsonValue* name = value->find("_name_or_path"); name && name->kind == JsonValue::Kind::text) {
                model.name = name->text;
            }
        }
    } catch (const Error& error) {
        job.problems().add(error);
    }
}

namespace {

StackChoice read_stack(ObjectReader& job) {
    const std::string where = job.problems().place(job.path("stack"));
    const JsonValue* value = job.value("stack");
    try {
        if (!value) return stack_from("", where);
        if (value->kind == JsonValue::Kind::text) return stack_from(value->text, where);
        ObjectReader versions(*value, job.path("stack"), job.problems());
        std::vector<LibraryVersion> list;
        for (std::size_t i = 0; i < versions.whole().keys.size(); ++i) {
            const JsonValue& version = versions.whole().items[i];
            const std::string& library = versions.whole().keys[i];
            if (version.kind == JsonValue::Kind::text)
                list.emplace_back(library, version.text);
            else
                job.problems().invalid(versions.path(library),
                                       fmt::format("a version is wanted, not {}", version.shown()),
                                       "write it as a text: \"2.6.0\"");
        }
        return stack_from_versions(list, where);
    } catch (const Error& error) {
        job.problems().add(error);
    }
    return {named_stacks().back(), {}};
}

// Where a trainer of preferences is not told what its rows are, it has the tracer's.
void read_rows(ObjectReader& job, TrainPlan& plan) {
    auto batch = job.object("batch");
    if (batch && plan.loop.kind == LoopKind::unsloth) read_unsloth_rows(*batch, plan.batch);
    if (!is_preference(plan.loop.kind)) {
        if (batch) read_batch(std::move(*batch), plan.batch);
        return;
    }
    if (batch && plan.loop.kind == LoopKind::gkd)
        plan.distillation.generated =
            batch->integer("generated_length", {.low = 1, .high = std::int64_t{1} << 31}, Null::absent);
    const JsonValue nothing = JsonValue::object();
    if (has_value_model(plan.loop.kind))
        return read_ppo_rows(batch ? std::move(*batch) : ObjectReader(nothing, job.path("batch"), job.problems()),
                             plan);
    read_pairs(batch ? std::move(*batch) : ObjectReader(nothing, job.path("batch"), job.problems()), plan.loop.kind,
               plan.batch);
    if (!by_llama_factory(plan)) return;
    pad_rows(plan.batch, kFactoryMultiple);
    plan.training.use_reentrant = plan.training.use_reentrant.value_or(true);  // use_reentrant_gc
}

void read_maker(ObjectReader& trl, TrainPlan& plan) {
    ObjectReader::set(plan.preference.maker, trl.choice<TrainerMaker>("trainer", kTrainerMakerNames));
    ObjectReader::set(plan.preference.reference_source,
                      trl.choice<ReferenceSource>("ref_model", kReferenceSourceNames));
    const std::string_view title = title_of_own(plan.preference.maker);
    if (title.empty()) return;
    if (trl.has("peft_config") && plan.trl_makes_adapters)
        trl.problems().invalid(trl.path("peft_config"), fmt::format("{} makes the adapters before its trainer", title),
                               "false");
    plan.trl_makes_adapters = false;
}

void read_plan(ObjectReader& job, const Environment& environment, const ModelSpec& model, TrainPlan& plan) {
    ObjectReader::set(plan.name, job.text("name"));
    if (auto load = job.object("load")) read_load(*load, plan.load);
    if (auto prepare = job.object("prepare_kbit", Null::absent)) plan.prepare_kbit = read_prepare(std::move(*prepare));
    if (auto peft = job.object("peft", Null::absent)) plan.peft = read_lora(std::move(*peft));
    std::optional<bool> made_by_trl;
    if (auto trl = job.object("trl")) {
        ObjectReader::set(plan.trl_casting_to_bf16, trl->boolean("peft_module_casting_to_bf16"));
        made_by_trl = trl->boolean("peft_config");
        ObjectReader::set(plan.trl_makes_adapters, made_by_trl);
        read_maker(*trl, plan);
        trl->refuse_unknown();
    }
    auto loop = job.object("loop");
    if (loop) read_loop(*loop, plan.loop);
    plan.sft_makes_adapters = plan.loop.kind == LoopKind::sft && made_by_trl.value_or(false);
    if (plan.loop.kind == LoopKind::sft) plan.trl_makes_adapters = true;
    if (auto training = job.object("training")) {
        plan.distributed = read_training_deepspeed(*training);
        plan.evaluation = read_training_evaluation(*training);
        read_training(*training, plan.loop.kind, plan.training);
        if (is_preference(plan.loop.kind)) read_preference(*training, plan.loop.kind, plan.training, plan.preference);
        if (plan.loop.kind == LoopKind::gkd) read_gkd(*training, plan.distillation);
        if (plan.loop.kind == LoopKind::unsloth) read_unsloth_training(*training, plan.unsloth);
        training->refuse_unknown();
    }
    if (loop) {
        read_seconds(*loop, environment, plan);  // behind `training`, which sets what trl's configs have
        loop->refuse_unknown();
    }
    read_rows(job, plan);
    if (plan.loop.kind == LoopKind::unsloth) read_unsloth(job, plan);
    if (auto evaluation = job.object("evaluation", Null::absent))
        read_evaluation(std::move(*evaluation), plan.evaluation);
    if (auto distributed = job.object("distributed", Null::absent)) {
        if (plan.distributed)
            job.problems().invalid("training.deepspeed", "stands beside `distributed`", "distributed.deepspeed");
        plan.distributed = read_distributed(std::move(*distributed), decoder_layer_class(model));
    }
}

/// GRPOConfig and RLOOConfig, where they are not told how long completions may be.
void settle_completions(Job& job) {
    auto& limit = job.plan.preference.grpo.max_completion_length;
    if (generates_rows(job.plan.loop.kind) && !by_ms_swift(job.plan) && limit)
        limit = job.stack.group_completion_tokens();
}

}  // namespace

Job read_job(std::string_view text, std::string_view file, const Environment& environment) {
    Problems problems(file);
    const JsonValue value = parse_json(text, problems);
    problems.throw_if_any();
    ObjectReader reader(value, "", problems);
    problems.throw_if_any();

    Job job;
    read_schema(reader);
    read_model_key(reader, environment, job.model);
    StackChoice stack = read_stack(reader);
    job.stack = std::move(stack.stack);
    job.notes = std::move(stack.notes);
    read_plan(reader, environment, job.model, job.plan);
    const JsonValue* training = value.find("training");
    if (!training || !training->find("max_completion_length")) settle_completions(job);
    if (reader.problems().none()) job.model = under_release(as_loaded(job.model, job.plan.load.text_part), job.stack);
    job.device = read_device(reader, job.plan.load);
    reader.refuse_unknown();
    problems.throw_if_any();
    if (job.plan.peft) {
        const JsonValue* targets = value.find("peft")->find("target_modules");
        if (!targets || targets->kind == JsonValue::Kind::null)
            job.plan.peft->target_modules = default_targets(job.model, job.plan.peft->kind);
    }
    if (job.model.name.empty()) job.model.name = job.plan.name.empty() ? std::string(file) : job.plan.name;
    return job;
}

}  // namespace vramfit
