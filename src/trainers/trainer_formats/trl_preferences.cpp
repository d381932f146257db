// TRL: YAML and launch lines of `trl dpo`, `kto` and `reward` and of scripts, recipes of the alignment handbook.
#include <algorithm>
#include <cctype>

#include <fmt/format.h>

#include "trainers/common.hpp"
#include "trainers/keys/trl_model.hpp"
#include "trainers/keys/trl_preferences.hpp"
#include "trainers/preferences.hpp"
#include "trainers/trainer_format.hpp"
#include "trainers/trl_model.hpp"

namespace vramfit::trainers {

namespace {

constexpr auto kPreferenceFileHarmless = harmless_rows(kTrlHarmless);
constexpr auto kDpoFileHarmless = harmless_rows(kDpoHarmless);
constexpr auto kDpoFileGone = harmless_rows(kGoneFromDpo);
/// Ahead of what the formats share.
constexpr KeyRow kTaskKeys[] = {{"lora_task_type", KeyUse::used, "peft", ""}};
const std::span<const KeyRow> kPreferenceTables[] = {kTaskKeys,        kOtherPreferenceKeys, kTrlModelKeys,
                                                     kDpoKeys,         kTrainingArguments,   kPreferenceFileHarmless,
                                                     kDpoFileHarmless, kDpoFileGone,         kHarmlessArguments};

/// Keys of preference training, which several of trl's trainers have.
constexpr std::string_view kSigns[] = {"beta",           "max_prompt_length", "precompute_ref_log_probs",
                                       "loss_weights",   "label_smoothing",   "ref_model_init_kwargs",
                                       "reference_free", "sync_ref_model"};
/// Those that one trainer alone has.
struct OwnKey {
    std::string_view key;
    std::string_view word;
};
constexpr OwnKey kOwnKeys[] = {{"discopop_tau", "dpo"},       {"f_divergence_type", "dpo"},
                               {"ld_alpha", "dpo"},           {"use_weighting", "dpo"},
                               {"rpo_alpha", "dpo"},          {"desirable_weight", "kto"},
                               {"undesirable_weight", "kto"}, {"cpo_alpha", "cpo"},
                               {"simpo_gamma", "cpo"},        {"center_rewards_coefficient", "reward"},
                               {"prompt_sample_size", "bco"}, {"min_density_ratio", "bco"},
                               {"max_density_ratio", "bco"}};
/// Of trainers that generate, and of those that are not predicted.
constexpr std::string_view kOfOthers[] = {"num_generations",
                                          "reward_funcs",
                                          "max_completion_length",
                                          "use_vllm",
                                          "reward_model_path",
                                          "teacher_model_name_or_path",
                                          "kl_coef",
                                          "reward_model_name_or_path"};

/// "dpo" stands in "recipes/x/dpo/config_full.yaml" and in "zephyr-7b-dpo-full".
bool has_word(std::string_view text, std::string_view word) {
    const auto is_letter = [&](std::size_t at) {
        return at < text.size() && std::isalnum(static_cast<unsigned char>(text[at]));
    };
    for (std::size_t at = text.find(word); at != text.npos; at = text.find(word, at + 1))
        if (!(at > 0 && is_letter(at - 1)) && !is_letter(at + word.size())) return true;
    return false;
}

/// trl's scripts, and the handbook's.
std::string_view word_of_program(std::string_view program) {
    if (program.starts_with("trl ")) return program.substr(4);
    if (program.ends_with(".py")) program.remove_suffix(3);
    if (program.starts_with("run_")) program.remove_prefix(4);
    if (program == "reward_modeling") return "reward";
    return program == "simpo" ? "cpo" : program;
}

bool has_one_of(const Value& root, std::span<const std::string_view> keys) {
    return std::any_of(keys.begin(), keys.end(), [&](std::string_view key) { return root.find(key) != nullptr; });
}

/// A reward model's adapters have to say so.
bool classifies(const Value& root) {
    const Value* task = root.find("lora_task_type");
    return task && task->text == "SEQ_CLS";
}

/// Where a file of keys says which trainer it is for; nullptr: nowhere.
const PreferenceTrainer* trainer_of_file(const Document& document) {
    for (const OwnKey& own : kOwnKeys)
        if (document.root.find(own.key)) return preference_trainer(own.word);
    for (const std::string_view word : {"dpo", "kto", "orpo", "cpo", "simpo", "bco", "reward"}) {
        if (has_word(document.file, word)) return preference_trainer(word_of_program(word));
        for (const char* key : {"output_dir", "hub_model_id", "run_name"})
            if (const Value* named = document.root.find(key); named && has_word(named->text, word))
                return preference_trainer(word_of_program(word));
    }
    return classifies(document.root) ? preference_trainer("reward") : nullptr;
}

const PreferenceTrainer* trainer_of(const Document& document) {
    return document.program.empty() ? trainer_of_file(document) : preference_trainer(word_of_program(document.program));
}

bool is_preferences(const Document& document) {
    if (!document.launcher.empty() || document.root.kind != Value::Kind::map) return false;
    const Value& root = document.root;
    if (!document.program.empty()) {
        const PreferenceTrainer* trainer = trainer_of(document);
        // trl 1.9 and 1.16 have no command for ORPO, CPO and BCO, but scripts.
        if (document.program.starts_with("trl ")) return trainer && !prepares_by_peft(trainer->loop);
        return trainer && root.find("model_name_or_path");
    }
    if (document.syntax == Syntax::python || !root.find("model_name_or_path")) return false;
    const bool own = std::any_of(std::begin(kOwnKeys), std::end(kOwnKeys),
                                 [&root](const OwnKey& each) { return root.find(each.key) != nullptr; });
    const PreferenceTrainer* trainer = trainer_of_file(document);
    const bool others = std::any_of(std::begin(kOfOthers), std::end(kOfOthers), [&](std::string_view key) {
        const bool own_key = key == "max_completion_length" && trainer && prepares_by_peft(trainer->loop);
        return root.find(key) && !own_key;
    });
    return (own || has_one_of(root, kSigns) || classifies(root)) && !others && trainer;
}

void read_trl_preferences(Reader& reader, Draft& draft) {
    draft.training_read = true;
    const PreferenceTrainer* trainer = trainer_of(reader.document());
    if (!trainer) trainer = preference_trainer("dpo");  // --format-of
    refuse_divided_of_trl(*trainer, draft);
    read_training_arguments(reader, kTrlDefaults, draft);
    read_trl_model(reader, draft);
    read_preferences(reader, *trainer, draft);
    // examples/scripts/bco.py of trl 1.9: embedding_func is nomic-embed-text-v1.5, and the reference is loaded.
    if (trainer->loop == LoopKind::bco)
        reader.refuse(
            "model_name_or_path",
            "trl's script bco.py weighs rows by a network of embeddings on the device, which is not predicted",
            "a script of your own with BCOTrainer, or --loop bco");
    judge_task(reader, "lora_task_type", trainer->name, draft);
}

}  // namespace

}  // namespace vramfit::trainers

namespace vramfit::trainer_formats {

extern const TrainerFormat trl_preferences_entry;
const TrainerFormat trl_preferences_entry = {
    .name = "trl-preferences",
    .title = "TRL 1.16",
    .summary = "YAML or launch line of trl dpo, kto or reward, recipes of the alignment handbook",
    .order = 79,
    .recognises = trainers::is_preferences,
    .keys = trainers::kPreferenceTables,
    .model = [](trainers::Reader& reader) { return reader.text("model_name_or_path").value_or(""); },
    .read = trainers::read_trl_preferences,
    .knobs = trainers::kTrlKnobs,
};

}  // namespace vramfit::trainer_formats
