// resize_token_embeddings: more or fewer rows after the load.
#pragma once

#include "model/network/run.hpp"

namespace vramfit::model {

/// model.resize_token_embeddings(n, mean_resizing=False) on a network that was loaded with its checkpoint's rows;
/// `run.spec` has the new vocabulary and becomes the network's.
void resize_token_embeddings(const Run& run, Network& network);

}  // namespace vramfit::model
