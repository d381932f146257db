// axolotl's fsdp, fsdp_config and fsdp_version: TrainingArguments get them from its schema, accelerate from variables.
#include <fmt/format.h>

#include "trainers/fsdp.hpp"
#include "trainers/fsdp_options.hpp"

namespace vramfit::trainers {

namespace {

bool is_asked(Reader& reader, const char* key) {
    const Value* const value = reader.value(key);
    return value && python_truth(*value);
}

/// Of `fsdp`, what counts beside fsdp_config: shards in host memory, what reshards.
void read_old_words(Reader& reader, FsdpOptions& options) {
    for (const std::string& word : reader.texts("fsdp").value_or(std::vector<std::string>())) {
        if (word == "offload") options.offloads = true;
        if (word == "shard_grad_op") options.reshards = false;
        if (word != "offload" && word != "shard_grad_op" && word != "full_shard" && word != "auto_wrap")
            reader.refuse("fsdp", fmt::format("'{}' is not predicted", word), "full_shard, auto_wrap");
    }
}

// utils/schemas/validation.py.
void refuse_as_axolotl(Reader& reader, const DistributedPlan& processes) {
    const std::string optimizer = reader.text("optimizer").value_or("");
    const bool second = processes.as<Fsdp2Plan>() != nullptr;
    if (second && (optimizer == "adamw_8bit" || optimizer == "adamw_bnb_8bit"))
        reader.invalid(
            "optimizer",
            fmt::format("axolotl stops: FSDP2 not compatible with {}, use `adamw_torch_8bit` instead", optimizer),
            "adamw_torch_fused");
    if (!second && processes.shards_on_host() && optimizer.find("8bit") != optimizer.npos)
        reader.invalid("optimizer", fmt::format("axolotl stops: FSDP Offload not compatible with {}", optimizer),
                       "adamw_torch_fused");
}

}  // namespace

bool asks_for_axolotl_fsdp(Reader& reader) { return is_asked(reader, "fsdp") || is_asked(reader, "fsdp_config"); }

// utils/trainer.py setup_fsdp_envs, core/builders/base.py, transformers 5.14 to 5.17 training_args.py
// _process_fsdp_args. Version 1 where none is said: schemas/validation.py check_fsdp_version_in_fsdp_config.
void read_fsdp_of_axolotl(Reader& reader, Draft& draft) {
    draft.fsdp_key = "fsdp_config";
    if (!is_asked(reader, "fsdp_config"))
        return reader.invalid("fsdp", "axolotl stops without fsdp_config ('NoneType' object has no attribute)",
                              "fsdp_version: 2 and fsdp_config: {auto_wrap_policy: TRANSFORMER_BASED_WRAP}");
    FsdpOptions options(reader, {.prefixes = {"fsdp_config.", "fsdp_config.fsdp_", "fsdp_"},
                                 .offload = "offload_params",
                                 .arguments = true,
                                 .version = 1,
                                 .policy = "TRANSFORMER_BASED_WRAP"});
    const auto named = reader.integer("fsdp_version");
    if (named && named != reader.integer(options.key("version")))
        return reader.refuse("fsdp_version", fmt::format("{} says another version", options.key("version")),
                             "the same in both");
    read_old_words(reader, options);
    read_fsdp_version(options, draft);
    DistributedPlan& processes = *draft.processes;
    if (Fsdp2Plan* const fsdp = processes.as<Fsdp2Plan>()) fsdp->prepared_by = FsdpPreparation::axolotl;
    refuse_as_axolotl(reader, processes);
}

}  // namespace vramfit::trainers
