// transformers 4.50 to 5.23 models/auto/modeling_auto.py: AutoModelForCausalLM gives Gemma3ForConditionalGeneration for
// a config of the type gemma3, and Gemma3ForCausalLM for gemma3_text alone.
#include "trainers/loaded_class.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace vramfit::trainers {

namespace {

constexpr std::string_view kWhole = "Gemma3ForConditionalGeneration";
constexpr std::string_view kText = "Gemma3ForCausalLM";

/// A trainer's class, by the name of its format; `text_by` empty: there is no way to the text part alone.
struct Row {
    std::string_view format;
    std::string_view trainer;
    std::string_view how;
    std::string_view text_by;
};

constexpr Row kRows[] = {
    // 0.9.5 model/loader.py load_model: `type(config) in AutoModelForImageTextToText._model_mapping.keys()`.
    {"llama-factory", "LLaMA-Factory", "it asks AutoModelForImageTextToText before AutoModelForCausalLM", ""},
    // 0.19 loaders/model.py _set_auto_model_loader, _build_model; utils/config/__init__.py is_multimodal.
    {"axolotl", "axolotl", "by AutoModelForImageTextToText, as the model type is in transformers' list of these",
     "type_of_model: Gemma3ForCausalLM"},
    // 4.6 model/models/gemma.py Gemma3VisionLoader.get_model.
    {"ms-swift", "ms-swift", "its Gemma3VisionLoader says so", ""},
    // 2026.10.9 models/loader.py FastModel.from_pretrained: auto_model = AutoModelForVision2Seq where is_vlm.
    {"unsloth-script", "Unsloth", "by AutoModelForImageTextToText", "text_only = True in from_pretrained"},
    {"unsloth-studio", "Unsloth", "by AutoModelForImageTextToText", ""},
    // 0.24 to 1.16 trainer/utils.py create_model_from_path: getattr(transformers, config.architectures[0]).
    {"trl", "trl", "the first of the config's architectures; before 0.24 by AutoModelForCausalLM", ""},
    {"trl-preferences", "trl", "the first of the config's architectures; before 0.24 by AutoModelForCausalLM", ""},
    {"trl-preferences-script", "trl", "the first of the config's architectures; before 0.24 by AutoModelForCausalLM",
     "Gemma3ForCausalLM.from_pretrained, and the model itself given to the trainer"},
    {"trl-script", "trl", "the first of the config's architectures; before 0.24 by AutoModelForCausalLM",
     "Gemma3ForCausalLM.from_pretrained, and the model itself given to the trainer"},
    {"trainer-script", "AutoModelForCausalLM", "its list has the type gemma3",
     "Gemma3ForCausalLM.from_pretrained in its place"},
    {"training-args", "AutoModelForCausalLM", "its list has the type gemma3", ""},
};

/// Whether the file itself names the class of the text part.
bool names_text_part(std::string_view format, Reader& reader) {
    if (format == "axolotl")
        return reader.text("type_of_model").value_or("") == kText &&
               !reader.boolean("trust_remote_code").value_or(false);
    if (format == "unsloth-script") return reader.boolean("from_pretrained.text_only").value_or(false);
    if (format.ends_with("script") && format != "unsloth-script") return reader.text("loader").value_or("") == kText;
    return false;
}

}  // namespace

LoadedClass loaded_class(std::string_view format, Reader& reader) {
    LoadedClass out;
    out.text_alone = names_text_part(format, reader);
    const auto row = std::find_if(std::begin(kRows), std::end(kRows), [&](const Row& r) { return r.format == format; });
    if (row == std::end(kRows)) return out;
    out.what = fmt::format("{} loads {} ({})", row->trainer, kWhole, row->how);
    out.text_by = row->text_by;
    return out;
}

}  // namespace vramfit::trainers
