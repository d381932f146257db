// Models of text and images: which class is loaded.
#include <fmt/format.h>

#include "spec/plan_check_parts.hpp"

namespace vramfit {

// transformers 5.17.0 models/auto/modeling_auto.py MODEL_FOR_CAUSAL_LM_MAPPING_NAMES: ("gemma3",
// "Gemma3ForConditionalGeneration"), and so from 4.50 on, where the family came.
void check_text_part(const ModelSpec& model, const TrainPlan& plan, Problems& problems, Notes& notes) {
    if (!model.is_text_part) return;
    if (!plan.load.text_part) {
        problems.unsupported("model",
                             fmt::format("{} takes images too: AutoModelForCausalLM and the trainers load its vision "
                                         "tower as well, which is not predicted",
                                         model.name),
                             "--text-only (load.text_part in jobs) predicts the text part alone, as "
                             "Gemma3ForCausalLM.from_pretrained loads it; gemma-3-1b-it and gemma-3-270m have no "
                             "tower");
        return;
    }
    notes.push_back({NoteKind::text_part_only, "the text part alone is predicted, without the model of images",
                     "load it with Gemma3ForCausalLM.from_pretrained: AutoModelForCausalLM loads the whole, which "
                     "needs more"});
}

}  // namespace vramfit
