// Job files: what preference training has in `batch` and `training`.
#include <algorithm>

#include <fmt/format.h>

#include "spec/job_read.hpp"
#include "vramfit/spec/pair_rows.hpp"
#include "vramfit/spec/plan_names.hpp"

namespace vramfit {

namespace {

bool is_switched_off(const JsonValue& value) {
    return value.kind == JsonValue::Kind::null || (value.kind == JsonValue::Kind::boolean && !value.boolean);
}

constexpr IntegerRange kTokens = {.low = 1, .high = std::int64_t{1} << 31};
constexpr std::int64_t kPairsByDefault = 32;  // tools/trace/vramfit_trace/job.py PAIRS
constexpr std::int64_t kMaxLength = 1024;     // trl 1.16.0 dpo_config.py

/// A number for all rows, or a list with one for each row of a batch.
std::vector<std::int64_t> lengths(ObjectReader& batch, std::string_view key, std::vector<std::int64_t> otherwise) {
    const JsonValue* value = batch.value(key);
    if (!value || value->kind == JsonValue::Kind::null) return otherwise;
    if (value->kind == JsonValue::Kind::list) {
        auto list = batch.integers(key, kTokens);
        if (list && list->empty())
            batch.problems().invalid(batch.path(key), "a list without lengths", "one for each row of a batch");
        return list && !list->empty() ? *list : otherwise;
    }
    return {batch.integer(key, kTokens).value_or(otherwise.front())};
}

std::vector<std::int64_t> or_one(std::vector<std::int64_t> list) {
    const auto differs = [&list](std::int64_t n) { return n != list.front(); };
    if (std::none_of(list.begin(), list.end(), differs)) list.resize(1);
    return list;
}

/// KTO, BCO: true or false of each row, over and over.
void read_desirable(ObjectReader& batch, std::vector<bool>& out) {
    const JsonValue* value = batch.value("desirable");
    if (!value || value->kind == JsonValue::Kind::null) return;
    std::vector<bool> labels;
    if (value->kind == JsonValue::Kind::list)
        for (const JsonValue& item : value->items)
            if (item.kind == JsonValue::Kind::boolean) labels.push_back(item.boolean);
    if (labels.empty() || labels.size() != value->items.size())
        return batch.problems().invalid(batch.path("desirable"), "a list of true and false is wanted",
                                        "one for each row of a batch");
    out = labels;
}

// trl.DPOConfig, RewardConfig and KTOConfig of 1.16.0: what memory does not depend on.
constexpr std::string_view kIgnoredByDpo[] = {"beta",
                                              "label_smoothing",
                                              "loss_weights",
                                              "discopop_tau",
                                              "ref_model_mixup_alpha",
                                              "ref_model_sync_steps",
                                              "truncation_mode",
                                              "f_alpha_divergence_coef"};
constexpr std::string_view kIgnoredByReward[] = {"eos_token"};
constexpr std::string_view kIgnoredByKto[] = {"beta", "desirable_weight", "undesirable_weight", "ref_model_mixup_alpha",
                                              "ref_model_sync_steps"};
// trl.experimental.bco.BCOConfig of 1.9.0; the densities are of a classifier that needs an embedding_func.
constexpr std::string_view kIgnoredByBco[] = {"beta", "max_completion_length", "prompt_sample_size",
                                              "min_density_ratio", "max_density_ratio"};
constexpr std::string_view kIgnoredByContrast[] = {"beta", "label_smoothing", "simpo_gamma", "truncation_mode",
                                                   "max_completion_length"};
constexpr std::string_view kIgnoredByAll[] = {"dataset_num_proc", "pad_token", "model_init_kwargs",
                                              "trust_remote_code"};

constexpr RefusedKey kRefusedByDpo[] = {
    {"ld_alpha", "length desensitization (ld_alpha) is not supported"},
    {"use_weighting", "weighted losses (use_weighting) are not supported"},
    {"padding_free", "flattened batches are not supported"},
};
constexpr RefusedKey kRefusedByReward[] = {
    {"chat_template_path", "a template from elsewhere may bring tokens and resize the embedding"},
};
constexpr RefusedKey kRefusedByContrast[] = {
    {"generate_during_eval", "generation during evaluation is not supported"},
    {"is_encoder_decoder", "encoders with decoders are not supported"},
};
constexpr RefusedKey kRefusedByAll[] = {
    {"activation_offloading", "activations in host memory are not supported"},
    {"pad_to_multiple_of", "padding to a multiple is not supported"},
};

}  // namespace

void read_losses(ObjectReader& training, PreferencePlan& plan) {
    const JsonValue* value = training.value("loss_type");
    if (!value || value->kind == JsonValue::Kind::null) return;
    std::vector<std::string> words;
    if (value->kind == JsonValue::Kind::text)
        words.push_back(value->text);
    else
        words = training.texts("loss_type").value_or(std::vector<std::string>{});
    plan.loss_types.clear();
    for (const std::string& word : words) {
        const auto known = std::find_if(std::begin(kPairLossNames), std::end(kPairLossNames),
                                        [&word](const Named<PairLoss>& one) { return one.name == word; });
        if (known != std::end(kPairLossNames)) {
            plan.loss_types.push_back(known->value);
            continue;
        }
        std::vector<std::string_view> names;
        for (const Named<PairLoss>& one : kPairLossNames) names.push_back(one.name);
        training.problems().unsupported(training.path("loss_type"), fmt::format("the loss '{}' is not supported", word),
                                        fmt::format("supported: {}", fmt::join(names, ", ")));
    }
}

namespace {

/// GRPO, RLOO: prompts are padded by themselves, and completions by themselves.
void read_group(ObjectReader batch, BatchPlan& plan) {
    const auto prompt = lengths(batch, "prompt_length", {kPairsByDefault});
    const auto completion = lengths(batch, "completion_length", {kPairsByDefault});
    PairLengths& pairs = plan.pairs;
    ObjectReader::set(pairs.padded, batch.boolean("padded"));
    batch.refuse_unknown();
    const std::int64_t longest = *std::max_element(completion.begin(), completion.end());
    plan.sequence_length = *std::max_element(prompt.begin(), prompt.end()) + longest;
    pairs.prompt = or_one(prompt);
    pairs.chosen_shorter.clear();
    for (const std::int64_t tokens : completion) pairs.chosen_shorter.push_back(longest - tokens);
    pairs.chosen_shorter = or_one(pairs.chosen_shorter);
}

}  // namespace

void read_pairs(ObjectReader batch, LoopKind kind, BatchPlan& plan) {
    if (generates_rows(kind)) return read_group(std::move(batch), plan);
    const auto prompt = lengths(batch, "prompt_length", {kPairsByDefault});
    const auto chosen = lengths(batch, "completion_length", {kPairsByDefault});
    const auto rejected = has_pairs(kind) ? lengths(batch, "rejected_length", chosen) : chosen;
    std::vector<bool> desirable;
    if (has_unpaired_rows(kind)) desirable = {true, false};  // the tracer's
    if (has_unpaired_rows(kind)) read_desirable(batch, desirable);
    const bool padded = kind == LoopKind::gkd && batch.boolean("padded").value_or(false);
    batch.refuse_unknown();
    const std::size_t rows = std::max({prompt.size(), chosen.size(), rejected.size()});
    for (const auto* list : {&prompt, &chosen, &rejected})
        if (list->size() != 1 && list->size() != rows)
            return batch.problems().invalid(batch.path("completion_length"), "lists of different lengths",
                                            "one number, or one for each row of a batch");
    plan.sequence_length = 1;
    for (std::size_t row = 0; row < rows; ++row)
        plan.sequence_length =
            std::max(plan.sequence_length, of_row(prompt, row) + std::max(of_row(chosen, row), of_row(rejected, row)));
    PairLengths& pairs = plan.pairs;
    pairs = {or_one(prompt), {}, {}, desirable};
    for (std::size_t row = 0; row < rows; ++row) {
        const std::int64_t left = plan.sequence_length - of_row(prompt, row);
        pairs.chosen_shorter.push_back(left - of_row(chosen, row));
        pairs.rejected_shorter.push_back(left - of_row(rejected, row));
    }
    pairs.chosen_shorter = or_one(pairs.chosen_shorter);
    pairs.rejected_shorter = or_one(pairs.rejected_shorter);
    pairs.padded = padded;
}

namespace {

void read_reference(ObjectReader& training, TrainingPlan& arguments, PreferencePlan& plan) {
    ObjectReader::set(plan.precompute_ref_log_probs, training.boolean("precompute_ref_log_probs"));
    ObjectReader::set(plan.syncs_reference, training.boolean("sync_ref_model"));
    plan.precompute_ref_batch_size = training.integer("precompute_ref_batch_size", {.low = 1}, Null::absent);
    arguments.router_aux_loss_coef = training.real("router_aux_loss_coef", {}, Null::absent);
}

void read_dpo(ObjectReader& training, TrainingPlan& arguments, PreferencePlan& plan) {
    read_losses(training, plan);
    read_reference(training, arguments, plan);
    const auto divergence = training.text("f_divergence_type");
    if (divergence && *divergence != "reverse_kl")
        training.problems().unsupported(training.path("f_divergence_type"),
                                        fmt::format("the divergence '{}' is not supported", *divergence),
                                        "supported: reverse_kl");
}

void read_reward(ObjectReader& training, PreferencePlan& plan) {
    plan.centers_rewards = training.real("center_rewards_coefficient", {}, Null::absent).has_value();
}

void read_kto(ObjectReader& training, TrainingPlan& arguments, PreferencePlan& plan) {
    read_reference(training, arguments, plan);
    read_unpaired_loss(training, plan);
}

}  // namespace

void read_unpaired_loss(ObjectReader& training, PreferencePlan& plan) {
    ObjectReader::set(plan.unpaired_loss, training.choice<UnpairedLoss>("loss_type", kUnpairedLossNames));
}

void read_cpo(ObjectReader& training, PreferencePlan& plan) {
    ObjectReader::set(plan.contrast_loss, training.choice<ContrastLoss>("loss_type", kContrastLossNames));
    if (const auto alpha = training.real("cpo_alpha", {})) plan.adds_likelihood = *alpha != 0;
    const auto of_policy = training.real("alpha", {});
    if (of_policy && *of_policy != 0)
        training.problems().unsupported(training.path("alpha"), "AlphaPO (alpha) is not supported", "0");
}

void judge_others(ObjectReader& training, std::span<const RefusedKey> refused,
                  std::span<const std::string_view> ignored) {
    for (const RefusedKey& each : refused) {
        const JsonValue* value = training.value(each.key);
        if (value && !is_switched_off(*value))
            training.problems().unsupported(training.path(each.key), std::string(each.what), "leave the key out");
    }
    for (const std::string_view key : ignored) training.skip(key);
}

void read_preference(ObjectReader& training, LoopKind kind, TrainingPlan& arguments, PreferencePlan& plan) {
    if (plan.maker == TrainerMaker::llama_factory) return read_llama_factory(training, kind, plan);
    if (plan.maker == TrainerMaker::ms_swift) {
        arguments.router_aux_loss_coef = 0;  // TrainArgumentsMixin
        if (!training.has("weight_decay")) arguments.weight_decay = kSwiftWeightDecay;
        if (kind == LoopKind::grpo) read_swift_groups(training, arguments, plan);
        return read_ms_swift(training, kind, plan);
    }
    if (generates_rows(kind)) {
        plan.disable_dropout = generates_pairs(kind);
        plan.grpo = plan_of_groups(kind);
    }
    ObjectReader::set(plan.disable_dropout, training.boolean("disable_dropout"));
    if (!has_value_model(kind) && (!generates_rows(kind) || generates_pairs(kind))) {
        arguments.max_length = training.integer("max_length", kTokens, Null::absent);
        if (!training.has("max_length")) arguments.max_length = generates_pairs(kind) ? kOnlineMaxLength : kMaxLength;
    }
    judge_others(training, kRefusedByAll, kIgnoredByAll);
    switch (kind) {
        case LoopKind::reward:
            read_reward(training, plan);
            return judge_others(training, kRefusedByReward, kIgnoredByReward);
        case LoopKind::kto: read_kto(training, arguments, plan); return judge_others(training, {}, kIgnoredByKto);
        case LoopKind::cpo:
            read_cpo(training, plan);
            return judge_others(training, kRefusedByContrast, kIgnoredByContrast);
        case LoopKind::grpo:
        case LoopKind::rloo: return read_grpo(training, kind, arguments, plan);
        case LoopKind::orpo: return judge_others(training, kRefusedByContrast, kIgnoredByContrast);
        case LoopKind::gkd: return;  // read_gkd
        case LoopKind::online_dpo: return read_online(training, plan);
        case LoopKind::ppo: return read_ppo(training, plan.ppo);
        case LoopKind::prm: return judge_others(training, {}, kIgnoredByPrm);
        case LoopKind::bco:
            ObjectReader::set(plan.precompute_ref_log_probs, training.boolean("precompute_ref_log_probs"));
            return judge_others(training, kRefusedByContrast, kIgnoredByBco);
        default: read_dpo(training, arguments, plan); return judge_others(training, kRefusedByDpo, kIgnoredByDpo);
    }
}

namespace {

JsonValue numbers(const std::vector<std::int64_t>& list) {
    if (list.size() == 1) return JsonValue::of(list.front());
    std::vector<JsonValue> out;
    for (const std::int64_t n : list) out.push_back(JsonValue::of(n));
    return JsonValue::list(std::move(out));
}

JsonValue group_to_json(const TrainPlan& plan) {
    const PairLengths& pairs = plan.batch.pairs;
    const std::int64_t longest =
        plan.batch.sequence_length - *std::max_element(pairs.prompt.begin(), pairs.prompt.end());
    std::vector<std::int64_t> completions;
    for (const std::int64_t shorter : pairs.chosen_shorter) completions.push_back(longest - shorter);
    JsonValue out = JsonValue::object();
    out.put("prompt_length", numbers(pairs.prompt));
    out.put("completion_length", numbers(completions));
    if (pairs.padded) out.put("padded", JsonValue::of(true));
    return out;
}

}  // namespace

JsonValue pairs_to_json(const TrainPlan& plan) {
    const PairLengths& pairs = plan.batch.pairs;
    if (has_value_model(plan.loop.kind)) return ppo_rows_to_json(plan);
    if (generates_rows(plan.loop.kind)) return group_to_json(plan);
    const std::size_t rows =
        std::max({pairs.prompt.size(), pairs.chosen_shorter.size(), pairs.rejected_shorter.size()});
    std::vector<std::int64_t> chosen, rejected;
    for (std::size_t row = 0; row < rows; ++row) {
        const std::int64_t left = plan.batch.sequence_length - of_row(pairs.prompt, row);
        chosen.push_back(left - of_row(pairs.chosen_shorter, row));
        rejected.push_back(left - of_row(pairs.rejected_shorter, row));
    }
    JsonValue out = JsonValue::object();
    out.put("prompt_length", numbers(pairs.prompt));
    out.put("completion_length", numbers(or_one(chosen)));
    if (plan.distillation.generated) out.put("generated_length", JsonValue::of(*plan.distillation.generated));
    if (plan.loop.kind == LoopKind::gkd && pairs.padded) out.put("padded", JsonValue::of(true));
    if (has_pairs(plan.loop.kind)) {
        out.put("rejected_length", numbers(or_one(rejected)));
        return out;
    }
    if (!has_unpaired_rows(plan.loop.kind)) return out;
    std::vector<JsonValue> desirable;
    for (const bool label : pairs.desirable) desirable.push_back(JsonValue::of(label));
    for (std::int64_t row = 0; pairs.desirable.empty() && row < plan.training.per_device_train_batch_size; ++row)
        desirable.push_back(JsonValue::of(row % 2 == 0));
    out.put("desirable", JsonValue::list(std::move(desirable)));
    return out;
}

void put_preference(const TrainPlan& plan, JsonValue& arguments) {
    const PreferencePlan& preference = plan.preference;
    if (by_llama_factory(plan)) {
        if (preference.adds_sft) arguments.put("pref_ftx", JsonValue::of(0.1));  // what it is changes nothing
        if (plan.loop.kind == LoopKind::dpo)
            arguments.put("loss_type", JsonValue::of(name_of(preference.loss_types.front())));
        return;
    }
    if (by_ms_swift(plan) && plan.training.weight_decay == 0) arguments.put("weight_decay", JsonValue::of(0.0));
    if (by_ms_swift(plan) && preference.adds_sft) arguments.put("rpo_alpha", JsonValue::of(0.1));
    if (has_value_model(plan.loop.kind)) return put_ppo(plan, arguments);
    if (generates_pairs(plan.loop.kind)) return put_online(plan, arguments);
    if (generates_rows(plan.loop.kind)) return put_grpo(plan, arguments);
    if (plan.loop.kind == LoopKind::gkd) put_gkd(plan.distillation, arguments);
    if (plan.loop.kind == LoopKind::dpo) {
        std::vector<JsonValue> losses;
        for (const PairLoss loss : preference.loss_types) losses.push_back(JsonValue::of(name_of(loss)));
        arguments.put("loss_type", JsonValue::list(std::move(losses)));
    }
    if (plan.loop.kind == LoopKind::kto) arguments.put("loss_type", JsonValue::of(name_of(preference.unpaired_loss)));
    if (plan.loop.kind == LoopKind::cpo) {
        arguments.put("loss_type", JsonValue::of(name_of(preference.contrast_loss)));
        if (!preference.adds_likelihood) arguments.put("cpo_alpha", JsonValue::of(std::int64_t{0}));
    }
    // Any value: what it is changes nothing.
    if (preference.centers_rewards) arguments.put("center_rewards_coefficient", JsonValue::of(0.01));
    if (preference.precompute_ref_log_probs) arguments.put("precompute_ref_log_probs", JsonValue::of(true));
    if (preference.syncs_reference) arguments.put("sync_ref_model", JsonValue::of(true));
    if (preference.precompute_ref_batch_size)
        arguments.put("precompute_ref_batch_size", JsonValue::of(*preference.precompute_ref_batch_size));
    if (!preference.disable_dropout) arguments.put("disable_dropout", JsonValue::of(false));
    if (!plan.training.max_length && !by_ms_swift(plan)) arguments.put("max_length", JsonValue{});
}

}  // namespace vramfit
