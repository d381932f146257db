// LLaMA-Factory 0.9.5 data/collator.py PairwiseDataCollatorWithPadding, KTODataCollatorWithPadding; ms-swift 4.6
// template/base.py _rlhf_data_collator, _kto_data_collator.
#include "model/preferences/labelled_rows.hpp"

#include "model/preferences/kto_terms.hpp"
#include "model/preferences/rows.hpp"
#include "model/preferences/unpaired.hpp"

namespace vramfit::model {

using namespace engine;

Batch fetch_labelled(const Run& run) {
    const Dims rows{run.sizes.batch, run.sizes.length};
    Batch batch;
    for (Tensor* t : {&batch.input_ids, &batch.attention_mask}) *t = moved(run, rows, DType::int64);
    if (has_score(run.plan)) return batch;  // Template.encode takes the labels out
    batch.labels = moved(run, rows, DType::int64);
    if (run.plan.loop.kind != LoopKind::kto) return batch;
    const bool by_factory = by_llama_factory(run.plan);
    const Dims kl_rows{run.sizes.batch, sizes_of_kl_rows(run).length};
    if (has_kl(run) || by_factory)
        for (Tensor* t : {&batch.kl_input_ids, &batch.kl_attention_mask, &batch.kl_labels})
            *t = moved(run, kl_rows, DType::int64);
    if (by_factory) batch.desirable = moved(run, {run.sizes.batch}, DType::boolean);  // ms-swift's is a list
    return batch;
}

}  // namespace vramfit::model
