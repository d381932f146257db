// Which class a trainer loads a checkpoint of text and images with.
#pragma once

#include <string>
#include <string_view>

#include "trainers/reader.hpp"

namespace vramfit::trainers {

struct LoadedClass {
    bool text_alone = false;  ///< without what sees images
    std::string what;     ///< "LLaMA-Factory loads Gemma3ForConditionalGeneration (AutoModelForImageTextToText first)"
    std::string text_by;  ///< how its text part alone is loaded there; empty: not at all
};

/// Of a file in the format of that name whose model is of the type gemma3 (docs/check.md has the table).
LoadedClass loaded_class(std::string_view format, Reader& reader);

}  // namespace vramfit::trainers
