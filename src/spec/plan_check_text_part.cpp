// Models of text and images: which class is loaded.
#include <fmt/format.h>

#include "spec/plan_check_parts.hpp"
#include "spec/text_part.hpp"
#include "vramfit/spec/config.hpp"

namespace vramfit {

// trl takes the first of the configuration's architectures, which is the whole.
void check_text_part(const ModelSpec& model, const TrainPlan& plan, Problems& problems, Notes& notes) {
    if (!model.is_text_part) {
        if (plan.load.text_part.value_or(false) && has_towers(model))
            problems.unsupported("load.text_part",
                                 fmt::format("{} has no class that loads its text part alone", model.name),
                                 "leave --text-only out, or give the text model's own config.json");
        return;
    }
    const TextPartClasses& classes = classes_of_text_part(model.model_type);
    const bool part_said = plan.load.text_part.value_or(false);
    if (classes.auto_takes_text && !plan.load.text_part && plan.loop.kind <= LoopKind::plain) {
        notes.push_back({NoteKind::text_part_only, "the text part alone is predicted, as AutoModelForCausalLM loads it",
                         "AutoModelForImageTextToText loads the model of images too, which needs more"});
        return;
    }
    if (!part_said) {
        const bool recorded = !model.whole_config.empty();  // loaded whole where that is said
        problems.unsupported(
            "model",
            fmt::format("{} takes images too: {}the trainers load its vision tower as well{}", model.name,
                        classes.auto_takes_text ? "" : "AutoModelForCausalLM and ",
                        recorded ? "" : ", which is not predicted"),
            fmt::format("{}--text-only (load.text_part in jobs) predicts the text part alone, as "
                        "{}.from_pretrained loads it{}",
                        recorded ? "--text-only false (load.text_part) predicts the whole; " : "", classes.text,
                        classes.auto_takes_text ? "" : "; gemma-3-1b-it and gemma-3-270m have no tower"));
        return;
    }
    notes.push_back({NoteKind::text_part_only, "the text part alone is predicted, without the model of images",
                     fmt::format("load it with {}.from_pretrained: {} the whole, which needs more", classes.text,
                                 classes.auto_takes_text ? "trainers that are given its name load"
                                                         : "AutoModelForCausalLM loads")});
}

}  // namespace vramfit
