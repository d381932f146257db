// peft's prompt learning: virtual tokens in front of each row, made by a small network of its own.
#pragma once

#include "model/network/run.hpp"

namespace vramfit::model {

/// PeftModel._setup_prompt_encoder of `run.plan.peft`. The parameters of the base are not trained.
void add_prompt_encoder(const Run& run, Network& network);

/// Of prompt tuning and P-tuning: embeddings -- [B, N, H], in what the encoder computes.
Tensor virtual_tokens(const Run& run, const PromptEncoder& encoder, const Size& rows);

/// Of prefix tuning: keys and values of all layers -- [B, N, 2 L Hk D].
Tensor prefixes(const Run& run, const PromptEncoder& encoder, const Size& rows);

}  // namespace vramfit::model
