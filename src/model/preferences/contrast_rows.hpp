// The rows of ORPO and CPO: prompts, chosen and rejected rows come apart and are put together on the device.
#pragma once

#include "model/network/run.hpp"

namespace vramfit::model {

/// A micro batch on the device, as trl's DPODataCollatorWithPadding makes it.
Batch fetch_apart(const Run& run);

/// What concatenated_inputs makes of it, [2 B, S] each: ids and mask go to the model.
struct PutTogether {
    Tensor input_ids, attention_mask, labels;
};
PutTogether put_together(const Run& run, const Batch& batch);

}  // namespace vramfit::model
