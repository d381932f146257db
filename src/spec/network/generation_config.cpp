// transformers 5.17.0 generation/configuration_utils.py GenerationConfig.from_model_config: what the configuration has.
#include "spec/network/generation_config.hpp"

#include <string_view>

#include "spec/json_parse.hpp"
#include "spec/listed.hpp"

namespace vramfit::network {

namespace {

// models/*/configuration_*.py: classes whose own configuration has none.
constexpr std::string_view kWithoutBegin[] = {"glm", "olmo", "olmo3"};

/// Of a class whose own configuration has several.
std::int64_t ends_of_class(std::string_view type) { return type == "glm" ? 3 : 1; }

}  // namespace

GenerationConfig generation_config_of(const Document& document) {
    Problems problems(document.file);
    const JsonValue whole = parse_json(document.config, problems);
    const JsonValue* const text = whole.find("text_config");
    const JsonValue& config = text && text->kind == JsonValue::Kind::object ? *text : whole;
    const JsonValue *const ends = config.find("eos_token_id"), *const begin = config.find("bos_token_id");
    GenerationConfig found;
    if (!ends)
        found.ends = ends_of_class(document.model_type);
    else if (ends->kind == JsonValue::Kind::list)
        found.ends = static_cast<std::int64_t>(ends->items.size());
    else
        found.ends = ends->kind == JsonValue::Kind::null ? 0 : 1;
    found.has_begin = begin ? begin->kind != JsonValue::Kind::null : !is_listed(kWithoutBegin, document.model_type);
    const JsonValue* const cache = config.find("use_cache");
    found.keeps_cache = !cache || cache->kind != JsonValue::Kind::boolean || cache->boolean;
    return found;
}

}  // namespace vramfit::network
