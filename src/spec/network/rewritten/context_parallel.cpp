// Positions and labels are given, and masks go: what context parallelism changes in a network's forward pass.
#include "spec/network/rewritten/context_parallel.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "spec/listed.hpp"
#include "spec/network/rewritten/calls.hpp"
#include "spec/network/rewritten/given_positions.hpp"
#include "vramfit/base/error.hpp"

namespace vramfit::network {

namespace {

using Kind = Argument::Kind;

/// Programs of padded rows whose modules `self_attn`, the only ones that are given none, run as those of full rows do.
class WithoutMasks {
  public:
    explicit WithoutMasks(Document& document) : document_(document) {}

    /// Nothing: the two do not run the same modules, or none of that name.
    std::optional<Number> of(Number padded, Number full) {
        const std::optional<Number> made = in(padded, full);
        return any_ ? made : std::nullopt;
    }

  private:
    std::optional<Number> in(Number padded, Number full) {
        const auto [place, is_new] = made_.try_emplace({padded, full}, padded);
        if (!is_new) return place->second;
        Program program = document_.programs[padded];
        const std::vector<Run> others = runs_of(document_.programs[full]);
        std::size_t next = 0;
        for (Instruction& instruction : program.code) {
            auto* const run = std::get_if<Run>(&instruction);
            if (!run) continue;
            if (next == others.size() || run->path != others[next].path) return std::nullopt;
            const Number other = others[next++].program;
            if (run->path.ends_with("self_attn")) {
                if (!run_without(*run, other)) return std::nullopt;
                any_ = true;
                continue;
            }
            const std::optional<Number> inner = in(run->program, other);
            if (!inner) return std::nullopt;
            run->program = *inner;
        }
        if (next != others.size()) return std::nullopt;
        return place->second = add(document_, std::move(program));
    }

    static std::vector<Run> runs_of(const Program& program) {
        std::vector<Run> all;
        for (const Instruction& instruction : program.code)
            if (const auto* run = std::get_if<Run>(&instruction)) all.push_back(*run);
        return all;
    }

    /// Lets the call run the other program, whose inputs are those of its own but for the mask.
    bool run_without(Run& run, Number other) const {
        const Program& program = document_.programs[run.program];
        const std::vector<Number> own = program.given();
        std::vector<Number> given;
        std::vector<std::size_t> takes;
        for (const Number wanted : document_.programs[other].given()) {
            const std::string_view name = document_.programs[other].name_of(wanted);
            const auto found =
                std::find_if(own.begin(), own.end(), [&](Number one) { return program.name_of(one) == name; });
            if (found == own.end()) return false;
            const auto at = static_cast<std::size_t>(found - own.begin());
            if (std::find(run.takes.begin(), run.takes.end(), at) != run.takes.end()) takes.push_back(given.size());
            given.push_back(run.given[at]);
        }
        run.program = other;
        run.given = std::move(given);
        run.takes = std::move(takes);
        return true;
    }

    Document& document_;
    std::map<std::pair<Number, Number>, Number> made_;
    bool any_ = false;
};

/// transformers 5.17.0 loss/loss_utils.py ForCausalLMLoss with shift_labels: what it makes of labels is not made.
bool give_shifted_labels(Program& program) {
    const auto labels = std::find_if(program.inputs.begin(), program.inputs.end(),
                                     [](const Input& input) { return input.name == "labels"; });
    if (labels == program.inputs.end()) return false;
    for (std::size_t i = 0; i + 2 < program.code.size(); ++i) {
        const Call* const padded = call_on(program.code[i], "torch.nn.functional.pad", labels->what.value);
        if (!padded || !padded->flags.loss) continue;
        const Call* const shifted = call_on(program.code[i + 1], "torch.Tensor.__getitem__", made_by(*padded));
        if (!shifted) continue;
        const Call* const dense = call_on(program.code[i + 2], "torch.Tensor.contiguous", made_by(*shifted));
        if (!dense) continue;
        Input given = *labels;
        given.name = "shift_labels";
        given.what.value = made_by(*dense);
        for (const Number gone : {made_by(*padded), made_by(*shifted), made_by(*dense)}) forget(program.code, gone);
        const auto begin = program.code.begin() + static_cast<std::ptrdiff_t>(i);
        program.code.erase(begin, begin + 3);
        program.inputs.push_back(std::move(given));
        return true;
    }
    return false;
}

/// The same question about rows without padding.
const Variant* of_full_rows(const Document& document, const Variant& padded) {
    const auto found = std::find_if(document.variants.begin(), document.variants.end(), [&](const Variant& v) {
        return v.attention == padded.attention && v.mask == "full" && v.use_cache == padded.use_cache &&
               v.labels == padded.labels && v.items == padded.items && v.checkpointing == padded.checkpointing &&
               v.weights == padded.weights && v.one_row == padded.one_row && v.autocast == padded.autocast &&
               v.sizes.has_value() == padded.sizes.has_value();
    });
    return found == document.variants.end() ? nullptr : &*found;
}

}  // namespace

bool can_cut_sequences(const Document& recording) {
    constexpr std::string_view kCompared[] = {"apertus",
                                              "axk1",
                                              "bitnet",
                                              "deepseek_v2",
                                              "deepseek_v3",
                                              "diffllama",
                                              "dots1",
                                              "emu3_text_model",
                                              "ernie4_5",
                                              "ernie4_5_moe",
                                              "exaone4",
                                              "flex_olmo",
                                              "glm",
                                              "glm4_moe",
                                              "glm4_moe_lite",
                                              "gpt_bigcode",
                                              "granitemoe",
                                              "granitemoeshared",
                                              "helium",
                                              "hunyuan_v1_dense",
                                              "hunyuan_v1_moe",
                                              "hy_v3",
                                              "hyperclovax",
                                              "jais2",
                                              "minicpm3",
                                              "minimax_m2",
                                              "ministral3",
                                              "nanochat",
                                              "olmo",
                                              "olmoe",
                                              "persimmon",
                                              "phimoe",
                                              "solar_open",
                                              "stablelm",
                                              "youtu"};
    return recording.of_type && is_listed(kCompared, recording.model_type);
}

bool has_windows(const Document& recording) {
    return std::any_of(recording.variants.begin(), recording.variants.end(),
                       [](const Variant& variant) { return variant.sizes.has_value(); });
}

Document with_cut_sequences(Document document) {
    WithoutMasks unmasked(document);
    GivenPositions positions(document, "leave out context parallelism");
    std::vector<Variant> made;
    for (const Variant& variant : document.variants) {
        if (variant.attention != "sdpa" || variant.use_cache || !variant.labels || variant.mask == "absent") continue;
        std::optional<Number> program = variant.program;
        if (variant.mask == "padded") {
            const Variant* const full = of_full_rows(document, variant);
            program = full ? unmasked.of(variant.program, full->program) : std::nullopt;
        }
        if (program) program = positions.in(*program);
        if (!program || !give_shifted_labels(document.programs[*program])) continue;
        made.push_back(variant);
        made.back().program = *program;
    }
    if (made.empty())
        throw Error(ErrorKind::unsupported, document.file,
                    "the network counts positions or shifts labels in a way of its own, which is not supported with "
                    "context parallelism",
                    "leave it out");
    document.variants = std::move(made);
    return document;
}

}  // namespace vramfit::network
