// Models of text and images as trainers load them: with the towers, which batches of text leave alone.
#include "spec/whole_model.hpp"

#include <functional>
#include <set>

#include <fmt/format.h>

#include "spec/json_parse.hpp"
#include "spec/last_part.hpp"
#include "spec/network/model.hpp"
#include "spec/network/type.hpp"
#include "spec/text_part.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/spec/config.hpp"

namespace vramfit {

bool has_towers(const ModelSpec& model) {
    return model.recording && !network::decoder_beside_towers(*model.recording).empty();
}

std::string named_as_linear_layer(const ModelSpec& model) {
    if (!has_towers(model)) return {};
    const auto is_linear = [](const network::ModuleKind& kind) { return kind.class_name == "Linear"; };
    std::set<std::string, std::less<>> names;
    network::for_each_kind(*model.recording, [&](const std::string& path, const network::ModuleKind& kind) {
        if (is_linear(kind) && path != model.recording->output_embeddings) names.emplace(last_part(path));
    });
    std::string found;
    network::for_each_kind(*model.recording, [&](const std::string& path, const network::ModuleKind& kind) {
        if (found.empty() && !path.empty() && !is_linear(kind) && names.contains(last_part(path))) found = path;
    });
    return found;
}

ModelSpec as_loaded(const ModelSpec& model, std::optional<bool> text_part) {
    if (model.whole_config.empty()) return model;
    if (text_part.value_or(classes_of_text_part(model.model_type).auto_takes_text)) return model;
    const std::string file = model.name.empty() ? std::string("config.json") : model.name;
    Problems problems(file);
    const JsonValue config = parse_json(model.whole_config, problems);
    problems.throw_if_any();
    const network::BuiltInType* recorded = network::built_in_type_of(config);
    if (!recorded)
        throw Error(ErrorKind::unsupported, file, "the whole of this model was not recorded",
                    std::string(network::kOwnRecording));
    return network::model_of(*recorded, config, "", file, model.name);
}

}  // namespace vramfit
