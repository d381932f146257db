// liger-kernel 0.8.5 transformers/monkey_patch.py: what is replaced in each type, and the same in recorded programs.
#include "spec/network/rewritten/liger.hpp"

#include <algorithm>
#include <map>
#include <span>
#include <utility>

#include "spec/network/rewritten/calls.hpp"

namespace vramfit::network {

namespace {

/// A module whose norm is Liger's, by its name in the module around it.
struct Norm {
    std::string_view name;
    bool in_place = true;
};

constexpr Norm kLlama[] = {{"norm"}, {"input_layernorm"}, {"post_attention_layernorm"}};
constexpr Norm kOlmo3[] = {{"norm"}, {"post_attention_layernorm", false}, {"post_feedforward_layernorm", false}};
constexpr Norm kExaone4[] = {{"norm", false},
                             {"post_attention_layernorm", false},
                             {"post_feedforward_layernorm", false},
                             {"q_norm", false},
                             {"k_norm", false}};
constexpr Norm kQwen35[] = {{"norm", false},
                            {"input_layernorm", false},
                            {"post_attention_layernorm", false},
                            {"q_norm", false},
                            {"k_norm", false}};
constexpr Norm kGemma4[] = {{"norm", false},
                            {"input_layernorm", false},
                            {"post_attention_layernorm", false},
                            {"pre_feedforward_layernorm", false},
                            {"post_feedforward_layernorm", false},
                            {"q_norm", false},
                            {"k_norm", false}};

struct Patches {
    std::string_view model_type;
    std::span<const Norm> norms;
    std::string_view norm_class;
    std::string_view gated_class;
    std::string_view turning_class;  ///< empty: rotary embeddings are left alone
};
constexpr Patches kPatches[] = {
    {"exaone4", kExaone4, "Exaone4RMSNorm", "Exaone4MLP", "Exaone4Attention"},
    {"gemma4", kGemma4, "Gemma4RMSNorm", "Gemma4TextMLP", {}},
    {"gemma4_text", kGemma4, "Gemma4RMSNorm", "Gemma4TextMLP", {}},
    {"hunyuan_v1_dense", kLlama, "HunYuanDenseV1RMSNorm", "HunYuanDenseV1MLP", "HunYuanDenseV1Attention"},
    {"ministral", kLlama, "MinistralRMSNorm", "MinistralMLP", "MinistralAttention"},
    {"olmo3", kOlmo3, "Olmo3RMSNorm", "Olmo3MLP", "Olmo3Attention"},
    {"qwen3_5", kQwen35, "Qwen3_5RMSNorm", "Qwen3_5MLP", {}},
    {"qwen3_5_text", kQwen35, "Qwen3_5RMSNorm", "Qwen3_5MLP", {}},
};

const Patches* patches_of(std::string_view model_type) {
    const auto* const found = std::find_if(std::begin(kPatches), std::end(kPatches),
                                           [&](const Patches& each) { return each.model_type == model_type; });
    return found == std::end(kPatches) ? nullptr : found;
}

Argument weight() {
    Argument out;
    out.kind = Argument::Kind::parameter;
    out.text = "weight";
    return out;
}

/// LigerRMSNorm.forward: one call in place of all.
Program normed(Program program, bool in_place) {
    for (const Instruction& instruction : program.code) {
        const auto* last = std::get_if<Call>(&instruction);
        if (!last || last->results.size() != 1 || last->results[0].value != program.outputs[0].value) continue;
        Call call;
        call.function = in_place ? kLigerNorm : kLigerNormApart;
        call.arguments = {value(*program.inputs[0].what.value), weight()};
        call.results = last->results;
        call.results[0].view.clear();
        program.code = {std::move(call)};
        break;
    }
    return program;
}

bool is_module(const Instruction& instruction, std::string_view path) {
    const Run* const run = module_run(instruction);
    return run && run->path == path;
}

/// LigerSwiGLUMLP.forward, LigerGEGLUMLP.forward: gate_proj, up_proj and their product, which the activation is part
/// of.
void gate(Program& program) {
    std::vector<Instruction>& code = program.code;
    if (code.size() != 8 || !is_module(code[0], "gate_proj") || !is_module(code[1], "act_fn") ||
        !is_module(code[3], "up_proj") || !is_module(code[6], "down_proj"))
        return;
    const Call* const product = call_of(code[4], "torch.Tensor.mul");
    if (!product) return;
    const Number gated = std::get<Run>(code[0]).results.at(0), up = std::get<Run>(code[3]).results.at(0);
    Call call = *product;
    call.function = kLigerGate;
    call.arguments = {value(gated), value(up)};
    code = {code[0], code[3], std::move(call), End{{gated, up}}, code[6], code[7]};
}

/// apply_rotary_pos_emb: from the views of cos and sin to the place where their last names go.
struct Turning {
    std::size_t begin = 0;
    std::size_t end = 0;  ///< of its last instruction, an End
    Number cos = 0, sin = 0, query = 0, key = 0;
    Result turned_query, turned_key;
};

std::optional<Turning> turning_in(const std::vector<Instruction>& code) {
    for (std::size_t i = 0; i + 1 < code.size(); ++i) {
        const Call* const cos = call_of(code[i], "torch.Tensor.unsqueeze");
        const Call* const sin = call_of(code[i + 1], "torch.Tensor.unsqueeze");
        if (!cos || !sin || !cos->arguments[0].is(Argument::Kind::value) ||
            !sin->arguments[0].is(Argument::Kind::value))
            continue;
        Turning out{.begin = i,
                    .cos = cos->arguments[0].value,
                    .sin = sin->arguments[0].value,
                    .turned_query = {},
                    .turned_key = {}};
        std::vector<Number> turned;
        std::vector<Result> sums, casts;
        for (std::size_t at = i + 2; at < code.size() && !ends(code[at - 1], made_by(*cos)); ++at) {
            out.end = at;
            if (const Call* product = call_of(code[at], "torch.Tensor.mul");
                product && takes(*product, 1, made_by(*cos)))
                turned.push_back(product->arguments[0].value);
            if (const Call* sum = call_of(code[at], "torch.Tensor.add")) sums.push_back(sum->results[0]);
            if (const Call* cast = call_of(code[at], "torch.Tensor.to")) casts.push_back(cast->results[0]);
        }
        if (turned.size() != 2 || sums.size() != 2 || (!casts.empty() && casts.size() != 2)) continue;
        out.query = turned[0];
        out.key = turned[1];
        std::tie(out.turned_query, out.turned_key) =
            casts.empty() ? std::pair(sums[0], sums[1]) : std::pair(casts[0], casts[1]);
        return out;
    }
    return std::nullopt;
}

/// liger_rotary_pos_emb: both are turned where they lie. What the class's own lines make on the way is not made.
void turn(Program& program) {
    const std::optional<Turning> found = turning_in(program.code);
    if (!found) return;
    std::vector<Number> gone;
    for (std::size_t i = found->begin; i <= found->end; ++i)
        if (const auto* call = std::get_if<Call>(&program.code[i]))
            for (const Result& result : call->results)
                if (result.value && result.value != found->turned_query.value &&
                    result.value != found->turned_key.value)
                    gone.push_back(*result.value);
    Call call;
    call.function = kLigerRope;
    call.arguments = {value(found->query), value(found->key), value(found->cos), value(found->sin)};
    call.results = {found->turned_query, found->turned_key};
    End last = std::get<End>(program.code[found->end]);
    std::erase_if(last.values, [&](Number one) { return std::find(gone.begin(), gone.end(), one) != gone.end(); });
    std::vector<Instruction> code(program.code.begin(),
                                  program.code.begin() + static_cast<std::ptrdiff_t>(found->begin));
    code.emplace_back(std::move(call));
    if (!last.values.empty()) code.emplace_back(std::move(last));
    code.insert(code.end(), program.code.begin() + static_cast<std::ptrdiff_t>(found->end) + 1, program.code.end());
    program.code = std::move(code);
}

/// Norms by the names under which they run: a program of its own for each way.
void patch_norms(Document& document, const Patches& patches) {
    std::map<std::pair<Number, bool>, Number> made;
    const std::size_t own = document.programs.size();
    for (std::size_t i = 0; i < own; ++i)
        for (std::size_t at = 0; at < document.programs[i].code.size(); ++at) {
            auto* run = std::get_if<Run>(&document.programs[i].code[at]);
            if (!run || document.programs[run->program].class_name != patches.norm_class) continue;
            const std::string_view name = std::string_view(run->path).substr(run->path.find_last_of("./") + 1);
            const auto norm = std::find_if(patches.norms.begin(), patches.norms.end(),
                                           [&](const Norm& each) { return each.name == name; });
            if (norm == patches.norms.end()) continue;
            const auto [place, is_new] = made.try_emplace({run->program, norm->in_place}, 0);
            if (is_new) {
                place->second = add(document, normed(document.programs[run->program], norm->in_place));
                run = &std::get<Run>(document.programs[i].code[at]);
            }
            run->program = place->second;
        }
}

}  // namespace

bool has_liger_patches(std::string_view model_type) { return patches_of(model_type) != nullptr; }

Document with_liger(Document document) {
    const Patches* const patches = patches_of(document.model_type);
    if (!patches) return document;
    for (Program& program : document.programs) {
        if (program.class_name == patches->gated_class) gate(program);
        if (!patches->turning_class.empty() && program.class_name == patches->turning_class) turn(program);
    }
    patch_norms(document, *patches);
    return document;
}

}  // namespace vramfit::network
