// From flags to questions: one for each combination of lists, with the space of its axes.
#include "cli/sweep/questions.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cli/flags/axes.hpp"
#include "cli/recipes.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/spec/devices.hpp"
#include "vramfit/spec/lengths.hpp"

namespace vramfit::cli {

namespace {

constexpr PlanAxis kAxes[] = {
    {"rank", "Ranks: 8,16,32 or 8..256:x2 [1..128:x2]"},
    {"batch", "Batch sizes [1..8:x2, doubled on while anything fits]"},
    {"seq", "Sequence lengths: 512..4096:+512 [16..512:x2, doubled on while anything fits]"},
    {"targets",
     "Sets of target modules: attention,attention+mlp,q_proj+v_proj [all sets of embedding, attention, mlp]"},
};

bool is_axis(const std::string& name) {
    return std::any_of(std::begin(kAxes), std::end(kAxes), [&](const PlanAxis& axis) { return name == axis.name; });
}

/// What is said about the axis: by the combination, or by a flag.
std::optional<std::string> axis_text(const PlanFlags& flags, const SweepAsked& asked, const Chosen& chosen,
                                     const char* name) {
    if (const auto own = chosen.find(name); own != chosen.end()) return own->second;
    if (const auto own = asked.axes.find(name); own != asked.axes.end()) return own->second;
    return flags.axis(name);
}

/// The recipe of the combination, or nullptr.
const Recipe* recipe_of(const PlanFlags& flags, const SweepAsked& asked, const Chosen& chosen) {
    const auto name = axis_text(flags, asked, chosen, "recipe");
    return name ? &recipe_from(*name, "--recipe") : nullptr;
}

/// Whether the rows of preferences say how long they are.
bool has_completions(const PlanFlags& flags, const Chosen& chosen) {
    const auto is_given = [&](const char* name) { return flags.given(name) || chosen.contains(name); };
    return is_given("completion") || is_given("rejected");
}

/// The axes as given; else those of the recipe's adapters; else the paper's.
SweepSpace space_from(const PlanFlags& flags, const SweepAsked& asked, const Chosen& chosen, const Job& job) {
    const auto ranks = axis_text(flags, asked, chosen, "rank"), batches = axis_text(flags, asked, chosen, "batch"),
               lengths = axis_text(flags, asked, chosen, "seq"), targets = axis_text(flags, asked, chosen, "targets");
    const Recipe* recipe = recipe_of(flags, asked, chosen);
    if (!job.plan.batch.lengths.empty())
        throw Error(ErrorKind::unsupported, flags.given("row-lengths") ? "--row-lengths" : "batch.lengths",
                    "a sweep of rows of given lengths is not supported",
                    "leave them out: a sweep takes all rows of a batch as long as the longest");
    SweepSpace space = paper_space(job.model);
    if (batches) space.batches = axis_from(*batches, "--batch");
    if (lengths && has_completions(flags, chosen))
        throw Error(ErrorKind::invalid, "--seq", "--completion and --rejected say how long rows are",
                    "give --prompt with one of them");
    if (lengths) space.lengths = axis_from(*lengths, "--seq");
    if (has_completions(flags, chosen)) space.lengths = {job.plan.batch.sequence_length};
    // Where lengths share nothing, rows are run one by one: only what is listed.
    if (lengths_are_apart(job.model, job.plan)) {
        if (!batches) space.batches = {job.plan.training.per_device_train_batch_size};
        if (!lengths) space.lengths = {job.plan.batch.sequence_length};
    }
    if (!job.plan.peft) {
        space.ranks = {1};
        space.targets = {{"all weights", {}}};
        return space;
    }
    // What get_peft_model takes where nothing is said.
    if (job.plan.loop.kind == LoopKind::unsloth) space.targets = {{"all-linear", {}}};
    if (may_generate(job.plan.loop.kind)) {
        const auto* names = std::get_if<std::vector<std::string>>(&job.plan.peft->target_modules);
        space.targets = {names ? TargetSet{fmt::format("{}", fmt::join(*names, "+")), *names}
                               : TargetSet{"all-linear", {}}};
        space.ranks = {job.plan.peft->r};
    }
    const AdapterKindFacts& adapters = facts_of(job.plan.peft->kind);
    if (adapters.kind != AdapterKind::lora) {  // its own targets and rank, but for what is listed
        const auto* names = std::get_if<std::vector<std::string>>(&job.plan.peft->target_modules);
        space.targets = {names ? TargetSet{fmt::format("{}", fmt::join(*names, "+")), *names}
                               : TargetSet{std::get<std::string>(job.plan.peft->target_modules), {}}};
        space.ranks = {job.plan.peft->r};
    }
    if (!wraps_modules(adapters))
        space.targets = {{adapters.is_prompt                              ? "virtual tokens"
                          : adapters.kind == AdapterKind::adaption_prompt ? "attention"
                                                                          : "rows of the embedding",
                          {}}};
    if (targets && !wraps_modules(adapters))
        throw Error(ErrorKind::invalid, "--targets", fmt::format("{} wraps no module", adapters.title), "leave it out");
    if (ranks && !adapters.has_rank())
        throw Error(ErrorKind::invalid, "--rank", fmt::format("{} has no rank", adapters.title), "leave it out");
    if (recipe && sets(*recipe, "rank")) space.ranks = {job.plan.peft->r};
    if (recipe && sets(*recipe, "targets")) space.targets = {{std::string(value_of(*recipe, "targets")), {}}};
    if (ranks) space.ranks = axis_from(*ranks, "--rank");
    if (targets) space.targets = target_sets_from(*targets, job.model, "--targets");
    return space;
}

/// The axes that nobody gave go on upwards, unless the recipe is the paper's space.
WidenedAxes widening(const PlanFlags& flags, const SweepAsked& asked, const Chosen& chosen, const Job& job) {
    const Recipe* recipe = recipe_of(flags, asked, chosen);
    if (!asked.widen || (recipe && recipe->paper_space) || lengths_are_apart(job.model, job.plan)) return {};
    const bool has_length = axis_text(flags, asked, chosen, "seq") || has_completions(flags, chosen);
    return {.length = !has_length, .batch = !axis_text(flags, asked, chosen, "batch")};
}

/// Axes of adapters need adapters somewhere.
void refuse_idle_axes(const PlanFlags& flags, const SweepAsked& asked, const std::vector<SweepQuestion>& questions) {
    for (const SweepQuestion& q : questions)
        if (q.base.peft) return;
    for (const char* axis : {"rank", "targets"})
        if (flags.axis(axis) || asked.axes.contains(axis))
            throw Error(ErrorKind::invalid, fmt::format("--{}", axis), "full fine-tuning has no adapters",
                        "choose --method lora or qlora");
}

constexpr std::size_t kMostQuestions = 10'000;

/// Every combination with one more list of alternatives, which runs fastest.
std::vector<Chosen> longer_by(const std::vector<Chosen>& combinations, const Together& alternatives,
                              const std::string& where) {
    if (combinations.size() * alternatives.size() > kMostQuestions)
        throw Error(ErrorKind::invalid, where, fmt::format("more than {} combinations of lists", kMostQuestions),
                    "shorten a list");
    std::vector<Chosen> out;
    for (const Chosen& chosen : combinations)
        for (const Chosen& alternative : alternatives) {
            out.push_back(chosen);
            out.back().insert(alternative.begin(), alternative.end());
        }
    return out;
}

std::vector<Chosen> combinations(const SweepAsked& asked) {
    std::vector<Chosen> out = {asked.fixed};
    for (const PlanChoice& choice : asked.choices) {
        Together alternatives;
        for (const std::string& value : choice.values) alternatives.push_back({{choice.name, value}});
        out = longer_by(out, alternatives, fmt::format("--{}", choice.name));
    }
    for (const Together& together : asked.together) out = longer_by(out, together, "sweep");
    return out;
}

/// Flags whose values differ from question to question and that are no axes.
std::vector<std::string> names_of_choices(const SweepAsked& asked) {
    std::vector<std::string> out;
    for (const PlanChoice& choice : asked.choices) out.push_back(choice.name);
    for (const Together& together : asked.together)
        for (const auto& [name, value] : together.front())
            if (!is_axis(name)) out.push_back(name);
    return out;
}

/// The command line of a question's rows without the axes: what was given, and what was chosen.
std::vector<std::string> shared_command(const PlanFlags& flags, const Chosen& chosen) {
    std::vector<std::string> words = flags.words();
    words.insert(words.begin(), "vramfit predict");
    for (const auto& [name, value] : chosen)
        if (!is_axis(name)) words.push_back(fmt::format("--{} {}", name, shell_word(value)));
    return words;
}

/// Adds the question of one combination.
void add_question(const PlanFlags& flags, const SweepAsked& asked, const Chosen& chosen, Job job, SweepReport& report) {
    SweepQuestion question{job.model, job.plan, job.stack, of_process(job.device, job.plan),
                           space_from(flags, asked, chosen, job)};
    const WidenedAxes axes = widening(flags, asked, chosen, job);
    if (question.device.capacity_known && (axes.length || axes.batch))
        question.space = flags.answered([&] { return widened(question, axes); });
    report.questions.push_back(std::move(question));
    report.widened.push_back(axes);
}

}  // namespace

std::span<const PlanAxis> sweep_axes() { return kAxes; }

void ask(const PlanFlags& flags, const SweepAsked& asked, SweepReport& report, Notes& notes) {
    report.choices = names_of_choices(asked);
    for (const Chosen& chosen : combinations(asked)) {
        Job job = flags.job(chosen);
        if (job.plan.distributed && job.plan.distributed->any_rank)
            throw Error(ErrorKind::invalid, job.plan.distributed->as<PipelinePlan>() ? "--pp" : "--cp",
                        "a sweep asks about one process, and these do different work",
                        "give --process as well (a list asks about each); vramfit predict says which needs the most");
        std::vector<std::string>& values = report.chosen.emplace_back();
        for (const std::string& name : report.choices) values.push_back(chosen.at(name));
        report.commands.push_back(shared_command(flags, chosen));
        if (notes.empty()) notes = job.notes;
        add_question(flags, asked, chosen, std::move(job), report);
    }
    refuse_idle_axes(flags, asked, report.questions);
}

}  // namespace vramfit::cli
