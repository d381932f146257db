// The built-in models, and finding a network by name, Hugging Face id, folder or file.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "vramfit/spec/environment.hpp"
#include "vramfit/spec/model_spec.hpp"

namespace vramfit {

/// A model that the program brings along (models/NAME.json).
struct BuiltInModel {
    std::string_view name;     ///< "gemma-2b"
    std::string_view id;       ///< "google/gemma-2b"
    std::string_view aliases;  ///< other names, separated by line ends; may be empty
    std::string_view text;     ///< the file: a config.json with the keys name, id, aliases and source
};

/// All of them, in order of name.
std::span<const BuiltInModel> built_in_models();

/// The network of a built-in model.
ModelSpec spec_of(const BuiltInModel& model);

/// What a list of models says of one.
struct ModelFacts {
    std::string model_type;
    std::int64_t parameters = 0;
    std::int64_t layers = 0;
    std::int64_t max_position_embeddings = 0;

    bool operator==(const ModelFacts&) const = default;
};
/// As they stand beside networks of recorded types, which take long to make; of all others counted.
ModelFacts facts_of(const BuiltInModel& model);

/// The built-in model of that name, id or alias, whatever the case of its letters; nullptr if there is none.
const BuiltInModel* find_built_in(std::string_view name);

/// A network by what a user writes after --model: a built-in name, id or alias; a folder with a config.json; a path of
/// a config.json; an id in the local Hugging Face cache. Throws Error (invalid) with the nearest names if nothing is
/// found, and the reader's errors if a file is wrong. `where` names the flag or key in errors.
ModelSpec load_model(std::string_view text, const Environment& environment, std::string_view where = "--model");

/// Networks that were loaded: each is read once, however many changes of a run are tried.
class LoadedModels {
  public:
    /// As load_model.
    const ModelSpec& load(std::string_view text, const Environment& environment, std::string_view where = "--model");

  private:
    std::map<std::string, ModelSpec, std::less<>> known_;
};

}  // namespace vramfit
