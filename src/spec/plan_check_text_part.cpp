// Models of text and images: which class is loaded.
#include <fmt/format.h>

#include "spec/plan_check_parts.hpp"

namespace vramfit {

namespace {

/// The class that loads the text part alone.
const char* class_of_text(const ModelSpec& model) {
    if (model.model_type == "qwen3_5_text") return "Qwen3_5ForCausalLM";
    return model.model_type == "qwen3_5_moe_text" ? "Qwen3_5MoeForCausalLM" : "Gemma3ForCausalLM";
}

}  // namespace

// transformers 5.17.0 models/auto/modeling_auto.py MODEL_FOR_CAUSAL_LM_MAPPING_NAMES: ("gemma3",
// "Gemma3ForConditionalGeneration"), and so from 4.50 on, where the family came; ("qwen3_5", "Qwen3_5ForCausalLM").
// trl takes the first of the configuration's architectures, which is the whole.
void check_text_part(const ModelSpec& model, const TrainPlan& plan, Problems& problems, Notes& notes) {
    if (!model.is_text_part) return;
    const bool auto_class_takes_text = model.model_type != "gemma3_text";
    if (auto_class_takes_text && !plan.load.text_part && plan.loop.kind <= LoopKind::plain) {
        notes.push_back({NoteKind::text_part_only, "the text part alone is predicted, as AutoModelForCausalLM loads it",
                         "AutoModelForImageTextToText loads the model of images too, which needs more"});
        return;
    }
    if (!plan.load.text_part) {
        problems.unsupported(
            "model",
            fmt::format("{} takes images too: {}the trainers load its vision "
                        "tower as well, which is not predicted",
                        model.name, auto_class_takes_text ? "" : "AutoModelForCausalLM and "),
            fmt::format("--text-only (load.text_part in jobs) predicts the text part alone, as "
                        "{}.from_pretrained loads it{}",
                        class_of_text(model),
                        auto_class_takes_text ? "" : "; gemma-3-1b-it and gemma-3-270m have no tower"));
        return;
    }
    notes.push_back(
        {NoteKind::text_part_only, "the text part alone is predicted, without the model of images",
         fmt::format("load it with {}.from_pretrained: {} the whole, which needs more", class_of_text(model),
                     auto_class_takes_text ? "trainers that are given its name load" : "AutoModelForCausalLM loads")});
}

}  // namespace vramfit
