// What a recorded network is asked with each plan that is checked: found once, since a sweep checks thousands of plans.
#pragma once

#include <string>
#include <vector>

#include "spec/network/model.hpp"

namespace vramfit::network {

struct Facts {
    bool has_towers = false;        ///< for images or sound
    bool has_text_config = false;   ///< a configuration of its own for the text part
    bool rescales_weights = false;  ///< a key by which a class divides weights while they are loaded
    bool layers_share_parameters = false;
    bool has_several_lists = false;  ///< of layers
    bool calls_packages = false;     ///< functions for which a package is taken where it is installed
    bool asks_experts_one_by_one = false;
    bool saves_buffers = false;  ///< checkpoints have some
    std::vector<OwnModule> own_modules;
    std::vector<std::string> layers;  ///< the decoder's, by their paths
};

Facts facts_of(const Document& document);

}  // namespace vramfit::network
