// One walk of a recorded network for all that is asked of it with each plan.
#include "spec/network/facts.hpp"

#include <algorithm>
#include <string_view>
#include <variant>

#include "spec/json_parse.hpp"
#include "vramfit/base/error.hpp"

namespace vramfit::network {

namespace {

/// Whether a program calls a function that `is_one`.
template <class IsOne>
bool calls(const Document& document, const IsOne& is_one) {
    return std::any_of(document.programs.begin(), document.programs.end(), [&](const Program& program) {
        return std::any_of(program.code.begin(), program.code.end(), [&](const Instruction& instruction) {
            const auto* call = std::get_if<Call>(&instruction);
            return call && is_one(std::string_view(call->function));
        });
    });
}

/// transformers 5.17.0 integrations/hub_kernels.py, use_kernel_func_from_hub_with_fallback.
bool is_of_package(std::string_view function) {
    return function == "torch.linalg.solve_triangular" || function == "torch.nn.functional.conv1d";
}

/// tools/record/vramfit_record/experts.py: how such functions are named.
bool asks_experts(std::string_view function) { return function.starts_with("experts."); }

bool saves_buffers(const Document& document) {
    return std::any_of(document.kinds.begin(), document.kinds.end(), [](const ModuleKind& kind) {
        return std::any_of(kind.buffers.begin(), kind.buffers.end(), [](const Parameter& p) { return p.persistent; });
    });
}

/// Whether the configuration has such a key that is neither false nor null.
bool is_set(const Document& document, std::string_view key) {
    Problems problems(document.file);
    const JsonValue config = parse_json(document.config, problems);
    const JsonValue* value = config.find(key);
    return value && value->kind != JsonValue::Kind::null &&
           !(value->kind == JsonValue::Kind::boolean && !value->boolean);
}

}  // namespace

Facts facts_of(const Document& document) {
    const bool has_towers = !decoder_beside_towers(document).empty();
    return {.has_towers = has_towers,
            .has_text_config = has_towers || document.model_type == "fuyu",
            .rescales_weights = is_set(document, "rescale_prenorm_residual"),
            .layers_share_parameters = !shared_by_layers(document).empty(),
            .has_several_lists = has_several_lists(document),
            .calls_packages = calls(document, is_of_package),
            .asks_experts_one_by_one = calls(document, asks_experts),
            .saves_buffers = saves_buffers(document),
            .own_modules = modules_of_their_own_kind(document),
            .layers = decoder_layers(document)};
}

}  // namespace vramfit::network
