// Models of text and images as they are loaded whole: what their trainers' readers ask of them.
#pragma once

#include <string>

#include "vramfit/spec/model_spec.hpp"

namespace vramfit {

/// Of a network with towers: a module that is no linear layer and has the last name of one, so that adapters on all
/// names of linear layers would be on it too. Empty: there is none.
std::string named_as_linear_layer(const ModelSpec& model);

}  // namespace vramfit
