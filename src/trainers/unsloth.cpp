// unsloth 2026.10.7: models/loader.py, models/loader_utils.py get_model_name, models/mapper.py.
#include "trainers/unsloth.hpp"

#include <algorithm>
#include <functional>
#include <utility>

#include <fmt/format.h>

#include "spec/unsloth_copies.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/spec/models.hpp"
#include "vramfit/spec/plan_check.hpp"
#include "vramfit/spec/suggest.hpp"

namespace vramfit::trainers {

namespace {

/// What the copy's config.json says, where it has been downloaded before: under the name of the mapper, or in lower
/// case as earlier releases asked for it.
std::optional<std::vector<std::string>> layers_in_cache(const DynamicCopy& copy, const std::string& asked,
                                                        const Environment& environment) {
    const std::string published = asked.substr(asked.rfind('/') + 1);
    const std::string suffixed =
        published.ends_with(kDynamicEnding) ? published : fmt::format("{}{}", published, kDynamicEnding);
    for (const std::string& name : {fmt::format("unsloth/{}", suffixed), copy.name}) {
        try {
            return load_model(name, environment).packed_but_for;
        } catch (const Error&) {  // it is not there, or of a network that is not read here
        }
    }
    return std::nullopt;
}

/// The plan of Unsloth's loop with the same choices: what transformers would need besides is left out.
TrainPlan own_plan(const TrainPlan& plan, const UnslothPlan& unsloth) {
    TrainPlan out = plan;
    out.loop.kind = LoopKind::unsloth;
    out.loop.input_require_grads = false;
    out.unsloth = unsloth;
    out.training.gradient_checkpointing = false;
    out.training.use_reentrant.reset();
    return out;
}

/// What the plan's check has against it; empty: nothing.
std::vector<std::string> problems_of(const Job& job, const TrainPlan& plan) {
    try {
        (void)check_plan(job.model, plan, job.stack);
        return {};
    } catch (const Error& error) {
        std::vector<std::string> out;
        for (const Problem& problem : error.problems()) out.push_back(problem.what);
        return out;
    }
}

std::string text_of(const std::vector<std::string>& reasons) {
    constexpr std::size_t kMost = 3;
    const auto end = reasons.begin() + static_cast<std::ptrdiff_t>(std::min(reasons.size(), kMost));
    return fmt::format("{}{}", fmt::join(reasons.begin(), end, "; "), reasons.size() > kMost ? "; ..." : "");
}

/// No bound is known of several processes.
void refuse_processes(const std::vector<std::string>& reasons, const TrainerQuestion& question, const Draft& draft,
                      Reading& reading) {
    const bool flag = question.gpus.has_value();
    reading.refusals.push_back({flag ? "--gpus" : draft.gpus_key, flag ? FilePlace{} : draft.gpus_place,
                                fmt::format("runs on {} GPUs are not predicted of what Unsloth does here: {}",
                                            draft.job.plan.distributed->world_size, text_of(reasons)),
                                "--gpus 1 asks about one GPU alone"});
}

/// Nor of what is trained whole, of which Unsloth may keep the original once more.
void refuse_saved(const std::vector<std::string>& reasons, Reading& reading) {
    reading.refusals.push_back(
        {"modules_to_save", FilePlace{},
         fmt::format("what is trained whole is not predicted of what Unsloth does here: {}", text_of(reasons)),
         "leave modules_to_save out to ask about the rest"});
}

void note_bound(const std::vector<std::string>& reasons, Reading& reading) {
    reading.notes.push_back(
        {RemarkKind::other_program,
         fmt::format("an upper bound: the run is predicted as transformers and peft do it, which need more than "
                     "Unsloth's own functions; those are not predicted here: {}",
                     text_of(reasons)),
         "a run that fits here fits there; one that does not may", true});
}

void note_unknown_layers(const std::string& copy, Reading& reading) {
    reading.notes.push_back(
        {RemarkKind::odd_value,
         fmt::format(
             "Unsloth loads {}, some of whose layers are in 16 bits; which is not known here: all are predicted "
             "in 4 bits, and the verdict holds from none to all of them",
             copy),
         fmt::format("hf download {} config.json, and --model-config FILE; or use_exact_model_name = True, which packs "
                     "all layers",
                     copy),
         false});
}

/// The longest rows of the data may meet in a batch, whose tokens are then fewer than if all were as long.
void take_lengths(const TrainerQuestion& question, TrainPlan& plan) {
    constexpr std::size_t kMostRows = 1024;  // of a batch
    if (question.lengths.empty() || !plan.unsloth.padding_free || plan.unsloth.packing) return;
    plan.batch.lengths = question.lengths;
    std::sort(plan.batch.lengths.begin(), plan.batch.lengths.end(), std::greater<>());
    if (plan.batch.lengths.size() > kMostRows) plan.batch.lengths.resize(kMostRows);
    for (std::int64_t& length : plan.batch.lengths) length = std::max<std::int64_t>(length, 2);
    plan.batch.longest_meet = true;
}

}  // namespace

void read_unsloth_checkpointing(const std::string& word, UnslothDraft& draft) {
    const std::string value = lower_case(word);
    if (value == "true")
        draft.plan.checkpointing = UnslothCheckpointing::plain;
    else if (value != "unsloth")
        draft.inexact.emplace_back("Unsloth without checkpointing is not supported");
}

void read_unsloth_checkpoint(const std::string& name, const Environment& environment, UnslothDraft& draft) {
    const std::string lower = lower_case(name);
    if (lower.find('/') == lower.npos) return;
    draft.plan.packed_checkpoint = true;
    std::optional<DynamicCopy> copy = dynamic_copy_of(lower);
    if (!copy) return;
    if (!copy->skip_modules) copy->skip_modules = layers_in_cache(*copy, name, environment);
    draft.plan.layers_unknown = !copy->skip_modules;
    draft.copy = copy->name;
    if (copy->skip_modules) draft.plan.skip_modules = std::move(*copy->skip_modules);
}

void settle_unsloth(const TrainerQuestion& question, Draft& draft, Reading& reading) {
    if (!draft.unsloth) return;
    UnslothDraft& unsloth = *draft.unsloth;
    std::vector<std::string> reasons = std::move(unsloth.inexact);
    if (!question.bound_because.empty()) reasons.push_back(question.bound_because);
    unsloth.plan.packing = draft.packed;
    if (draft.job.model.packed_but_for) {  // its config.json says it
        unsloth.plan.layers_unknown = false;
        unsloth.plan.skip_modules.clear();
    }
    const TrainPlan own = own_plan(draft.job.plan, unsloth.plan);
    for (std::string& problem : problems_of(draft.job, own)) reasons.push_back(std::move(problem));
    if (!reasons.empty() && draft.job.plan.distributed) return refuse_processes(reasons, question, draft, reading);
    const auto& adapters = draft.job.plan.peft;
    if (!reasons.empty() && adapters && !adapters->modules_to_save.empty()) return refuse_saved(reasons, reading);
    if (!reasons.empty()) return note_bound(reasons, reading);
    if (own.unsloth.layers_unknown) note_unknown_layers(unsloth.copy, reading);
    draft.job.plan = own;
    take_lengths(question, draft.job.plan);
}

}  // namespace vramfit::trainers
