// transformers 5.17.0 generation/utils.py GenerationMixin._sample: the same programs as in training, with positions
// that are given, masks of as many places as the cache has, keys and values that go through it, and no loss.
#include "spec/network/rewritten/generation.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "spec/listed.hpp"
#include "spec/network/model.hpp"
#include "spec/network/rewritten/cached_attention.hpp"
#include "spec/network/rewritten/calls.hpp"
#include "spec/network/rewritten/given_positions.hpp"
#include "spec/network/rewritten/named_masks.hpp"
#include "vramfit/base/error.hpp"

namespace vramfit::network {

namespace {

/// Programs with caches and named masks, each once.
class Cached {
  public:
    explicit Cached(Document& document) : document_(document) {}

    /// Nothing: it is as it was.
    Number of(Number number) {
        const auto [place, is_new] = made_.try_emplace(number, number);
        if (!is_new) return place->second;
        Program program = document_.programs[number];
        bool changed = false;
        if (attends(program)) {
            if (!add_cache(program)) refuse(program, "attends in a way of its own");
            ++attending_;
            changed = true;
        }
        if (makes_masks(program)) {
            if (!name_masks(program, document_)) refuse(program, "makes masks in a way of its own");
            changed = true;
        }
        for (Instruction& instruction : program.code)
            if (auto* run = std::get_if<Run>(&instruction)) {
                const Number inner = of(run->program);
                changed = changed || inner != run->program;
                run->program = inner;
            }
        if (!changed) return number;
        return made_[number] = add(document_, std::move(program));
    }

    bool attends_at_all() const { return attending_ > 0; }

  private:
    [[noreturn]] void refuse(const Program& program, std::string_view what) const {
        throw Error(ErrorKind::unsupported, document_.file,
                    fmt::format("{} {}, which is not supported in generation", program.class_name, what),
                    "another model");
    }

    Document& document_;
    std::map<Number, Number> made_;
    int attending_ = 0;
};

/// Whether the head is given the tokens that logits_to_keep says (with_logits_alone).
bool keeps_tokens(const Program& program) {
    return std::any_of(program.code.begin(), program.code.end(), [](const Instruction& one) {
        const auto* call = std::get_if<Call>(&one);
        return call && std::any_of(call->results.begin(), call->results.end(), [](const Result& result) {
                   return std::any_of(result.sizes.begin(), result.sizes.end(), [](const Argument& size) {
                       const std::vector<FormulaStep>& steps = size.formula.steps;
                       return size.is(Argument::Kind::formula) && steps.size() == 1 &&
                              steps[0].kind == FormulaStep::Kind::kept;
                   });
               });
    });
}

/// Of whole rows without labels.
bool is_without_loss(const Variant& v) {
    return v.attention == "sdpa" && v.mask != "absent" && !v.use_cache && !v.labels && !v.checkpointing;
}

/// Of each layer the window of the mask that it is given where rows reach it.
std::vector<std::optional<std::int64_t>> windows_of(const Document& document) {
    std::vector<std::optional<std::int64_t>> windows(decoder_layers(document).size());
    for (const Variant& variant : document.variants) {
        if (!is_without_loss(variant) || variant.mask != "full" || !variant.sizes) continue;
        if (variant.sizes->right.steps.size() != 1) continue;
        const std::int64_t window = variant.sizes->right.steps[0].number;
        std::vector<Number> open{variant.program};
        while (!open.empty()) {
            const Program& program = document.programs[open.back()];
            open.pop_back();
            for (const Instruction& one : program.code) {
                const Run* const run = module_run(one);
                if (!run) continue;
                const int layer = layer_of(run->path);
                if (layer < 0) {
                    open.push_back(run->program);
                    continue;
                }
                const Program& called = document.programs[run->program];
                for (const Number given : called.given())
                    if (called.name_of(given) == "attention_mask" && layer < static_cast<int>(windows.size()))
                        windows[static_cast<std::size_t>(layer)] = window;
            }
        }
    }
    return windows;
}

}  // namespace

bool can_generate(const Document& recording) {
    constexpr std::string_view kCompared[] = {
        "apertus",    "ernie4_5", "exaone4", "glm",   "helium", "hunyuan_v1_dense", "hyperclovax", "jais2", "ministral",
        "ministral3", "nanochat", "olmo",    "olmo3", "opt",    "persimmon",        "stablelm"};
    return recording.of_type && is_listed(kCompared, recording.model_type);
}

Document with_generation(Document document) {
    document.windows = windows_of(document);
    Cached cached(document);
    GivenPositions positions(document, "another model", true);
    std::vector<Variant> made;
    const auto refuse = [&](std::string_view what) {
        throw Error(ErrorKind::unsupported, document.file,
                    fmt::format("the network {}, which is not supported in generation", what), "another model");
    };
    for (const Variant& variant : document.variants) {
        if (!is_without_loss(variant)) continue;
        if (!keeps_tokens(document.programs[variant.program])) refuse("makes logits of all tokens");
        const std::optional<Number> placed = positions.in(variant.program);
        if (!placed) refuse("counts positions in a way of its own");
        made.push_back(variant);
        made.back().program = cached.of(*placed);
        made.back().use_cache = made.back().generates = true;
    }
    if (made.empty() || !cached.attends_at_all()) refuse("has no attention that was recorded");
    document.variants.insert(document.variants.end(), made.begin(), made.end());
    return document;
}

}  // namespace vramfit::network
