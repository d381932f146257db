// Declares the flags of a plan and turns what was given into a job.
#include "cli/plan_flags.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <deque>

#include <fmt/format.h>

#include "base/split.hpp"
#include "cli/flags/axes.hpp"
#include "cli/flags/tables.hpp"
#include "cli/flags/values.hpp"
#include "cli/help.hpp"
#include "cli/input.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/spec/attention.hpp"
#include "vramfit/spec/config.hpp"
#include "vramfit/spec/devices.hpp"
#include "vramfit/spec/models.hpp"
#include "vramfit/spec/stacks.hpp"

namespace vramfit::cli {

namespace {

/// The name as it is, and the libraries' underscores also as hyphens.
std::vector<std::string> spellings(const PlanFlag& flag) {
    std::vector<std::string> names = {flag.name};
    for (const std::string_view alias : split(flag.aliases, ' '))
        if (!alias.empty()) names.emplace_back(alias);
    for (std::size_t i = 0, count = names.size(); i < count; ++i) {
        for (const auto& [from, to] : {std::pair{'_', '-'}, std::pair{'-', '_'}}) {
            std::string other = names[i];
            std::replace(other.begin(), other.end(), from, to);
            if (std::find(names.begin(), names.end(), other) == names.end()) names.push_back(std::move(other));
        }
    }
    return names;
}

constexpr const char* kModel = "Model";

bool takes_list(const PlanFlag& flag) { return std::string_view(flag.value).ends_with(",..."); }

}  // namespace

std::string shell_word(std::string_view text) {
    constexpr std::string_view kHarmless = "_@%+=:,./-";
    const bool plain = !text.empty() && std::all_of(text.begin(), text.end(), [&](unsigned char c) {
        return std::isalnum(c) || kHarmless.find(static_cast<char>(c)) != kHarmless.npos;
    });
    if (plain) return std::string(text);
    std::string out = "'";
    for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return out + "'";
}

std::vector<const PlanFlag*> plan_flags() {
    std::vector<const PlanFlag*> all;
    for (const auto table :
         {recipe_flags(), method_flags(), load_flags(), training_flags(), preference_flags(), grpo_flags(), ppo_flags(),
          second_flags(), unsloth_flags(), card_flags(), several_gpus_flags()}) {
        for (const PlanFlag& flag : table) all.push_back(&flag);
    }
    return all;
}

const PlanFlag* find_plan_flag(std::string_view name) {
    for (const PlanFlag* flag : plan_flags()) {
        if (flag->name == name) return flag;
    }
    return nullptr;
}

Job default_job(const ModelSpec& model) {
    Job job;
    job.model = model;
    job.plan.batch.sequence_length = 1024;  // trl 1.16.0, SFTConfig.max_length
    job.plan.load.attention = default_attention(model);
    job.plan.peft.emplace().target_modules = default_targets(model);
    job.stack = stack_from("").stack;
    job.device = unlimited_device();
    return job;
}

/// One spelling of a flag that was declared.
struct Spelling {
    const PlanFlag* flag = nullptr;
    std::string name;  ///< "--lora_r"
    std::vector<std::string> values;
    CLI::Option* option = nullptr;
    bool axis = false;
};

void refuse_twice(const Spelling& spelling) {
    if (spelling.option->count() > 1)
        throw Error(ErrorKind::invalid, spelling.name, "given more than once", "give it once");
}

constexpr std::string_view kAlone = "{}";  // CLI11: the value of a flag that was given without one

struct PlanFlags::State {
    std::string model;     // --model
    std::string argument;  // the same without a flag
    std::string job;
    std::map<std::string, std::string> places;  // of chosen values that no flag gives
    std::deque<Spelling> spellings;             // addresses stay: CLI11 writes into them
    mutable LoadedModels models = {};

    /// What was given for the flag: one spelling, or nullptr.
    const Spelling* find(const PlanFlag& flag) const {
        const Spelling* found = nullptr;
        for (const Spelling& spelling : spellings) {
            if (spelling.flag != &flag || spelling.option->count() == 0) continue;
            if (found)
                throw Error(ErrorKind::invalid, spelling.name, fmt::format("means the same as {}", found->name),
                            "give one of them");
            found = &spelling;
        }
        return found;
    }

    /// What was given for the network; empty: nothing.
    const std::string& network() const {
        if (!model.empty() && !argument.empty())
            throw Error(ErrorKind::invalid, "--model", fmt::format("'{}' is given as the model as well", argument),
                        "name one model, with or without --model");
        return model.empty() ? argument : model;
    }

    /// Flags with a variable number of values take a model's name that follows them.
    std::string hint_of_missing_model() const {
        for (const Spelling& spelling : spellings) {
            const bool open = spelling.flag->alone || (takes_list(*spelling.flag) && spelling.values.size() > 1);
            if (spelling.option->count() > 0 && open && spelling.values.back() != kAlone)
                return fmt::format("{} takes what follows it: put the model's name first", spelling.name);
        }
        return "vramfit models lists the built-in ones; a folder or a config.json will do";
    }

    /// What --text-only says, which decides about the network that the other flags are about.
    std::optional<bool> asked_for_text_part() const {
        const PlanFlag* flag = find_plan_flag("text-only");
        const Spelling* given = flag ? find(*flag) : nullptr;
        if (!given || given->values.empty()) return std::nullopt;
        const std::string& said = given->values.back();
        return said.empty() || said == kAlone || boolean_from(said, given->name);
    }

    Job base(const std::string& network) const {
        const std::optional<bool> asked = asked_for_text_part();
        if (!job.empty()) {
            Job read = read_job(read_input(job, "--job"), name_of_input(job), process_environment());
            if (!network.empty())
                read.model = under_release(
                    as_loaded(models.load(network, process_environment()), asked ? asked : read.plan.load.text_part),
                    read.stack);
            return read;
        }
        if (network.empty()) throw Error(ErrorKind::invalid, "--model", "no model given", hint_of_missing_model());
        return default_job(as_loaded(models.load(network, process_environment()), asked));
    }
};

PlanFlags::PlanFlags() : state_(std::make_shared<State>()) {}

void PlanFlags::add(CLI::App& app, const GivenWords& given, std::span<const PlanAxis> axes, bool with_job) {
    add_value(app, "MODEL", state_->argument, "",
              fmt::format("Built-in name (vramfit models), Hugging Face id, folder, config.json or recorded network{}",
                          with_job ? " (required without --job)" : " (required)"));
    add_value(app, "--model", state_->model, "MODEL", "The same as a flag")->group(kModel);
    if (with_job) {
        add_value(app, "--job", state_->job, "FILE",
                  "A job file (vramfit.job/1), - for standard input; flags override what it says")
            ->group(kModel);
    }
    for (const PlanFlag* flag : plan_flags()) {
        const auto axis = std::find_if(axes.begin(), axes.end(),
                                       [&](const PlanAxis& a) { return a.name == std::string_view(flag->name); });
        const bool is_axis = axis != axes.end();
        const bool list = takes_list(*flag) && !is_axis;
        const char* group = is_axis ? "Axes" : flag->group;
        for (const std::string& name : spellings(*flag)) {
            std::string word = fmt::format("--{}", name);
            if (!is_axis && !given.call_for(word)) continue;
            Spelling& spelling = state_->spellings.emplace_back(Spelling{flag, std::move(word), {}, nullptr, is_axis});
            spelling.option =
                app.add_option(spelling.name, spelling.values, help_text(is_axis ? axis->help : flag->help));
            spelling.option->type_name(is_axis ? "LIST" : flag->alone ? fmt::format("[{}]", flag->value) : flag->value);
            spelling.option->group(group);
            spelling.option->expected(flag->alone ? 0 : 1, list ? 100 : 1);
            spelling.option->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
            if (!list) spelling.option->allow_extra_args(false);  // what follows the value is the model
            if (flag->words && !is_axis) offer(spelling.option, flag->words());
            group = "";  // aliases are understood, not listed
        }
    }
}

std::optional<std::string> PlanFlags::axis(std::string_view name) const {
    const PlanFlag* flag = find_plan_flag(name);
    const Spelling* spelling = flag ? state_->find(*flag) : nullptr;
    if (!spelling) return std::nullopt;
    refuse_twice(*spelling);
    return spelling->values.front();
}

namespace {

void refuse_equal(const std::vector<std::string>& values, const std::string& where) {
    for (auto value = values.begin(); value != values.end(); ++value)
        if (std::find(values.begin(), value, *value) != value)
            throw Error(ErrorKind::invalid, where, fmt::format("'{}' is given twice", *value), "keep one of the two");
}

/// The values of a list; an empty one is no list but a mistake that the flag itself finds.
std::vector<std::string> values_of(const std::string& text, const std::string& where) {
    std::vector<std::string> out;
    for (const std::string_view value : split(text, ',')) {
        if (value.empty()) throw Error(ErrorKind::invalid, where, "a value of the list is empty", "e.g. a,b");
        out.emplace_back(value);
    }
    refuse_equal(out, where);
    return out;
}

/// A flag that counts takes ranges: --accumulate 1..64:x2.
bool is_range(const Spelling& spelling) {
    return spelling.flag->value == std::string_view("N") && spelling.values.front().find("..") != std::string::npos;
}

/// A flag whose single values have commas is given once for each of several.
bool has_commas(const Spelling& spelling) { return spelling.flag->value == std::string_view("CONF"); }

/// The values of a flag that is a choice.
std::vector<std::string> choice_values(const Spelling& spelling) {
    if (has_commas(spelling)) {
        refuse_equal(spelling.values, spelling.name);
        return spelling.values;
    }
    if (!is_range(spelling)) return values_of(spelling.values.front(), spelling.name);
    std::vector<std::string> out;
    for (const std::int64_t value : axis_from(spelling.values.front(), spelling.name))
        out.push_back(std::to_string(value));
    return out;
}

/// Whether several values of the flag are several questions: not where a list, or a text with commas, is one value.
bool is_choice(const Spelling& spelling) {
    if (spelling.axis || takes_list(*spelling.flag) || spelling.values.empty()) return false;
    if (has_commas(spelling)) return spelling.values.size() > 1;
    return spelling.values.front().find(',') != std::string::npos || is_range(spelling);
}

}  // namespace

std::vector<PlanChoice> PlanFlags::choices() const {
    std::vector<PlanChoice> out;
    const std::string& network = state_->network();
    if (network.find(',') != std::string::npos) out.push_back({"model", values_of(network, "--model")});
    for (const PlanFlag* flag : plan_flags()) {
        const Spelling* spelling = state_->find(*flag);
        if (!spelling || !is_choice(*spelling)) continue;
        if (!has_commas(*spelling)) refuse_twice(*spelling);
        out.push_back({flag->name, choice_values(*spelling)});
    }
    return out;
}

std::vector<std::string> PlanFlags::words() const {
    std::vector<std::string> words;
    if (const std::string& network = state_->network(); !network.empty() && network.find(',') == std::string::npos)
        words.push_back("--model " + shell_word(network));
    if (!state_->job.empty()) words.push_back("--job " + shell_word(state_->job));
    for (const Spelling& spelling : state_->spellings) {
        if (spelling.option->count() == 0 || spelling.axis || is_choice(spelling)) continue;
        std::string& word = words.emplace_back(spelling.name);
        for (const std::string& value : spelling.values)
            if (value != kAlone && !value.empty()) word += " " + shell_word(value);
    }
    return words;
}

Error PlanFlags::named_by_flags(const Error& error) const {
    static constexpr std::pair<const char*, const char*> kKeys[] = {
        {"peft.r", "rank"},
        {"peft.target_modules", "targets"},
        {"peft.num_virtual_tokens", "num_virtual_tokens"},
        {"peft.encoder_hidden_size", "encoder_hidden_size"},
        {"peft.token_indices", "token_indices"},
        {"peft.trainable_token_indices", "token_indices"},
        {"peft.modules_to_save", "save-whole"},
        {"peft.lora_dropout", "lora-dropout"},
        {"peft.use_dora", "use_dora"},
        {"prepare_kbit", "prepare-kbit"},
        {"load.quantization_config", "method"},
        {"load.attn_implementation", "attention"},
        {"training.per_device_train_batch_size", "batch"},
        {"training.gradient_accumulation_steps", "accumulate"},
        {"training.fp16", "mixed-precision"},
        {"training.optim", "optim"},
        {"training.use_liger_kernel", "use_liger_kernel"},
        {"batch.sequence_length", "seq"},
        {"batch.attention_mask", "mask"},
        {"batch.prompt_length", "prompt"},
        {"loop.kind", "loop"},
        {"loop.steps", "steps"},
    };
    std::vector<Problem> problems = error.problems();
    for (Problem& problem : problems) {
        for (const auto& [key, name] : kKeys) {
            if (problem.where != key) continue;
            const Spelling* spelling = state_->find(*find_plan_flag(name));
            if (spelling)
                problem.where = spelling->name;
            else if (state_->job.empty())
                problem.where = fmt::format("--{}", name);
            break;
        }
    }
    return Error(error.kind(), std::move(problems));
}

bool PlanFlags::given(std::string_view name) const {
    if (name == "model") return !state_->network().empty();
    const PlanFlag* flag = find_plan_flag(name);
    return flag && state_->find(*flag);
}

Job PlanFlags::job(const Chosen& chosen) const {
    const auto model = chosen.find("model");
    return applied(state_->base(model == chosen.end() ? state_->network() : model->second), chosen);
}

void PlanFlags::name_places(std::map<std::string, std::string> places) { state_->places = std::move(places); }

/// A value that comes from no flag; those of axes are the space's.
void PlanFlags::apply_chosen(const PlanFlag& flag, const Chosen& chosen, Job& job) const {
    const auto own = chosen.find(flag.name);
    const auto is_axis = [&flag](const Spelling& s) { return s.flag == &flag && s.axis; };
    if (own == chosen.end() || std::any_of(state_->spellings.begin(), state_->spellings.end(), is_axis)) return;
    const auto place = state_->places.find(flag.name);
    flag.apply(job, own->second, place == state_->places.end() ? fmt::format("--{}", flag.name) : place->second);
}

Job PlanFlags::applied(Job job, const Chosen& chosen) const {
    std::vector<const PlanFlag*> flags = plan_flags();
    std::stable_sort(flags.begin(), flags.end(),
                     [](const PlanFlag* a, const PlanFlag* b) { return a->turn < b->turn; });
    std::vector<std::string> given;
    std::map<std::string, GivenValue> values;
    if (!state_->job.empty() && !state_->network().empty()) given.push_back("--model");
    for (const PlanFlag* flag : flags) {
        const Spelling* spelling = state_->find(*flag);
        if (!spelling) apply_chosen(*flag, chosen, job);
        if (!spelling || spelling->axis) continue;
        given.push_back(spelling->name);
        const auto own = chosen.find(flag->name);
        if (own == chosen.end() && !takes_list(*flag)) refuse_twice(*spelling);
        std::string value = fmt::format("{}", fmt::join(spelling->values, ","));
        if (flag->alone && (value.empty() || value == kAlone)) value = flag->alone;
        if (own != chosen.end()) value = own->second;
        values[flag->name] = {value, spelling->name};
        flag->apply(job, value, spelling->name);
    }
    refuse_contradictions(values);
    refuse_preference_flags(values, job.plan.loop.kind);
    // The preparation that comes with --method qlora is then not the user's own call but the trainer's.
    const bool prepares =
        (job.plan.loop.kind == LoopKind::sft && job.stack.sft_prepares_model()) || is_preference(job.plan.loop.kind);
    if (state_->job.empty() && prepares && !this->given("prepare-kbit")) job.plan.prepare_kbit.reset();
    const auto is_given = [this](std::string_view name) { return this->given(name); };
    if (state_->job.empty()) settle_own_trainers(job, is_given);
    settle_unsloth_recipe(job, is_given);
    if (state_->job.empty()) complete_unsloth(job, is_given);
    if (state_->job.empty()) complete_grpo(job, is_given);
    if (state_->job.empty()) complete_ppo(job, is_given);
    judge_second_flags(job, is_given);
    if (!state_->job.empty() && !given.empty()) {
        job.notes.push_back({NoteKind::flags_before_job,
                             fmt::format("{} {} before what the job file says", fmt::join(given, ", "),
                                         given.size() == 1 ? "goes" : "go"),
                             "write it into the job file"});
    }
    return job;
}

}  // namespace vramfit::cli
