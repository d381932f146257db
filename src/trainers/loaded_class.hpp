// Which class a trainer loads a checkpoint of text and images with.
#pragma once

#include <string>
#include <string_view>

#include "trainers/reader.hpp"

namespace vramfit::trainers {

/// What a file says of how its model is loaded.
struct ModelLoader {
    std::string format;      ///< the file's
    std::string named;       ///< the model's class, where the file names it
    bool text_only = false;  ///< Unsloth's argument
};

ModelLoader model_loader(std::string_view format, Reader& reader);

struct LoadedClass {
    bool text_alone = false;  ///< without what sees images
    std::string what;     ///< "LLaMA-Factory loads Gemma3ForConditionalGeneration (AutoModelForImageTextToText first)"
    std::string text_by;  ///< how its text part alone is loaded there; empty: not at all
};

/// Of a checkpoint of the whole whose text part has that model type (docs/check.md has the table).
LoadedClass loaded_class(const ModelLoader& loader, std::string_view text_type);

}  // namespace vramfit::trainers
