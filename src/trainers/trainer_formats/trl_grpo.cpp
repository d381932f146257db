// TRL: YAML and launch lines of `trl grpo` and of scripts with the same arguments, recipes of open-r1.
#include <algorithm>

#include "trainers/common.hpp"
#include "trainers/grpo.hpp"
#include "trainers/keys/trl_grpo.hpp"
#include "trainers/keys/trl_model.hpp"
#include "trainers/trainer_format.hpp"
#include "trainers/trl_model.hpp"

namespace vramfit::trainers {

namespace {

constexpr auto kGrpoModelHarmless = harmless_rows(kTrlHarmless);
constexpr auto kGrpoFileHarmless = harmless_rows(kGrpoHarmless);
const std::span<const KeyRow> kGrpoTables[] = {kGrpoKeys,          kTrlModelKeys,     kTrainingArguments,
                                               kGrpoModelHarmless, kGrpoFileHarmless, kHarmlessArguments};

/// Keys that say so; RLOO has the first two as well.
constexpr std::string_view kGrpoSigns[] = {"num_generations", "reward_funcs", "scale_rewards", "steps_per_generation"};
/// Of other trainers that generate.
constexpr std::string_view kNotGrpo[] = {"teacher_model_name_or_path", "kl_coef", "rloo_k",
                                         "normalize_advantages",       "lmbda",   "judge"};

bool is_rloo(const Document& document) {
    const auto named = [](std::string_view text) { return text.find("rloo") != text.npos; };
    if (named(document.file)) return true;
    for (const char* key : {"output_dir", "hub_model_id", "run_name"})
        if (const Value* value = document.root.find(key); value && named(value->text)) return true;
    return false;
}

bool is_grpo(const Document& document) {
    if (!document.launcher.empty() || document.root.kind != Value::Kind::map) return false;
    const Value& root = document.root;
    const std::string_view program = document.program;
    if (program == "trl grpo") return true;
    if (!root.find("model_name_or_path") || document.syntax == Syntax::python) return false;
    if (!program.empty()) return program == "grpo.py" || program == "run_grpo.py";
    const auto has = [&root](std::string_view key) { return root.find(key) != nullptr; };
    return std::any_of(std::begin(kGrpoSigns), std::end(kGrpoSigns), has) &&
           std::none_of(std::begin(kNotGrpo), std::end(kNotGrpo), has) && !is_rloo(document);
}

void read_trl_grpo(Reader& reader, Draft& draft) {
    draft.training_read = true;
    read_training_arguments(reader, kTrlDefaults, draft);
    read_trl_model(reader, draft);
    read_groups(reader, draft);
}

}  // namespace

}  // namespace vramfit::trainers

namespace vramfit::trainer_formats {

extern const TrainerFormat trl_grpo_entry;
const TrainerFormat trl_grpo_entry = {
    .name = "trl-grpo",
    .title = "TRL 1.16",
    .summary = "YAML or launch line of trl grpo, recipes of open-r1",
    .order = 78,
    .recognises = trainers::is_grpo,
    .keys = trainers::kGrpoTables,
    .model = [](trainers::Reader& reader) { return reader.text("model_name_or_path").value_or(""); },
    .read = trainers::read_trl_grpo,
    .knobs = trainers::kTrlKnobs,
};

}  // namespace vramfit::trainer_formats
