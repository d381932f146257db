// TRL: YAML and launch lines of `trl rloo` and of scripts with the same arguments.
#include <algorithm>

#include "trainers/common.hpp"
#include "trainers/grpo.hpp"
#include "trainers/keys/trl_grpo.hpp"
#include "trainers/keys/trl_model.hpp"
#include "trainers/trainer_format.hpp"
#include "trainers/trl_model.hpp"

namespace vramfit::trainers {

namespace {

constexpr auto kRlooModelHarmless = harmless_rows(kTrlHarmless);
const std::span<const KeyRow> kRlooTables[] = {kGroupKeys,         kRlooKeys,          kTrlModelKeys,
                                               kTrainingArguments, kRlooModelHarmless, kGroupHarmlessRows,
                                               kVllmHarmlessRows,  kHarmlessArguments};

/// Keys that a file of the trainer has, most of them shared with GRPO's.
constexpr std::string_view kRlooSigns[] = {"num_generations", "reward_funcs", "steps_per_generation",
                                           "normalize_advantages"};
/// Of the RLOOTrainer that trl had up to 0.21, whose reward model is in the process, and of distillation.
constexpr std::string_view kNotRloo[] = {"teacher_model_name_or_path", "kl_coef", "rloo_k", "reward_model_path"};

bool says_new_rloo(const Document& document) {
    const auto has = [&document](std::string_view key) { return document.root.find(key) != nullptr; };
    return std::any_of(std::begin(kRlooSigns), std::end(kRlooSigns), has) &&
           std::none_of(std::begin(kNotRloo), std::end(kNotRloo), has) && says_rloo(document);
}

bool is_rloo(const Document& document) { return is_for_group_trainer(document, kRlooTrainer, says_new_rloo); }

void read_trl_rloo(Reader& reader, Draft& draft) { read_group_file(reader, kRlooTrainer, draft); }

}  // namespace

}  // namespace vramfit::trainers

namespace vramfit::trainer_formats {

extern const TrainerFormat trl_rloo_entry;
const TrainerFormat trl_rloo_entry = {
    .name = "trl-rloo",
    .title = "TRL 1.16",
    .summary = "YAML or launch line of trl rloo",
    .order = 77,
    .recognises = trainers::is_rloo,
    .keys = trainers::kRlooTables,
    .model = [](trainers::Reader& reader) { return reader.text("model_name_or_path").value_or(""); },
    .read = trainers::read_trl_rloo,
    .knobs = trainers::kTrlKnobs,
};

}  // namespace vramfit::trainer_formats
