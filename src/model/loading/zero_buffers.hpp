// Buffers that modules make while deepspeed.zero.Init puts all they make on the device.
#pragma once

#include <string>
#include <string_view>

#include "engine/tensor.hpp"
#include "model/network/run.hpp"
#include "spec/network/model.hpp"

namespace vramfit::model {

/// The frequencies of a rotary embedding: [count]. `type`: rope_type.
engine::Tensor frequencies_of(const Run& run, Size count, std::string_view type);

/// GemmaTextScaledWordEmbedding and its likes: a number that torch.tensor makes.
engine::Tensor made_scale(const Run& run);

/// BERT's embeddings: numbers of places and of types.
bool has_buffers_of_ids(const network::ModuleKind& kind);

/// The buffers of a recorded module. Throws Error (unsupported) for a class whose way to make them is not known.
void make_buffers(const Run& run, const std::string& path, const network::ModuleKind& kind, engine::Tensor* places);

/// What stays in float32, as routers' corrections do: before the checkpoint comes.
void keep_in_float32(const Run& run, Network& network);

}  // namespace vramfit::model
