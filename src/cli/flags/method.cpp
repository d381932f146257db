// Flags of a plan: the method, its adapters and its quantization.
#include <map>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "cli/flags/tables.hpp"
#include "cli/flags/targets.hpp"
#include "cli/flags/values.hpp"
#include "vramfit/spec/config.hpp"
#include "vramfit/spec/plan_names.hpp"

namespace vramfit::cli {

namespace {

enum class Method : std::uint8_t { full, lora, qlora };
constexpr Named<Method> kMethods[] = {{"full", Method::full}, {"lora", Method::lora}, {"qlora", Method::qlora}};
constexpr Named<QuantMethod> k4BitTypes[] = {{"nf4", QuantMethod::nf4}, {"fp4", QuantMethod::fp4}};

LoraPlan& adapters(Job& job, const std::string& where) {
    if (!job.plan.peft)
        throw Error(ErrorKind::invalid, where, "full training has no adapters", "choose --method lora or qlora");
    return *job.plan.peft;
}

/// Of LoRA alone.
LoraPlan& lora(Job& job, const std::string& where) {
    LoraPlan& plan = adapters(job, where);
    if (plan.kind != AdapterKind::lora)
        throw Error(ErrorKind::invalid, where, fmt::format("{} has no such option", facts_of(plan.kind).title),
                    "leave it out");
    return plan;
}

Words adapter_words() {
    Words out;
    for (const AdapterKindFacts& known : adapter_kinds()) out.emplace_back(known.name);
    return out;
}

/// The configuration's class with its defaults, and peft's targets for it.
void set_adapter(Job& job, std::string_view value, const std::string& where) {
    const AdapterKindFacts* const facts = find_adapter_kind(value);
    if (!facts)
        throw Error(ErrorKind::unsupported, where,
                    fmt::format("adapters of type '{}' are not supported{}", value, why_not_predicted(value)),
                    fmt::format("supported: {}", fmt::join(adapter_words(), ", ")));
    LoraPlan& plan = adapters(job, where);
    if (plan.kind == facts->kind) return;
    plan = LoraPlan{};
    plan.kind = facts->kind;
    plan.r = facts->rank;
    plan.target_modules = default_targets(job.model, plan.kind);
}

void set_rank(Job& job, std::string_view value, const std::string& where) {
    LoraPlan& plan = adapters(job, where);
    if (!facts_of(plan.kind).has_rank())
        throw Error(ErrorKind::invalid, where, fmt::format("{} has no rank", facts_of(plan.kind).title),
                    plan.kind == AdapterKind::oft ? "--oft_block_size" : "leave it out");
    plan.r = integer_from(value, where);
}

void set_block_size(Job& job, std::string_view value, const std::string& where) {
    LoraPlan& plan = adapters(job, where);
    if (plan.kind != AdapterKind::oft)
        throw Error(ErrorKind::invalid, where, fmt::format("{} has no blocks", facts_of(plan.kind).title),
                    "--adapter oft in front of it");
    plan.options.blocks = 0;
    plan.options.block_size = integer_from(value, where);
}

/// IA3's modules whose input is scaled, not their output; none: of no module.
void set_feedforward_modules(Job& job, std::string_view value, const std::string& where) {
    LoraPlan& plan = adapters(job, where);
    if (plan.kind != AdapterKind::ia3)
        throw Error(ErrorKind::invalid, where,
                    fmt::format("{} has no feed-forward modules of its own", facts_of(plan.kind).title),
                    "--adapter ia3 in front of it");
    plan.options.feedforward_modules = value == "none" ? std::vector<std::string>() : words_from(value, where);
}

/// Of kinds with virtual tokens.
LoraPlan& prompt(Job& job, const std::string& where) {
    LoraPlan& plan = adapters(job, where);
    if (!facts_of(plan.kind).is_prompt)
        throw Error(ErrorKind::invalid, where, fmt::format("{} has no virtual tokens", facts_of(plan.kind).title),
                    "--adapter prompt_tuning, p_tuning, prefix_tuning or cartridge in front of it");
    return plan;
}

void set_virtual_tokens(Job& job, std::string_view value, const std::string& where) {
    prompt(job, where).options.virtual_tokens = integer_from(value, where);
}

void set_encoder_width(Job& job, std::string_view value, const std::string& where) {
    prompt(job, where).options.encoder_hidden_size = integer_from(value, where);
}

LoraPlan& adaption_prompt(Job& job, const std::string& where) {
    LoraPlan& plan = adapters(job, where);
    if (plan.kind != AdapterKind::adaption_prompt)
        throw Error(ErrorKind::invalid, where, fmt::format("{} has no such option", facts_of(plan.kind).title),
                    "--adapter adaption_prompt in front of it");
    return plan;
}

/// Alone, or beside LoRA.
void set_token_indices(Job& job, std::string_view value, const std::string& where) {
    LoraPlan& plan = adapters(job, where);
    if (plan.kind != AdapterKind::lora && plan.kind != AdapterKind::trainable_tokens)
        throw Error(ErrorKind::invalid, where, fmt::format("{} trains no tokens", facts_of(plan.kind).title),
                    "--adapter trainable_tokens or lora in front of it");
    plan.options.token_indices.clear();
    for (const std::string& token : words_from(value, where))
        plan.options.token_indices.push_back(integer_from(token, where, 0));
}

void set_dropout(Job& job, std::string_view value, const std::string& where) {
    LoraPlan& plan = adapters(job, where);
    if (!has_dropout(plan.kind))
        throw Error(ErrorKind::invalid, where, fmt::format("{} has no dropout", facts_of(plan.kind).title),
                    "leave it out");
    const double dropout = number_from(value, where);
    if (dropout > 1) throw Error(ErrorKind::invalid, where, fmt::format("{} is above 1", value), "a share: 0 to 1");
    plan.lora_dropout = dropout;
}

QuantizationPlan& quantization(Job& job, const std::string& where) {
    if (!job.plan.load.quantization)
        throw Error(ErrorKind::invalid, where, "the network is not quantized",
                    "choose --method qlora, or give --load_in_4bit or --load_in_8bit");
    return *job.plan.load.quantization;
}

// QLoRA as its authors and peft's guide run it: nf4 with double quantization, computing in the dtype of the load,
// prepare_model_for_kbit_training, checkpointing.
void make_qlora(TrainPlan& plan) {
    plan.load.quantization = QuantizationPlan{};
    plan.load.quantization->double_quant = true;
    plan.load.quantization->compute_dtype = plan.load.dtype;
    plan.prepare_kbit = PreparePlan{};
    plan.training.gradient_checkpointing = true;
}

void set_method(Job& job, std::string_view value, const std::string& where) {
    const Method method = value_from(value, where, kMethods);
    if (method == Method::full)
        job.plan.peft.reset();
    else if (!job.plan.peft)
        job.plan.peft.emplace().target_modules = default_targets(job.model);
    job.plan.load.quantization.reset();
    job.plan.prepare_kbit.reset();
    if (method == Method::qlora) make_qlora(job.plan);
}

// trl's ModelConfig: nf4 unless told otherwise.
void set_load_in(Job& job, std::string_view value, const std::string& where, bool eight) {
    auto& quantization = job.plan.load.quantization;
    const bool is_there = quantization && (quantization->method == QuantMethod::int8) == eight;
    if (!boolean_from(value, where)) {
        if (is_there) quantization.reset();
        return;
    }
    if (is_there) return;
    quantization = QuantizationPlan{};
    if (eight) quantization->method = QuantMethod::int8;
}

void set_prepare(Job& job, std::string_view value, const std::string& where) {
    if (!boolean_from(value, where))
        job.plan.prepare_kbit.reset();
    else if (!job.plan.prepare_kbit)
        job.plan.prepare_kbit = PreparePlan{};
}

constexpr const char* kMethod = "Method";
constexpr const char* kQuantization = "Quantization";

constexpr PlanFlag kMethodFlags[] = {
    {"method", "", "METHOD", nullptr, kMethod,
     "full, lora or qlora (nf4 with double quantization, prepared for k-bit training, checkpointing) [lora]",
     set_method, 0, words_of<kMethods>},
    {"adapter", "peft_type", "KIND", nullptr, kMethod,
     "Kind of the adapters: lora, ia3, loha, lokr, vera, oft, adalora, ln_tuning, hra, miss, road, randlora, vblora, "
     "delora, gralora, pvera, unilora, lily, glora, deft, beft, hira, supertuning, peanut, tinylora, psoft, osf, "
     "prompt_tuning, p_tuning, prefix_tuning, cartridge, adaption_prompt or trainable_tokens [lora]",
     set_adapter, 0, adapter_words},
    {"rank", "r lora_r lora_rank", "N", nullptr, kMethod,
     "Rank of the adapters [8; vera and pvera 256, adalora 12, miss 64, vblora and unilora 4, tinylora 2; randlora, "
     "gralora, lily, hira, peanut and psoft 32]",
     set_rank},
    {"oft_block_size", "", "N", nullptr, kMethod, "Size of OFT's blocks [32]", set_block_size},
    {"feedforward_modules", "", "NAME,...", nullptr, kMethod,
     "IA3's modules whose input is scaled instead of the output, or none [peft's table for the model]",
     set_feedforward_modules},
    {"num_virtual_tokens", "", "N", nullptr, kMethod,
     "Tokens that prompt tuning, P-tuning, prefix tuning or a cartridge learns [none]", set_virtual_tokens},
    {"encoder_hidden_size", "", "N", nullptr, kMethod, "Width of the encoder of P-tuning's virtual tokens [none]",
     set_encoder_width},
    {"adapter_len", "", "N", nullptr, kMethod, "Tokens of adaption prompts in each layer [none]",
     [](Job& job, std::string_view value, const std::string& where) {
         adaption_prompt(job, where).options.adapter_len = integer_from(value, where);
     }},
    {"adapter_layers", "", "N", nullptr, kMethod, "How many of the last layers have adaption prompts [none]",
     [](Job& job, std::string_view value, const std::string& where) {
         adaption_prompt(job, where).options.adapter_layers = integer_from(value, where);
     }},
    {"token_indices", "trainable_token_indices", "N,...", nullptr, kMethod,
     "Tokens whose embeddings are trained, alone (--adapter trainable_tokens) or beside LoRA [none]",
     set_token_indices},
    {"lora-alpha", "", "X", nullptr, kMethod, "LoRA's alpha; no effect on memory [8]",
     [](Job& job, std::string_view value, const std::string& where) {
         lora(job, where).lora_alpha = number_from(value, where);
     }},
    {"lora-dropout", "", "X", nullptr, kMethod, "Dropout before the adapters [0]", set_dropout},
    {"targets", "lora_target_modules target_modules", "NAME,...", nullptr, kMethod,
     "Modules with adapters: names, a regular expression, all-linear, or the groups attention, mlp, embedding "
     "[those of queries and values]",
     [](Job& job, std::string_view value, const std::string& where) {
         adapters(job, where).target_modules = targets_from(value, job.model, where);
     },
     1,
     [] {
         return Words{"all-linear", "attention", "mlp", "embedding"};
     }},
    {"save-whole", "modules_to_save lora_modules_to_save", "NAME,...", nullptr, kMethod,
     "Modules that are trained whole beside the adapters [none]",
     [](Job& job, std::string_view value, const std::string& where) {
         adapters(job, where).modules_to_save = words_from(value, where);
     }},
    {"use_rslora", "", "BOOL", "true", kMethod, "Rank-stabilized LoRA; no effect on memory [false]",
     [](Job& job, std::string_view value, const std::string& where) {
         lora(job, where).use_rslora = boolean_from(value, where);
     }},
    {"use_dora", "", "BOOL", "true", kMethod, "DoRA [false]",
     [](Job& job, std::string_view value, const std::string& where) {
         lora(job, where).use_dora = boolean_from(value, where);
     }},
    {"load_in_4bit", "", "BOOL", "true", kQuantization, "Quantize to 4 bits [true with qlora, else false]",
     [](Job& job, std::string_view value, const std::string& where) { set_load_in(job, value, where, false); }},
    {"load_in_8bit", "", "BOOL", "true", kQuantization, "Quantize to 8 bits [false]",
     [](Job& job, std::string_view value, const std::string& where) { set_load_in(job, value, where, true); }},
    {"bnb_4bit_quant_type", "", "TYPE", nullptr, kQuantization, "nf4 or fp4 [nf4]",
     [](Job& job, std::string_view value, const std::string& where) {
         quantization(job, where).method = value_from(value, where, k4BitTypes);
     },
     1, words_of<k4BitTypes>},
    {"bnb_4bit_use_double_quant", "use_bnb_nested_quant use_nested_quant", "BOOL", "true", kQuantization,
     "Quantize the scales too [true with qlora, else false]",
     [](Job& job, std::string_view value, const std::string& where) {
         quantization(job, where).double_quant = boolean_from(value, where);
     }},
    {"bnb_4bit_compute_dtype", "", "DTYPE", nullptr, kQuantization,
     "Dtype that 4-bit layers compute in [--dtype with qlora, else float32]",
     [](Job& job, std::string_view value, const std::string& where) {
         quantization(job, where).compute_dtype = dtype_value_from(value, where);
     },
     1, words_of<kLoadDTypes>},
    {"bnb_4bit_quant_storage", "", "DTYPE", nullptr, kQuantization,
     "Dtype that packed weights are kept in; FSDP cuts them only as the dtype of the other weights [uint8]",
     [](Job& job, std::string_view value, const std::string& where) {
         quantization(job, where).storage = value_from(value, where, kQuantStorages);
     },
     1, words_of<kQuantStorages>},
    {"prepare-kbit", "prepare_model_for_kbit_training", "BOOL", "true", kQuantization,
     "Call peft's prepare_model_for_kbit_training [true with qlora, else false]", set_prepare},
};

}  // namespace

std::span<const PlanFlag> method_flags() { return kMethodFlags; }

void refuse_contradictions(const std::map<std::string, GivenValue>& given) {
    const auto truth = [&given](const char* name) -> std::optional<bool> {
        const auto found = given.find(name);
        if (found == given.end()) return std::nullopt;
        return boolean_from(found->second.value, found->second.where);
    };
    const auto refuse = [&given](const char* name, const char* what, const char* hint) {
        throw Error(ErrorKind::invalid, given.at(name).where, what, hint);
    };
    const std::optional<bool> four = truth("load_in_4bit");
    const std::optional<bool> eight = truth("load_in_8bit");
    if (four.value_or(false) && eight.value_or(false))
        refuse("load_in_8bit", "load_in_4bit is true as well (transformers: only one can be used at the same time)",
               "give one of them");
    const auto method = given.find("method");
    if (method == given.end()) return;
    if (method->second.value == "qlora" && eight.value_or(false))
        refuse("load_in_8bit", "--method qlora quantizes to 4 bits", "--method lora for adapters over an 8-bit base");
    if (method->second.value == "qlora" && four == false)
        refuse("load_in_4bit", "--method qlora is LoRA over a base in 4 bits",
               "--method lora for a base that is not quantized");
    if (method->second.value == "full" && (four.value_or(false) || eight.value_or(false)))
        refuse(four.value_or(false) ? "load_in_4bit" : "load_in_8bit",
               "--method full trains all weights, and quantized ones cannot be trained",
               "--method qlora, or --method lora with --load_in_8bit");
}

}  // namespace vramfit::cli
