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
const std::span<const KeyRow> kGrpoTables[] = {kGroupKeys,         kGrpoKeys,          kTrlModelKeys,
                                               kTrainingArguments, kGrpoModelHarmless, kGroupHarmlessRows,
                                               kVllmHarmlessRows,  kGrpoHarmlessRows,  kHarmlessArguments};

/// Keys that say so; RLOO has most of them as well.
constexpr std::string_view kGrpoSigns[] = {"num_generations", "reward_funcs", "scale_rewards", "steps_per_generation"};
/// Of other trainers that generate.
constexpr std::string_view kNotGrpo[] = {"teacher_model_name_or_path", "kl_coef", "rloo_k", "lmbda", "judge"};

bool says_grpo(const Document& document) {
    const auto has = [&document](std::string_view key) { return document.root.find(key) != nullptr; };
    return std::any_of(std::begin(kGrpoSigns), std::end(kGrpoSigns), has) &&
           std::none_of(std::begin(kNotGrpo), std::end(kNotGrpo), has) && !says_rloo(document);
}

bool is_grpo(const Document& document) { return is_for_group_trainer(document, kGrpoTrainer, says_grpo); }

void read_trl_grpo(Reader& reader, Draft& draft) { read_group_file(reader, kGrpoTrainer, draft); }

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
