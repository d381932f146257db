// Job files: what preference training has in `batch` and `training`.
#include <algorithm>

#include <fmt/format.h>

#include "spec/job_read.hpp"
#include "vramfit/spec/plan_names.hpp"

namespace vramfit {

namespace {

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

std::int64_t of_row(const std::vector<std::int64_t>& list, std::size_t row) { return list[row % list.size()]; }

std::vector<std::int64_t> or_one(std::vector<std::int64_t> list) {
    const auto differs = [&list](std::int64_t n) { return n != list.front(); };
    if (std::none_of(list.begin(), list.end(), differs)) list.resize(1);
    return list;
}

// trl.DPOConfig of 1.16.0: what memory does not depend on.
constexpr std::string_view kIgnoredByDpo[] = {"beta",
                                              "label_smoothing",
                                              "loss_weights",
                                              "discopop_tau",
                                              "ref_model_mixup_alpha",
                                              "ref_model_sync_steps",
                                              "dataset_num_proc",
                                              "truncation_mode",
                                              "pad_token",
                                              "model_init_kwargs",
                                              "trust_remote_code",
                                              "f_alpha_divergence_coef"};

struct RefusedByDpo {
    std::string_view key;
    std::string_view what;
};
constexpr RefusedByDpo kRefusedByDpo[] = {
    {"ld_alpha", "length desensitization (ld_alpha) is not supported"},
    {"use_weighting", "weighted losses (use_weighting) are not supported"},
    {"sync_ref_model", "a reference model that follows the policy (sync_ref_model) is not supported"},
    {"padding_free", "flattened batches are not supported"},
    {"activation_offloading", "activations in host memory are not supported"},
    {"pad_to_multiple_of", "padding to a multiple is not supported"},
};

bool is_off(const JsonValue& value) {
    return value.kind == JsonValue::Kind::null || (value.kind == JsonValue::Kind::boolean && !value.boolean);
}

void read_losses(ObjectReader& training, DpoPlan& plan) {
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

}  // namespace

void read_pairs(ObjectReader batch, BatchPlan& plan) {
    const auto prompt = lengths(batch, "prompt_length", {kPairsByDefault});
    const auto chosen = lengths(batch, "completion_length", {kPairsByDefault});
    const auto rejected = lengths(batch, "rejected_length", chosen);
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
    pairs = {or_one(prompt), {}, {}};
    for (std::size_t row = 0; row < rows; ++row) {
        const std::int64_t left = plan.sequence_length - of_row(prompt, row);
        pairs.chosen_shorter.push_back(left - of_row(chosen, row));
        pairs.rejected_shorter.push_back(left - of_row(rejected, row));
    }
    pairs.chosen_shorter = or_one(pairs.chosen_shorter);
    pairs.rejected_shorter = or_one(pairs.rejected_shorter);
}

void read_dpo(ObjectReader& training, TrainingPlan& arguments, DpoPlan& plan) {
    read_losses(training, plan);
    ObjectReader::set(plan.precompute_ref_log_probs, training.boolean("precompute_ref_log_probs"));
    plan.precompute_ref_batch_size = training.integer("precompute_ref_batch_size", {.low = 1}, Null::absent);
    ObjectReader::set(plan.disable_dropout, training.boolean("disable_dropout"));
    arguments.router_aux_loss_coef = training.real("router_aux_loss_coef", {}, Null::absent);
    arguments.max_length = training.integer("max_length", kTokens, Null::absent);
    if (!training.has("max_length")) arguments.max_length = kMaxLength;
    const auto divergence = training.text("f_divergence_type");
    if (divergence && *divergence != "reverse_kl")
        training.problems().unsupported(training.path("f_divergence_type"),
                                        fmt::format("the divergence '{}' is not supported", *divergence),
                                        "supported: reverse_kl");
    for (const RefusedByDpo& refused : kRefusedByDpo) {
        const JsonValue* value = training.value(refused.key);
        if (value && !is_off(*value))
            training.problems().unsupported(training.path(refused.key), std::string(refused.what), "leave the key out");
    }
    for (const std::string_view key : kIgnoredByDpo) training.skip(key);
}

namespace {

JsonValue numbers(const std::vector<std::int64_t>& list) {
    if (list.size() == 1) return JsonValue::of(list.front());
    std::vector<JsonValue> out;
    for (const std::int64_t n : list) out.push_back(JsonValue::of(n));
    return JsonValue::list(std::move(out));
}

}  // namespace

JsonValue pairs_to_json(const BatchPlan& plan) {
    const PairLengths& pairs = plan.pairs;
    const std::size_t rows =
        std::max({pairs.prompt.size(), pairs.chosen_shorter.size(), pairs.rejected_shorter.size()});
    std::vector<std::int64_t> chosen, rejected;
    for (std::size_t row = 0; row < rows; ++row) {
        const std::int64_t left = plan.sequence_length - of_row(pairs.prompt, row);
        chosen.push_back(left - of_row(pairs.chosen_shorter, row));
        rejected.push_back(left - of_row(pairs.rejected_shorter, row));
    }
    JsonValue out = JsonValue::object();
    out.put("prompt_length", numbers(pairs.prompt));
    out.put("completion_length", numbers(or_one(chosen)));
    out.put("rejected_length", numbers(or_one(rejected)));
    return out;
}

void put_dpo(const TrainPlan& plan, JsonValue& arguments) {
    std::vector<JsonValue> losses;
    for (const PairLoss loss : plan.dpo.loss_types) losses.push_back(JsonValue::of(name_of(loss)));
    arguments.put("loss_type", JsonValue::list(std::move(losses)));
    if (plan.dpo.precompute_ref_log_probs) arguments.put("precompute_ref_log_probs", JsonValue::of(true));
    if (plan.dpo.precompute_ref_batch_size)
        arguments.put("precompute_ref_batch_size", JsonValue::of(*plan.dpo.precompute_ref_batch_size));
    if (!plan.dpo.disable_dropout) arguments.put("disable_dropout", JsonValue::of(false));
    if (!plan.training.max_length) arguments.put("max_length", JsonValue{});
}

}  // namespace vramfit
