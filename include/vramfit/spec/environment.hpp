// The few environment variables that readers look at, as values; only the command line fills it from the process.
#pragma once

#include <string>

namespace vramfit {

/// Empty text: not set. Names are those of the variables in lower case.
struct Environment {
    std::string home;                   ///< HOME
    std::string hf_home;                ///< HF_HOME
    std::string hf_hub_cache;           ///< HF_HUB_CACHE
    std::string huggingface_hub_cache;  ///< HUGGINGFACE_HUB_CACHE, the older name
    std::string xdg_cache_home;         ///< XDG_CACHE_HOME
};

}  // namespace vramfit
