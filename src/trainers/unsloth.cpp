// unsloth 2026.10.7: models/loader.py, models/loader_utils.py get_model_name, models/mapper.py.
#include "trainers/unsloth.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "vramfit/base/error.hpp"
#include "vramfit/spec/plan_check.hpp"
#include "vramfit/spec/suggest.hpp"

namespace vramfit::trainers {

namespace {

constexpr std::string_view kPacked = "-bnb-4bit";
constexpr std::string_view kDynamic = "-unsloth-bnb-4bit";

/// Names, behind that of whoever published them, of which mapper.py takes a copy with some layers in 16 bits; of the
/// families whose step is predicted.
constexpr std::string_view kDynamicCopies[] = {"meta-llama-3.1-8b",
                                               "meta-llama-3.1-8b-instruct",
                                               "llama-3.1-8b",
                                               "llama-3.1-8b-instruct",
                                               "llama-3.2-1b",
                                               "llama-3.2-1b-instruct",
                                               "llama-3.2-3b",
                                               "llama-3.2-3b-instruct",
                                               "llama-3.3-70b-instruct",
                                               "qwen2.5-0.5b",
                                               "qwen2.5-0.5b-instruct",
                                               "qwen2.5-1.5b",
                                               "qwen2.5-1.5b-instruct",
                                               "qwen2.5-3b",
                                               "qwen2.5-3b-instruct",
                                               "qwen2.5-7b",
                                               "qwen2.5-7b-instruct",
                                               "qwen2.5-14b",
                                               "qwen2.5-14b-instruct",
                                               "deepseek-r1-distill-qwen-1.5b",
                                               "deepseek-r1-distill-qwen-7b",
                                               "deepseek-r1-distill-qwen-14b",
                                               "deepseek-r1-distill-llama-8b",
                                               "qwq-32b",
                                               "mistral-small-24b-base-2501",
                                               "mistral-small-24b-instruct-2501",
                                               "devstral-small-2505",
                                               "devstral-small-2507",
                                               "magistral-small-2506",
                                               "magistral-small-2507",
                                               "magistral-small-2509",
                                               "phi-4",
                                               "phi-4-reasoning",
                                               "phi-4-reasoning-plus"};

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

void note_bound(const std::vector<std::string>& reasons, Reading& reading) {
    reading.notes.push_back(
        {RemarkKind::other_program,
         fmt::format("an upper bound: the run is predicted as transformers and peft do it, which need more than "
                     "Unsloth's own functions; those are not predicted here: {}",
                     text_of(reasons)),
         "a run that fits here fits there; one that does not may", true});
}

}  // namespace

void read_unsloth_checkpointing(const std::string& word, UnslothDraft& draft) {
    const std::string value = lower_case(word);
    if (value == "true")
        draft.plan.checkpointing = UnslothCheckpointing::plain;
    else if (value != "unsloth")
        draft.inexact.emplace_back("Unsloth without checkpointing is not supported");
}

// docs.unsloth.ai, "What model should I use": names that end in unsloth-bnb-4bit are dynamic 4-bit quants, those that
// end in bnb-4bit alone are bitsandbytes' own.
std::string unpacked_name(const std::string& name) {
    const std::string lower = lower_case(name);
    if (!lower.starts_with("unsloth/") || !lower.ends_with(kPacked) || lower.ends_with(kDynamic)) return name;
    return name.substr(0, name.size() - kPacked.size());
}

void read_unsloth_checkpoint(const std::string& name, UnslothDraft& draft) {
    const std::string lower = lower_case(name);
    if (lower.find('/') == lower.npos) return;
    draft.plan.packed_checkpoint = true;
    if (lower.ends_with(kPacked) && !lower.ends_with(kDynamic)) return;
    const std::string_view published = std::string_view(lower).substr(lower.rfind('/') + 1);
    const bool dynamic = lower.ends_with(kDynamic) || std::find(std::begin(kDynamicCopies), std::end(kDynamicCopies),
                                                                published) != std::end(kDynamicCopies);
    if (dynamic)
        draft.inexact.push_back(
            fmt::format("Unsloth loads its own copy of {} in 4 bits, some of whose layers stay in 16 bits (not so with "
                        "use_exact_model_name = True, or by a name that ends in {} alone)",
                        name, kPacked));
}

void settle_unsloth(const TrainerQuestion& question, Draft& draft, Reading& reading) {
    if (!draft.unsloth) return;
    UnslothDraft& unsloth = *draft.unsloth;
    std::vector<std::string> reasons = std::move(unsloth.inexact);
    if (!question.bound_because.empty()) reasons.push_back(question.bound_because);
    if (draft.packed) reasons.emplace_back("packing is not supported with Unsloth's step");
    const TrainPlan own = own_plan(draft.job.plan, unsloth.plan);
    for (std::string& problem : problems_of(draft.job, own)) reasons.push_back(std::move(problem));
    if (!reasons.empty()) return note_bound(reasons, reading);
    draft.job.plan = own;
}

}  // namespace vramfit::trainers
