// axolotl 0.19 loaders/model.py _configure_embedding_dtypes, _prepare_model_for_quantization.
#include "trainers/axolotl_casts.hpp"

namespace vramfit::trainers {

void read_axolotl_casts(Reader& reader, Draft& draft) {
    TrainPlan& plan = draft.job.plan;
    if (!draft.fsdp_key.empty()) return;  // "this will leave mixed and bfloat16 dtypes in the model"
    const bool skips = reader.boolean("embeddings_skip_upcast").value_or(false);
    const bool four = plan.load.quantization && plan.load.quantization->method != QuantMethod::int8;
    plan.load.upcast = skips && four ? UpcastParts::norms : UpcastParts::norms_and_embeddings;
    if (!plan.load.quantization) return;
    plan.prepare_kbit.emplace();
    plan.prepare_kbit->use_gradient_checkpointing = plan.training.gradient_checkpointing;
}

// should_convert, utils/schemas/enums.py ATTN_IMPLS_WITHOUT_DTYPE_CAST: what is cast to float32 is cast back where
// there is an adapter, cut cross entropy, or another attention than sdpa and eager.
void leave_axolotl_casts(Reader& reader, Draft& draft) {
    TrainPlan& plan = draft.job.plan;
    const bool needs_16_bit = plan.peft || plan.training.cut_cross_entropy ||
                              plan.load.attention == AttentionImplementation::flash_attention_2;
    if (!plan.load.upcast || needs_16_bit || plan.load.dtype == DType::float32) return;
    plan.load.upcast_stays = true;
    if (!plan.training.bf16 && !plan.training.fp16)
        reader.invalid("attn_implementation",
                       "torch stops: in full training with this attention axolotl leaves norms, embedding and head in "
                       "float32, whose results do not go into 16-bit layers without mixed precision",
                       "bf16: true, or attn_implementation: flash_attention_2, with which axolotl casts them back");
}

}  // namespace vramfit::trainers
