// transformers 5.17.0 distributed/tensor_parallel.py: modules compute with their part of a weight, and code that looks
// at shapes sees that part. What the recording says by keys of the configuration is that of a smaller configuration.
#include "spec/network/rewritten/tensor_parallel.hpp"

#include <algorithm>
#include <string_view>

#include "spec/json_parse.hpp"
#include "spec/listed.hpp"
#include "spec/network/any_number.hpp"
#include "spec/network/release.hpp"
#include "spec/network/type.hpp"
#include "vramfit/base/error.hpp"

namespace vramfit::network {

namespace {

bool cuts(const Document& whole, std::string_view part) {
    const auto& plan = whole.tensor_parallel_plan;
    return std::any_of(plan.begin(), plan.end(), [&](const PlannedCut& row) {
        return row.style == "colwise" && row.name.find(part) != row.name.npos;
    });
}

Piece piece_in(const Document& whole, std::int64_t pieces) {
    Piece piece{pieces};
    if (cuts(whole, ".self_attn.q"))
        piece.keys = {"num_attention_heads", "num_key_value_heads", "num_global_key_value_heads"};
    if (cuts(whole, ".mlp.")) piece.keys.emplace_back("intermediate_size");
    return piece;
}

}  // namespace

std::string_view planned_cut(const Document& recording, std::string_view parameter) {
    const std::vector<PlannedCut>& plan = recording.tensor_parallel_plan;
    if (plan.empty()) return {};
    const std::string name = any_number(parameter).name;
    const std::string_view module = std::string_view(name).substr(0, std::min(name.rfind('.'), name.size()));
    for (const std::string_view wanted : {std::string_view(name), module}) {
        const auto found = std::find_if(plan.begin(), plan.end(), [&](const auto& row) { return row.name == wanted; });
        if (found != plan.end()) return found->style;
    }
    return {};
}

bool cuts_layers(const Document& recording) {
    const auto& plan = recording.tensor_parallel_plan;
    return std::any_of(plan.begin(), plan.end(), [&](const PlannedCut& row) {
        return row.name != recording.output_embeddings && row.name != recording.input_embeddings;
    });
}

bool can_be_cut(const Document& recording) {
    constexpr std::string_view kCompared[] = {"apertus",
                                              "axk1",
                                              "cohere2_moe",
                                              "cohere_compass_text",
                                              "cwm",
                                              "deepseek_v2",
                                              "deepseek_v3",
                                              "deepseek_v32",
                                              "dots1",
                                              "ernie4_5",
                                              "ernie4_5_moe",
                                              "exaone4",
                                              "exaone_moe",
                                              "flex_olmo",
                                              "gemma4_text",
                                              "glm",
                                              "glm4_moe",
                                              "glm4_moe_lite",
                                              "granitemoe",
                                              "helium",
                                              "hy_v3",
                                              "hyperclovax",
                                              "jais2",
                                              "kimi_linear",
                                              "mellum",
                                              "minicpm3",
                                              "minimax_m2",
                                              "ministral",
                                              "ministral3",
                                              "nanochat",
                                              "olmo",
                                              "olmo3",
                                              "olmoe",
                                              "phi4_multimodal",
                                              "qwen3_5_moe_text",
                                              "qwen3_5_text",
                                              "qwen3_next",
                                              "solar_open",
                                              "stablelm",
                                              "vaultgemma",
                                              "youtu"};
    return recording.of_type && (!cuts_layers(recording) || is_listed(kCompared, recording.model_type));
}

std::int64_t summed_tail(const Document& piece, std::string_view module) {
    if (planned_cut(piece, std::string(module) + ".weight") != "mla_kv_a_proj") return 0;
    Problems problems(piece.file);
    const JsonValue config = parse_json(piece.config, problems);
    const JsonValue* width = config.find("qk_rope_head_dim");
    return width && width->kind == JsonKind::integer ? width->integer : 0;
}

Document piece_of(const Document& whole, std::int64_t pieces) {
    Problems problems(whole.file);
    const JsonValue config = parse_json(whole.given, problems);
    problems.throw_if_any();
    const BuiltInType* type = whole.of_type ? built_in_type_of(config) : nullptr;
    const auto release = version_from(whole.transformers);
    const TypeRecording* recording = type && release ? recording_under(*type, *release) : nullptr;
    if (!recording)
        throw Error(ErrorKind::unsupported, whole.file,
                    "tensor parallelism of a recording that is no built-in type's is not supported", "FSDP or ZeRO");
    Document piece = instantiate(recording->document(), config, "", whole.file, piece_in(whole, pieces));
    piece.is_piece = true;
    return piece;
}

}  // namespace vramfit::network
