// Which class each trainer loads a checkpoint of text and images with, as its source says.
#include "trainers/loaded_class.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "spec/text_part.hpp"

namespace vramfit::trainers {

namespace {

/// A trainer's class, by the name of its format. In `text_by` {} is the class of the text part; empty: there is no way
/// to it.
struct Row {
    std::string_view format;
    std::string_view trainer;
    std::string_view how;
    std::string_view text_by;
    bool by_auto_class = false;  ///< AutoModelForCausalLM
};

constexpr Row kRows[] = {
    // 0.9.5 model/loader.py load_model: `type(config) in AutoModelForImageTextToText._model_mapping.keys()`.
    {"llama-factory", "LLaMA-Factory", "it asks AutoModelForImageTextToText before AutoModelForCausalLM", ""},
    // 0.19 loaders/model.py _set_auto_model_loader, _build_model; utils/config/__init__.py is_multimodal.
    {"axolotl", "axolotl", "by AutoModelForImageTextToText, as the model type is in transformers' list of these",
     "type_of_model: {}"},
    // 4.6 model/models/gemma.py Gemma3VisionLoader.get_model.
    {"ms-swift", "ms-swift", "as its loader of that model says", ""},
    // 2026.10.9 models/loader.py FastModel.from_pretrained: auto_model = AutoModelForVision2Seq where is_vlm.
    {"unsloth-script", "Unsloth", "by AutoModelForImageTextToText", "text_only = True in from_pretrained"},
    {"unsloth-studio", "Unsloth", "by AutoModelForImageTextToText", ""},
    // 0.24 to 1.16 trainer/utils.py create_model_from_path: getattr(transformers, config.architectures[0]).
    {"trl", "trl", "the first of the config's architectures; before 0.24 by AutoModelForCausalLM", ""},
    {"trl-preferences", "trl", "the first of the config's architectures; before 0.24 by AutoModelForCausalLM", ""},
    {"trl-preferences-script", "trl", "the first of the config's architectures; before 0.24 by AutoModelForCausalLM",
     "{}.from_pretrained, and the model itself given to the trainer"},
    {"trl-script", "trl", "the first of the config's architectures; before 0.24 by AutoModelForCausalLM",
     "{}.from_pretrained, and the model itself given to the trainer"},
    {"trainer-script", "AutoModelForCausalLM", "its list has the type of the whole", "{}.from_pretrained in its place",
     true},
    {"training-args", "AutoModelForCausalLM", "its list has the type of the whole", "", true},
};

/// The class that the file itself names for the model, or an empty text.
std::string named_class(std::string_view format, Reader& reader) {
    if (format == "axolotl")
        return reader.boolean("trust_remote_code").value_or(false) ? "" : reader.text("type_of_model").value_or("");
    if (format.ends_with("script") && format != "unsloth-script") return reader.text("loader").value_or("");
    return "";
}

}  // namespace

ModelLoader model_loader(std::string_view format, Reader& reader) {
    return {std::string(format), named_class(format, reader),
            format == "unsloth-script" && reader.boolean("from_pretrained.text_only").value_or(false)};
}

LoadedClass loaded_class(const ModelLoader& loader, std::string_view text_type) {
    const TextPartClasses& classes = classes_of_text_part(text_type);
    const auto row =
        std::find_if(std::begin(kRows), std::end(kRows), [&](const Row& r) { return r.format == loader.format; });
    const bool known = row != std::end(kRows);
    const bool by_auto_class =
        loader.named == "AutoModelForCausalLM" || (known && row->by_auto_class && loader.named.empty());
    LoadedClass out;
    out.text_alone = loader.text_only || loader.named == classes.text || (by_auto_class && classes.auto_takes_text);
    if (!known) return out;
    out.what = fmt::format("{} loads {} ({})", row->trainer, classes.whole, row->how);
    out.text_by = fmt::format(fmt::runtime(row->text_by), classes.text);
    return out;
}

}  // namespace vramfit::trainers
