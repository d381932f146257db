// Job files: the key `unsloth`, the arguments of FastLanguageModel.from_pretrained and get_peft_model (unsloth
// 2026.10.7).
#include <fmt/format.h>

#include "spec/job_read.hpp"

namespace vramfit {

namespace {

constexpr IntegerRange kTokensAtMost = {.low = 1, .high = std::int64_t{1} << 31};
constexpr IntegerRange kRowTokens = {.low = 2, .high = std::int64_t{1} << 31};

void refuse_option(ObjectReader& unsloth, std::string_view key, std::string_view what) {
    const auto value = unsloth.boolean(key, Null::absent);
    if (value && *value)
        unsloth.problems().unsupported(unsloth.path(key), fmt::format("{} is not supported", what),
                                       "leave the key out");
}

/// "unsloth", true or false.
void read_unsloth_checkpointing(ObjectReader& unsloth, UnslothPlan& plan) {
    constexpr std::string_view kKey = "use_gradient_checkpointing";
    const JsonValue* value = unsloth.value(kKey);
    if (!value) return;
    const bool is_flag = value->kind == JsonValue::Kind::boolean;
    if (is_flag && value->boolean)
        plan.checkpointing = UnslothCheckpointing::plain;
    else if (is_flag || value->kind == JsonValue::Kind::null)
        unsloth.problems().unsupported(unsloth.path(kKey), "Unsloth without checkpointing is not supported",
                                       "\"unsloth\", or true");
    else if (value->kind != JsonValue::Kind::text || value->text != "unsloth")
        unsloth.problems().invalid(unsloth.path(kKey),
                                   fmt::format("\"unsloth\" or true is wanted, not {}", value->shown()),
                                   "\"unsloth\" keeps inputs of layers in host memory");
}

/// What load_in_4bit is there.
QuantizationPlan four_bits(DType compute) {
    QuantizationPlan plan;
    plan.method = QuantMethod::nf4;
    plan.double_quant = true;
    plan.compute_dtype = compute;
    return plan;
}

}  // namespace

void read_unsloth(ObjectReader& job, TrainPlan& plan) {
    const JsonValue nothing = JsonValue::object();
    auto given = job.object("unsloth", Null::absent);
    ObjectReader unsloth = given ? std::move(*given) : ObjectReader(nothing, job.path("unsloth"), job.problems());
    // models/loader.py: bfloat16, or float16 where the card has none, which the precision of training says here.
    if (plan.training.fp16) plan.load.dtype = DType::float16;
    if (unsloth.boolean("load_in_4bit").value_or(true)) {
        plan.load.quantization = four_bits(plan.load.dtype);
    } else {
        plan.load.quantization.reset();
    }
    refuse_option(unsloth, "full_finetuning", "training of the whole network with Unsloth");
    refuse_option(unsloth, "load_in_8bit", "Unsloth on 8-bit weights");
    if (const JsonValue* dtype = unsloth.value("dtype"); dtype && dtype->kind != JsonValue::Kind::null)
        unsloth.problems().unsupported(unsloth.path("dtype"), "a dtype of one's own is not supported", "null");
    plan.unsloth.max_seq_length = unsloth.integer("max_seq_length", kTokensAtMost, Null::absent);
    plan.unsloth.packed_checkpoint = unsloth.boolean("packed_checkpoint").value_or(false);
    plan.unsloth.layers_unknown = unsloth.boolean("layers_unknown").value_or(false);
    plan.unsloth.embedding_learning_rate = unsloth.real("embedding_learning_rate", {.low = 0}, Null::absent);
    if (auto modules = unsloth.texts("llm_int8_skip_modules", Null::absent))
        plan.unsloth.skip_modules = std::move(*modules);
    read_unsloth_checkpointing(unsloth, plan.unsloth);
    unsloth.refuse_unknown();
}

void read_unsloth_rows(ObjectReader& batch, BatchPlan& plan) {
    const JsonValue* lengths = batch.value("lengths");
    if (!lengths || lengths->kind == JsonValue::Kind::null) return;
    ObjectReader::set(plan.lengths, batch.integers("lengths", kRowTokens));
    if (plan.lengths.empty())
        batch.problems().invalid(batch.path("lengths"), "a list of lengths is wanted",
                                 "tokens of each row of a batch, [1024, 700]");
}

void read_unsloth_training(ObjectReader& training, UnslothPlan& plan) {
    plan.padding_free = training.boolean("padding_free", Null::absent).value_or(true);
    plan.packing = training.boolean("packing", Null::absent).value_or(false);
}

JsonValue unsloth_to_json(const TrainPlan& plan) {
    JsonValue out = JsonValue::object();
    out.put("load_in_4bit", JsonValue::of(plan.load.quantization.has_value()));
    if (plan.unsloth.max_seq_length) out.put("max_seq_length", JsonValue::of(*plan.unsloth.max_seq_length));
    if (plan.unsloth.packed_checkpoint) out.put("packed_checkpoint", JsonValue::of(true));
    if (plan.unsloth.layers_unknown) out.put("layers_unknown", JsonValue::of(true));
    if (plan.unsloth.embedding_learning_rate)
        out.put("embedding_learning_rate", JsonValue::of(*plan.unsloth.embedding_learning_rate));
    if (!plan.unsloth.skip_modules.empty())
        out.put("llm_int8_skip_modules", JsonValue::texts(plan.unsloth.skip_modules));
    out.put("use_gradient_checkpointing", plan.unsloth.checkpointing == UnslothCheckpointing::plain
                                              ? JsonValue::of(true)
                                              : JsonValue::of(std::string_view("unsloth")));
    return out;
}

}  // namespace vramfit
