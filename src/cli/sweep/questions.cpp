// From flags to questions: one for each combination of lists, with the space of its axes.
#include "cli/sweep/questions.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cli/flags/axes.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/spec/devices.hpp"

namespace vramfit::cli {

namespace {

constexpr PlanAxis kAxes[] = {
    {"rank", "Ranks: 8,16,32 or 8..256:x2 [1..128:x2]"},
    {"batch", "Rows in a batch [1,2,4,8]"},
    {"seq", "Tokens in a row: 512..4096:+512 [16..512:x2]"},
    {"targets", "Sets of targets: attention,attention+mlp,q_proj+v_proj [all sets of embedding, attention, mlp]"},
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

/// The job with the paper's recipe, where no flag says otherwise.
Job with_recipe(const PlanFlags& flags, const Chosen& chosen) {
    Chosen all = chosen;
    if (!flags.given("method")) all.emplace("method", "qlora");
    Job job = flags.job(all);
    if (!flags.given("optim") && !chosen.contains("optim") && job.plan.load.quantization)
        job.plan.training.optim = "paged_adamw_32bit";
    return job;
}

SweepSpace space_from(const PlanFlags& flags, const SweepAsked& asked, const Chosen& chosen, const Job& job) {
    const auto ranks = axis_text(flags, asked, chosen, "rank"), batches = axis_text(flags, asked, chosen, "batch"),
               lengths = axis_text(flags, asked, chosen, "seq"), targets = axis_text(flags, asked, chosen, "targets");
    SweepSpace space = paper_space(job.model);
    if (batches) space.batches = axis_from(*batches, "--batch");
    if (lengths) space.lengths = axis_from(*lengths, "--seq");
    if (!job.plan.peft) {
        space.ranks = {1};
        space.targets = {{"all weights", {}}};
        return space;
    }
    if (ranks) space.ranks = axis_from(*ranks, "--rank");
    if (targets) space.targets = target_sets_from(*targets, job.model, "--targets");
    return space;
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

/// The command line of a question's rows without the axes: what was given, what was chosen, and the recipe.
std::vector<std::string> shared_command(const PlanFlags& flags, const Chosen& chosen, const Job& job) {
    std::vector<std::string> words = flags.words();
    words.insert(words.begin(), "vramfit predict");
    for (const auto& [name, value] : chosen)
        if (!is_axis(name)) words.push_back(fmt::format("--{} {}", name, shell_word(value)));
    if (!flags.given("method") && !chosen.contains("method")) words.push_back("--method qlora");
    if (!flags.given("optim") && !chosen.contains("optim"))
        words.push_back(fmt::format("--optim {}", job.plan.training.optim));
    return words;
}

}  // namespace

std::span<const PlanAxis> sweep_axes() { return kAxes; }

void ask(const PlanFlags& flags, const SweepAsked& asked, SweepReport& report, Notes& notes) {
    report.choices = names_of_choices(asked);
    for (const Chosen& chosen : combinations(asked)) {
        Job job = with_recipe(flags, chosen);
        if (job.plan.distributed && job.plan.distributed->any_rank)
            throw Error(ErrorKind::invalid, job.plan.distributed->as<PipelinePlan>() ? "--pp" : "--cp",
                        "a sweep asks about one process, and these do different work",
                        "give --process as well (a list asks about each); vramfit predict says which needs the most");
        report.questions.push_back({job.model, job.plan, job.stack, of_process(job.device, job.plan.distributed),
                                    space_from(flags, asked, chosen, job)});
        std::vector<std::string>& values = report.chosen.emplace_back();
        for (const std::string& name : report.choices) values.push_back(chosen.at(name));
        report.commands.push_back(shared_command(flags, chosen, job));
        if (notes.empty()) notes = job.notes;
    }
    refuse_idle_axes(flags, asked, report.questions);
}

}  // namespace vramfit::cli
