// transformers 5.17.0: integrations/sdpa_attention.py and masking_utils.py sdpa_mask replaced by
// integrations/flash_attention.py and flash_attention_mask, as the recorder sees both in the same classes.
#include "spec/network/rewritten/flash_attention.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "spec/listed.hpp"
#include "spec/network/rewritten/calls.hpp"

namespace vramfit::network {

namespace {

using Kind = Argument::Kind;

/// Classes whose attention does not hand position_ids on, so that nothing looks for packed rows.
constexpr std::string_view kWithoutPositions[] = {"GPTBigCodeAttention", "GraniteMoeHybridAttention",
                                                  "Ministral3Attention", "PersimmonAttention"};

const Argument* named(const Call& call, std::string_view name) {
    for (const auto& [key, argument] : call.named)
        if (key == name) return &argument;
    return nullptr;
}

/// Rewrites one program.
class Rewriting {
  public:
    explicit Rewriting(Program& program) : program_(program), dead_(program.code.size(), false) {}

    void run() {
        for (std::size_t i = 0; i < code().size(); ++i) {
            if (is_call(code()[i], kSdpa)) replace_attention(i);
            if (is_call(code()[i], "torch.Tensor.__bool__")) replace_question(i);
        }
        std::vector<Instruction> kept;
        for (std::size_t i = 0; i < code().size(); ++i)
            if (!dead_[i] && !is_empty(code()[i])) kept.push_back(std::move(code()[i]));
        program_.code = std::move(kept);
    }

  private:
    std::vector<Instruction>& code() { return program_.code; }

    /// Where a value is made by such a call, or the end of the code.
    std::size_t maker(const Argument& value, std::string_view function) {
        for (std::size_t i = 0; i < code().size(); ++i)
            if (is_call(code()[i], function) && std::get<Call>(code()[i]).results.size() == 1 &&
                is_value(value, std::get<Call>(code()[i]).results[0].value))
                return i;
        return code().size();
    }

    bool ends(std::size_t at, std::optional<Number> value) {
        return at < code().size() && value && network::ends(code()[at], *value);
    }

    void forget(Number value) { network::forget(code(), value); }

    /// Comparisons of the length in front of an instruction that flash attention does not make.
    template <class IsMade>
    void drop_comparisons(std::size_t before, const IsMade& is_one) {
        for (std::size_t i = before; i-- > 0;) {
            if (dead_[i] || is_empty(code()[i])) continue;
            const auto* condition = std::get_if<If>(&code()[i]);
            if (!condition || !is_one(*condition)) return;
            dead_[i] = true;
        }
    }

    /// repeat_kv in front of the call: its argument. What the class repeats itself lives on behind the function.
    Argument not_repeated(const Argument& given, std::size_t end) {
        if (!given.is(Kind::value) || !ends(end, given.value)) return given;
        std::array<std::size_t, 3> calls{};
        Argument repeated = given;
        constexpr std::array<std::string_view, 3> kCalls = {"torch.Tensor.reshape", "torch.Tensor.expand",
                                                            "torch.Tensor.__getitem__"};
        for (std::size_t i = 0; i < calls.size(); ++i) {
            calls[i] = maker(repeated, kCalls[i]);
            if (calls[i] == code().size()) return given;
            repeated = std::get<Call>(code()[calls[i]]).arguments.at(0);
        }
        for (const std::size_t i : calls) {
            forget(*std::get<Call>(code()[i]).results[0].value);
            dead_[i] = true;
        }
        return repeated;
    }

    Argument positions() const {
        Argument none;
        if (is_listed(kWithoutPositions, program_.class_name)) return none;
        for (const Input& input : program_.inputs)
            if (input.name == "position_ids" && input.what.value) return value(*input.what.value);
        return none;
    }

    /// sdpa_attention_forward from the repetition of keys and values to its contiguous result.
    void replace_attention(std::size_t at) {
        const Call call = std::get<Call>(code()[at]);
        const Argument* const mask = named(call, "attn_mask");
        const Argument* const causal = named(call, "is_causal");
        if (call.arguments.size() != 3 || call.results.size() != 1 || (mask && !mask->is(Kind::none)) || !causal ||
            !causal->boolean || at + 1 >= code().size())
            return;
        // From 5.23 on (pack_gqa) the result is given its own sizes once more.
        const Call* const sized = call_on(code()[at + 1], "torch.Tensor.reshape", call.results[0].value);
        const std::size_t turn = sized ? at + 2 : at + 1, end = turn + 2;
        if (end >= code().size()) return;
        const std::optional<Number> given = sized ? sized->results[0].value : call.results[0].value;
        const Call* const turned = call_on(code()[turn], "torch.Tensor.transpose", given);
        if (!turned) return;
        const Call* const dense = call_on(code()[turn + 1], "torch.Tensor.contiguous", turned->results[0].value);
        if (!dense || !ends(end, call.results[0].value) || !ends(end, turned->results[0].value)) return;
        Call made;
        made.function = kFlashAttention;
        made.results = dense->results;
        made.flags = call.flags;
        const Number out = *call.results[0].value, again = *given, view = *turned->results[0].value;
        made.arguments = {call.arguments[0], not_repeated(call.arguments[1], end), not_repeated(call.arguments[2], end),
                          positions()};
        if (const Argument* dropout = named(call, "dropout_p")) made.named.emplace_back("dropout_p", *dropout);
        forget(out);
        forget(again);
        forget(view);
        for (std::size_t i = at + 1; i < end; ++i) dead_[i] = true;
        drop_comparisons(at, [](const If& made_by) { return made_by.holds && made_by.condition.text == "S > 1"; });
        code()[at] = std::move(made);
    }

    /// fast_all(padding_mask) of _ignore_causal_mask_sdpa, which the host reads: attention_mask.all() here, and the
    /// length is compared with no window.
    void replace_question(std::size_t at) {
        if (at < 3 || !std::get<Call>(code()[at]).flags.reads) return;
        const auto* const equal = std::get_if<Call>(&code()[at - 2]);
        const auto& read = std::get<Call>(code()[at]);
        if (!equal || equal->results.size() != 1 || read.arguments.empty() ||
            !is_value(read.arguments[0], equal->results[0].value))
            return;
        const auto* const sum = std::get_if<Call>(&code()[at - 3]);
        if (!sum || sum->function != "torch.Tensor.sum" || sum->arguments.size() != 1 || !sum->named.empty() ||
            sum->results.size() != 1 || !call_on(code()[at - 2], "torch.Tensor.__eq__", sum->results[0].value) ||
            !ends(at - 1, sum->results[0].value))
            return;
        if (maker(sum->arguments[0], "torch.Tensor.to") == code().size()) return;
        const Number count = *sum->results[0].value;
        Call made = *sum;
        made.function = "torch.Tensor.all";
        made.results = equal->results;
        code()[at - 3] = std::move(made);
        dead_[at - 2] = true;
        forget(count);
        drop_comparisons(at - 3, [](const If& made_by) {
            return !made_by.holds &&
                   (made_by.condition.text == "S == 1" || made_by.condition.text.starts_with("S >= "));
        });
    }

    Program& program_;
    std::vector<bool> dead_;
};

/// Which programs have such an instruction, or run one that has; those that they run come before them.
template <class IsOne>
std::vector<bool> programs_with(const Document& document, const IsOne& is_one) {
    std::vector<bool> found(document.programs.size(), false);
    for (std::size_t i = 0; i < found.size(); ++i)
        for (const Instruction& instruction : document.programs[i].code) {
            const auto* run = std::get_if<Run>(&instruction);
            if (is_one(instruction) || (run && run->program < i && found[run->program])) found[i] = true;
        }
    return found;
}

/// sdpa with a mask, or a row that reaches a window, for which sdpa_mask makes one.
bool is_left_of_sdpa(const Instruction& instruction) {
    const auto* condition = std::get_if<If>(&instruction);
    return is_call(instruction, kSdpa) ||
           (condition && condition->holds && condition->condition.text.starts_with("S >= "));
}

}  // namespace

Document with_flash_attention(Document document) {
    for (Program& program : document.programs) Rewriting(program).run();
    const std::vector<bool> left = programs_with(document, is_left_of_sdpa);
    const std::vector<bool> rewritten =
        programs_with(document, [](const Instruction& one) { return is_call(one, kFlashAttention); });
    std::vector<Variant> made;
    for (const Variant& variant : document.variants) {
        if (variant.attention != "sdpa" || variant.mask != "full" || variant.use_cache) continue;
        if (left[variant.program] || !rewritten[variant.program]) continue;
        made.push_back(variant);
        made.back().attention = "flash_attention_2";
    }
    std::erase_if(document.variants, [](const Variant& v) { return v.attention == "flash_attention_2"; });
    std::move(made.begin(), made.end(), std::back_inserter(document.variants));
    return document;
}

std::string refusal_of_flash_attention(const Document& document) {
    constexpr std::string_view kRefused[] = {
        "axk2",       "bloom",        "codegen",     "deepseek_v32",       "glm_moe_dsa",
        "hy_v4",      "inkling_text", "llama4_text", "minimax_m3_vl_text", "mpt",
        "prophetnet", "xglm",         "xlnet"};
    constexpr std::string_view kOthers[] = {"bamba",
                                            "bart",
                                            "bert",
                                            "bert-generation",
                                            "big_bird",
                                            "bigbird_pegasus",
                                            "blenderbot",
                                            "blenderbot-small",
                                            "camembert",
                                            "cohere2_moe",
                                            "cohere_compass_text",
                                            "data2vec-text",
                                            "cpmant",
                                            "dbrx",
                                            "diffllama",
                                            "doge",
                                            "electra",
                                            "ernie",
                                            "falcon",
                                            "falcon_h1",
                                            "falcon_mamba",
                                            "flint",
                                            "fuyu",
                                            "gemma3n",
                                            "gemma3n_text",
                                            "gemma4_unified",
                                            "gemma4_unified_text",
                                            "got_ocr2",
                                            "gpt_neo",
                                            "gpt_neox_japanese",
                                            "gptj",
                                            "granite_swa",
                                            "granitemoe_swa",
                                            "hrm_text",
                                            "jamba",
                                            "kimi_linear",
                                            "laguna",
                                            "mamba",
                                            "mamba2",
                                            "marian",
                                            "mbart",
                                            "megatron-bert",
                                            "mimo_v2_flash",
                                            "minimax",
                                            "modernbert-decoder",
                                            "mvp",
                                            "nemotron_h",
                                            "olmo_hybrid",
                                            "openai-gpt",
                                            "pegasus",
                                            "phi4_multimodal",
                                            "plbart",
                                            "rembert",
                                            "roberta",
                                            "roberta-prelayernorm",
                                            "roc_bert",
                                            "roformer",
                                            "trocr",
                                            "whisper",
                                            "xlm",
                                            "xlm-roberta",
                                            "xlm-roberta-xl",
                                            "zamba"};
    if (is_listed(kRefused, document.model_type))
        return fmt::format("transformers stops: {} does not support Flash Attention 2 yet", document.class_name);
    if (!document.of_type || is_listed(kOthers, document.model_type))
        return "flash_attention_2 was not compared with recorded networks of this kind yet";
    return {};
}

}  // namespace vramfit::network
