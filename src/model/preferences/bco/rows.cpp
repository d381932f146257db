// trl 1.9 experimental/bco/bco_trainer.py _tokenize, _process_tokens; experimental/utils.py DPODataCollatorWithPadding:
// every column of ids, masks and labels goes to the device, answers without their end too.
#include "model/preferences/bco/rows.hpp"

#include <algorithm>

#include "model/preferences/rows.hpp"
#include "vramfit/spec/pair_rows.hpp"

namespace vramfit::model {

using namespace engine;

Batch fetch_classified(const Run& run, bool references) {
    const BatchPlan& rows = run.plan.batch;
    const Size prompt = *std::max_element(rows.pairs.prompt.begin(), rows.pairs.prompt.end());
    const std::int64_t beside = rows.sequence_length - completion_lengths(rows).longest;
    const Size answer = run.sizes.length - beside - 1;
    Batch batch;
    for (const Size& tokens : {prompt, answer})
        for (int part = 0; part < 2; ++part) batch.apart.push_back(moved(run, {run.sizes.batch, tokens}, DType::int64));
    for (Tensor* t : {&batch.input_ids, &batch.attention_mask, &batch.labels})
        *t = moved(run, {run.sizes.batch, run.sizes.length}, DType::int64);
    if (references) batch.reference = moved(run, {run.sizes.batch}, DType::float32);
    return batch;
}

}  // namespace vramfit::model
