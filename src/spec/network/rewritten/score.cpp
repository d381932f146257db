// score = nn.Linear(hidden_size, num_labels) beside the network without its head.
#include "spec/network/rewritten/score.hpp"

#include <algorithm>
#include <string>

#include "spec/listed.hpp"
#include "spec/network/model.hpp"
#include "spec/network/rewritten/calls.hpp"
#include "vramfit/base/error.hpp"

namespace vramfit::network {

namespace {

Argument size(std::int64_t number) {
    Argument out;
    out.kind = Argument::Kind::integer;
    out.integer = number;
    return out;
}

ModuleKind score(std::int64_t hidden, std::int64_t labels, bool bias) {
    ModuleKind kind;
    kind.class_name = "Linear";
    kind.leaf = Leaf::linear;
    kind.parameters.push_back({"weight", DTypeName{}, {size(labels), size(hidden)}});
    if (bias) kind.parameters.push_back({"bias", DTypeName{}, {size(labels)}});
    return kind;
}

std::int64_t hidden_size(const Document& document) {
    for (const NamedModule& module : modules_in(document))
        if (module.name == document.output_embeddings) return module.in;
    return 0;
}

}  // namespace

Document with_score(const Document& recording, std::int64_t labels, bool of_tokens) {
    Document document = recording;
    const std::string base = base_model(document), head = document.output_embeddings;
    const std::int64_t hidden = hidden_size(document);
    const auto number = static_cast<Number>(document.kinds.size());
    document.kinds.push_back(score(hidden, labels, of_tokens));
    std::vector<Child>& children = document.kinds[document.root].children;
    const auto is_base = [&](const Child& child) { return child.name == base; };
    if (hidden == 0 || std::none_of(children.begin(), children.end(), is_base))
        throw Error(ErrorKind::unsupported, document.file,
                    "a network whose layers are in no module of their own is not supported with a head of scores",
                    "another model");
    std::erase_if(children, [&](const Child& child) { return !is_base(child); });
    children.push_back({"score", number});
    document.output_embeddings = "score";
    std::erase_if(document.ties, [&](const std::vector<std::string>& names) {
        return std::any_of(names.begin(), names.end(),
                           [&](const std::string& name) { return name.starts_with(head + "."); });
    });
    for (const Variant& variant : document.variants) {
        Program& program = document.programs[variant.program];
        std::erase_if(program.code, [&](const Instruction& instruction) {
            const network::Run* const run = module_run(instruction);
            return !run || run->path != base;
        });
        program.outputs.clear();
        program.keeps.clear();
    }
    return document;
}

bool scores_sequences(const Document& recording) {
    constexpr std::string_view kGeneric[] = {"axk1",        "axk2",         "cohere_compass_text",
                                             "deepseek_v2", "deepseek_v3",  "diffllama",
                                             "doge",        "exaone4",      "gemma3",
                                             "glm",         "helium",       "hunyuan_v1_dense",
                                             "jamba",       "jetmoe",       "hunyuan_v1_moe",
                                             "minicpm3",    "minimax",      "ministral",
                                             "olmo",        "olmo3",        "ministral3",
                                             "persimmon",   "phimoe",       "stablelm",
                                             "qwen3_5",     "qwen3_5_text", "qwen3_next"};
    return recording.of_type && is_listed(kGeneric, recording.model_type);
}

bool scores_tokens(const Document& recording) {
    constexpr std::string_view kGeneric[] = {"apertus",    "axk1",      "axk2",         "deepseek_v3", "diffllama",
                                             "exaone4",    "glm",       "helium",       "minimax",     "ministral",
                                             "ministral3", "persimmon", "qwen3_5_text", "qwen3_next",  "stablelm"};
    return recording.of_type && is_listed(kGeneric, recording.model_type);
}

bool has_padding_in_text_config(const Document& recording) {
    return recording.model_type == "gemma3" || recording.model_type == "qwen3_5";
}

}  // namespace vramfit::network
