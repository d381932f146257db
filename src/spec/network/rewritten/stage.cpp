// Calls of other stages' modules go from the programs of the network without its head.
#include "spec/network/rewritten/stage.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "spec/listed.hpp"
#include "spec/network/model.hpp"
#include "spec/network/rewritten/calls.hpp"
#include "vramfit/base/error.hpp"

namespace vramfit::network {

namespace {

/// Every mention of a value.
void replace(Program& program, Number from, Number to) {
    for (Instruction& instruction : program.code) rename(instruction, from, to);
    for (Output& output : program.outputs)
        if (output.value == from) output.value = to;
    std::replace(program.keeps.begin(), program.keeps.end(), from, to);
}

/// Cuts the programs of one variant.
class Stage {
  public:
    Stage(Document& document, const StageLayers& layers)
        : document_(document),
          layers_(layers),
          paths_(decoder_layers(document)),
          base_(base_model(document)),
          embedding_(document.input_embeddings),
          norm_(final_norm(document)) {}

    /// The program of what has the head, which is given what the stage is given.
    Number whole(Number number) {
        Program program = document_.programs[number];
        for (Instruction& instruction : program.code) {
            auto* const run = std::get_if<Run>(&instruction);
            if (!run || run->path != base_) continue;
            if (!layers_.has_embedding()) rename_input(program, ids_of(program));
            run->program = base(run->program);
            return add(document_, std::move(program));
        }
        refuse("whose layers are not in a module of their own");
    }

  private:
    [[noreturn]] void refuse(std::string_view what) const {
        throw Error(ErrorKind::unsupported, document_.file,
                    fmt::format("a network {} is not supported in a pipeline", what),
                    "another way to use several GPUs");
    }

    Number ids_of(const Program& program) const {
        for (const Input& input : program.inputs)
            if (input.name == "input_ids" && input.what.value) return *input.what.value;
        refuse("that is not given token ids");
    }

    static void rename_input(Program& program, Number ids) {
        for (Input& input : program.inputs)
            if (input.what.value == ids) input.name = "inputs_embeds";
    }

    bool runs(const Instruction& instruction, std::string_view module) const {
        const Run* const run = module_run(instruction);
        return run && path_inside(base_, run->path) == module;
    }

    /// Which layer a call runs, also one that checkpoints it.
    std::optional<std::size_t> layer_of(const Instruction& instruction) const {
        const auto* outer = std::get_if<Run>(&instruction);
        const bool is_checkpoint = outer && outer->kind == Run::Kind::checkpoint;
        const std::vector<Instruction>* const inside =
            is_checkpoint ? &document_.programs[outer->program].code : nullptr;
        const Run* const run = module_run(inside && !inside->empty() ? inside->front() : instruction);
        if (!run) return std::nullopt;
        const auto found = std::find(paths_.begin(), paths_.end(), path_inside(base_, run->path));
        if (found == paths_.end()) return std::nullopt;
        return static_cast<std::size_t>(found - paths_.begin());
    }

    Number base(Number number) {
        Program program = document_.programs[number];
        if (!layers_.has_embedding()) give_embedded(program);
        drop_layers_before(program);
        drop_all_behind(program);
        return add(document_, std::move(program));
    }

    /// inputs_embeds in place of what the embedding makes of token ids.
    void give_embedded(Program& program) const {
        const auto call = std::find_if(program.code.begin(), program.code.end(),
                                       [&](const Instruction& one) { return runs(one, embedding_); });
        if (call == program.code.end()) refuse("whose embedding is not called as a module");
        const auto& run = std::get<Run>(*call);
        const Number ids = run.given.at(0), embedded = run.results.at(0);
        program.code.erase(call);
        forget(program.code, embedded);
        rename_input(program, ids);
        replace(program, embedded, ids);
    }

    /// What goes into modules that follow each other, and what comes out.
    struct Chain {
        Number given = 0;
        Number made = 0;
    };

    /// Calls of such modules go, and all that they hand on to each other.
    template <class IsGone>
    std::optional<Chain> drop(Program& program, const IsGone& is_gone) const {
        std::optional<Chain> chain;
        std::vector<Instruction> kept;
        std::vector<Number> between;
        for (Instruction& instruction : std::exchange(program.code, {})) {
            if (!is_gone(instruction)) {
                kept.push_back(std::move(instruction));
                continue;
            }
            const auto& run = std::get<Run>(instruction);
            if (run.results.size() != 1 || run.given.empty() || (chain && run.given[0] != chain->made))
                refuse("whose layers hand on more than one tensor");
            if (chain) between.push_back(chain->made);
            chain = Chain{chain ? chain->given : run.given[0], run.results[0]};
        }
        program.code = std::move(kept);
        for (const Number number : between) forget(program.code, number);
        return chain;
    }

    /// What goes into the first layer goes to the first one of the stage, behind which its name ends.
    void drop_layers_before(Program& program) const {
        const std::optional<Chain> chain = drop(program, [&](const Instruction& one) {
            const std::optional<std::size_t> layer = layer_of(one);
            return layer && *layer < layers_.first;
        });
        if (!chain) return;
        const auto first = std::find_if(program.code.begin(), program.code.end(),
                                        [&](const Instruction& one) { return layer_of(one).has_value(); });
        const bool ends_before =
            std::any_of(program.code.begin(), first, [&](const Instruction& one) { return ends(one, chain->given); });
        forget(program.code, ends_before ? chain->given : chain->made);
        replace(program, chain->made, chain->given);
    }

    /// What the last layer of the stage gives goes to its caller: the norm gives it back.
    void drop_all_behind(Program& program) const {
        if (layers_.has_head()) return;
        const std::optional<Chain> chain = drop(program, [&](const Instruction& one) {
            const std::optional<std::size_t> layer = layer_of(one);
            return runs(one, norm_) || (layer && *layer >= layers_.end);
        });
        if (!chain) refuse("whose layers are not in a module of their own");
        forget(program.code, chain->made);
        forget(program.code, chain->given);
        replace(program, chain->made, chain->given);
    }

    Document& document_;
    const StageLayers& layers_;
    std::vector<std::string> paths_;
    std::string base_, embedding_, norm_;
};

}  // namespace

bool can_be_staged(const Document& recording) {
    constexpr std::string_view kCompared[] = {"apertus",
                                              "axk1",
                                              "bitnet",
                                              "deepseek_v2",
                                              "deepseek_v3",
                                              "diffllama",
                                              "dots1",
                                              "ernie4_5",
                                              "ernie4_5_moe",
                                              "flex_olmo",
                                              "glm",
                                              "glm4_moe",
                                              "glm4_moe_lite",
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
                                              "ministral",
                                              "ministral3",
                                              "olmo",
                                              "olmoe",
                                              "phimoe",
                                              "solar_open",
                                              "stablelm",
                                              "youtu"};
    return recording.of_type && is_listed(kCompared, recording.model_type);
}

Document stage_of(const Document& whole, const StageLayers& layers) {
    Document document = whole;
    Stage stage(document, layers);
    std::erase_if(document.variants, [](const Variant& v) { return v.use_cache || !v.labels; });
    for (Variant& variant : document.variants) variant.program = stage.whole(variant.program);
    return document;
}

}  // namespace vramfit::network
