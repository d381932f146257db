// Models of text and images as trainers load them: with the towers, which batches of text leave alone.
#include <fmt/format.h>

#include "spec/json_parse.hpp"
#include "spec/network/model.hpp"
#include "spec/network/type.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/spec/config.hpp"

namespace vramfit {

bool has_towers(const ModelSpec& model) {
    return model.recording && !network::decoder_beside_towers(*model.recording).empty();
}

ModelSpec as_loaded(const ModelSpec& model, bool text_part) {
    if (text_part || model.whole_config.empty()) return model;
    const std::string file = model.name.empty() ? std::string("config.json") : model.name;
    Problems problems(file);
    const JsonValue config = parse_json(model.whole_config, problems);
    problems.throw_if_any();
    const JsonValue* type = config.find("model_type");
    const network::BuiltInType* recorded =
        type && type->kind == JsonValue::Kind::text ? network::built_in_type(type->text) : nullptr;
    if (!recorded)
        throw Error(ErrorKind::unsupported, file, "the whole of this model was not recorded",
                    std::string(network::kOwnRecording));
    return network::model_of(
        std::make_shared<const network::Document>(network::instantiate(recorded->document(), config, "", file)),
        model.name);
}

}  // namespace vramfit
