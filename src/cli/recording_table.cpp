// What a recorded network was recorded with, which questions its variants answer, and how far it was checked.
#include "cli/recording_table.hpp"

#include <filesystem>

#include "spec/network/document.hpp"
#include "spec/network/type.hpp"
#include "vramfit/spec/config.hpp"
#include "vramfit/spec/environment.hpp"
#include "vramfit/spec/models.hpp"

namespace vramfit::cli {

namespace {

/// Whether commands answer questions that need this variant.
std::string answers(const network::Variant& variant) {
    if (variant.only) return "no: recorded for one size";
    if (variant.not_fitted > 0) return "no: sizes without a formula";
    if (variant.use_cache || variant.attention == "flash_attention_2") return "no: not compared yet";
    return "yes";
}

std::string condition(const network::Variant& variant) {
    std::string text = variant.weights;
    const auto add = [&text](const std::string& word) { text += text.empty() ? word : ", " + word; };
    if (variant.autocast) add(*variant.autocast ? "autocast" : "no autocast");
    if (variant.one_row) add("batch 1");
    if (variant.sizes) add(variant.sizes->text);
    return text;
}

ReportTable type_table() {
    ReportTable table{"vramfit.types/1",
                      "types",
                      {{"family", "model type", 0},
                       {"transformers", "recorded with transformers", 1},
                       {"torch", "torch", 4},
                       {"networks", "networks compared", 2},
                       {"jobs", "jobs compared with traces", 3}},
                      {}};
    const auto add = [&table](std::string_view model_type, const network::TypeFacts& facts) {
        table.rows.push_back({std::string(model_type), std::string(facts.transformers), std::string(facts.torch),
                              facts.networks, facts.jobs});
    };
    for (const network::BuiltInType& type : network::built_in_types()) {
        add(type.model_type, type.facts);
        for (const network::TypeRecording& other : type.other_releases) add(type.model_type, other.facts);
    }
    return table;
}

}  // namespace

std::optional<ReportTable> recording_table(const std::string& file) {
    std::error_code ignored;
    if (file == "types" && !std::filesystem::exists(file, ignored)) return type_table();
    if (!std::filesystem::is_regular_file(file, ignored)) return std::nullopt;
    const ModelSpec model = load_model(file, Environment{}, "TEXT");
    if (!model.recording) return std::nullopt;
    const network::Document& recording = *model.recording;
    ReportTable table{"vramfit.recording/1",
                      "variants",
                      {{"family", "recorded", 0},
                       {"transformers", "transformers", 4},
                       {"torch", "torch", 5},
                       {"parameters", "parameters", 7},
                       {"layers", "", 0},
                       {"attention", "attention", 0},
                       {"mask", "mask", 0},
                       {"cache", "cache", 6},
                       {"loss", "loss", 0},
                       {"checkpointing", "checkpointing", 0},
                       {"only_for", "only for", 2},
                       {"answered", "answered", 1},
                       {"traces", "compared with traces", 3}},
                      {}};
    for (const network::Variant& variant : recording.variants)
        table.rows.push_back({model.model_type, recording.transformers, recording.torch, total_parameters(model),
                              model.num_hidden_layers, variant.attention, variant.mask, variant.use_cache,
                              std::string(!variant.labels ? "none"
                                          : variant.items ? "of Trainer"
                                                          : "of the model"),
                              variant.checkpointing, condition(variant), answers(variant),
                              std::string(recording.of_type ? "its type" : "no")});
    return table;
}

}  // namespace vramfit::cli
