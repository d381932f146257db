// The strict reader of vramfit.network/1.
#include <array>

#include <fmt/format.h>

#include "spec/json_parse.hpp"
#include "spec/network/model.hpp"
#include "spec/network/read_parts.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/spec/suggest.hpp"

namespace vramfit::network {

namespace {

constexpr std::string_view kSchema = "vramfit.network/1";
constexpr std::string_view kFamily = "vramfit.network/";

Leaf leaf_of(const Place& place) {
    constexpr std::array<std::pair<std::string_view, Leaf>, 6> kLeaves = {{{"linear", Leaf::linear},
                                                                           {"conv1d", Leaf::conv1d},
                                                                           {"embedding", Leaf::embedding},
                                                                           {"layer_norm", Leaf::layer_norm},
                                                                           {"norm", Leaf::norm},
                                                                           {"experts", Leaf::experts}}};
    for (const auto& [name, leaf] : kLeaves)
        if (place.text() == name) return leaf;
    place.refuse(fmt::format("unknown leaf {}", place.json().shown()),
                 "known: linear, conv1d, embedding, layer_norm, norm, experts");
}

std::vector<Parameter> parameters_of(const Place& place) {
    std::vector<Parameter> all;
    if (place.is_null()) return all;
    for (std::size_t i = 0; i < place.list(0, kMostModules).size(); ++i) {
        const Place row = place.at(i);
        Parameter parameter{row.list(3, 4).at(0).text(), read_dtype(row.at(1)), read_sizes(row.at(2))};
        if (row.size() > 3) {
            const Place unusual = row.at(3);
            // No matter behind from_pretrained, which makes every parameter anew.
            if (unusual.object().has("requires_grad")) unusual.member("requires_grad").boolean();
            if (unusual.has("initial")) parameter.initial = read_dtype(unusual.member("initial"));
            if (unusual.has("initials"))
                parameter.initials = static_cast<int>(unusual.member("initials").integer(2, 100));
            if (unusual.has("persistent")) parameter.persistent = unusual.member("persistent").boolean();
        }
        all.push_back(std::move(parameter));
    }
    return all;
}

void read_schema(const Place& root) {
    root.object();
    const Place schema = root.member("schema");
    if (!root.has("schema"))
        root.refuse("no recorded network: there is no \"schema\"",
                    fmt::format("\"schema\" is \"{}\" in what tools/record writes", kSchema));
    if (schema.text() == kSchema) return;
    if (schema.text().starts_with(kFamily))
        throw Error(ErrorKind::unsupported, fmt::format("{} /schema", root.file()),
                    fmt::format("{} is not known to this version", schema.json().shown()),
                    fmt::format("known: {}; record the network with the recorder of this version", kSchema));
    schema.refuse(fmt::format("{} is no recorded network", schema.json().shown()));
}

/// One parameter and what a checkpoint has for it: a name, names of parts, or a name for each expert of one or two
/// matrices.
Published published_row(const Place& place) {
    Published row;
    for (std::size_t i = 0; i < place.list(2, 4).size(); ++i) {
        const std::string& name = place.at(i).text();
        if (i == 0)
            row.parameter = name;
        else
            row.files.push_back(name);
    }
    const auto more = Published::numbers_in(row.files[0]) - Published::numbers_in(row.parameter);
    if (more != 0 && more != 1) place.refuse("a checkpoint's name has other numbers (*) than the parameter's");
    if (more == 0) return row;
    if (row.files.size() > 2) place.refuse("more than two matrices of each expert");
    const auto before_expert = [&](const std::string& file) {
        const std::size_t expert = file.rfind(".*.");
        if (expert == file.npos || file.find('*', expert + 2) != file.npos || expert + 3 == file.size())
            place.refuse("an expert's matrix is called NAME.*.FILE", "the last * is the expert's number");
        return file.substr(0, expert);
    };
    for (const std::string& file : row.files)
        if (before_expert(file) != before_expert(row.files[0])) place.refuse("matrices of different experts");
    return row;
}

std::vector<Published> published_of(const Place& place) {
    std::vector<Published> rows;
    for (std::size_t i = 0; i < place.list(0, kMostKinds).size(); ++i) rows.push_back(published_row(place.at(i)));
    return rows;
}

/// What recordings of older recorders do not say has its usual value.
void read_declared(const Place& network, Document& document) {
    const auto text = [&](std::string_view key) {
        return network.has(key) && !network.member(key).is_null() ? network.member(key).text() : std::string();
    };
    const auto texts = [&](std::string_view key) {
        return network.has(key) ? texts_of(network.member(key)) : std::vector<std::string>();
    };
    const auto flag = [&](std::string_view key) { return !network.has(key) || network.member(key).boolean(); };
    document.input_embeddings = text("input_embeddings");
    document.output_embeddings = text("output_embeddings");
    document.keep_in_float32 = texts("keep_in_fp32_modules");
    document.keep_in_float32_strict = texts("keep_in_fp32_modules_strict");
    document.accepts_loss_kwargs = flag("accepts_loss_kwargs");
    document.loss_shifts_labels = flag("loss_shifts_labels");
    document.ties_bias_first = network.has("ties_bias_first") && flag("ties_bias_first");
    document.conversion = text("conversion");
    if (network.has("checkpoint")) document.checkpoint = published_of(network.member("checkpoint"));
}

std::vector<PlannedCut> read_plan(const Place& plan) {
    std::vector<PlannedCut> rows;
    for (const std::string& name : plan.object().json().keys) rows.push_back({name, plan.member(name).text()});
    return rows;
}

void read_header(const Place& root, Document& document) {
    const Place with = root.member("recorded_with");
    document.torch = with.object().member("torch").text();
    document.transformers = with.member("transformers").text();
    const Place network = root.member("network");
    document.class_name = network.object().member("class").text();
    document.head = network.member("head").text();
    document.model_type = network.member("model_type").text();
    document.no_split_modules = texts_of(network.member("no_split_modules"));
    if (network.has("tp_plan")) document.tensor_parallel_plan = read_plan(network.member("tp_plan"));
    const JsonValue& config = network.member("config").object().json();
    document.config = to_text(config);
    document.returns_router_logits = config.find("output_router_logits") != nullptr;
    if (const JsonValue* coefficient = config.find("router_aux_loss_coef");
        coefficient && (coefficient->kind == JsonValue::Kind::real || coefficient->kind == JsonValue::Kind::integer))
        document.router_aux_loss_coef = coefficient->real;
    if (network.has("varied")) document.varied = texts_of(network.member("varied"));
    read_declared(network, document);
}

}  // namespace

ModuleKind read_kind(const Place& place, std::size_t before) {
    ModuleKind kind;
    kind.class_name = place.object().member("class").text();
    if (place.has("leaf")) kind.leaf = leaf_of(place.member("leaf"));
    if (place.has("checkpointed")) kind.checkpointed = place.member("checkpointed").boolean();
    kind.parameters = parameters_of(place.member("parameters"));
    kind.buffers = parameters_of(place.member("buffers"));
    if (!place.has("children")) return kind;
    const Place children = place.member("children");
    for (std::size_t i = 0; i < children.list(0, kMostModules).size(); ++i) {
        const Place row = children.at(i);
        row.list(2, 2);
        if (before == 0) row.refuse("the first kind of module contains none");
        kind.children.push_back({row.at(0).text(), row.at(1).number(before)});
    }
    return kind;
}

Variant read_variant(const Place& place, std::size_t programs) {
    Variant variant;
    variant.attention = place.object().member("attention").text();
    variant.mask = place.member("mask").text();
    variant.use_cache = place.member("use_cache").boolean();
    variant.labels = place.member("labels").boolean();
    if (place.has("items")) variant.items = place.member("items").boolean();
    variant.checkpointing = place.member("checkpointing").boolean();
    variant.program = place.member("program").number(programs);
    variant.only = place.has("only");
    if (place.has("not_fitted")) variant.not_fitted = place.member("not_fitted").list().size();
    if (!place.has("when")) return variant;
    const Place when = place.member("when");
    if (when.object().has("weights")) variant.weights = when.member("weights").text();
    if (when.has("batch")) variant.one_row = when.member("batch").integer(1, 1) == 1;
    if (when.has("autocast")) variant.autocast = when.member("autocast").boolean();
    if (when.has("sizes")) variant.sizes = read_comparison(when.member("sizes"));
    return variant;
}

Document read_network(std::string_view text, std::string_view file) {
    if (text.size() > kMostBytes)
        throw Error(ErrorKind::invalid, std::string(file),
                    fmt::format("{} bytes, more than the {} that a recording may have", text.size(), kMostBytes),
                    "record fewer variants (--variants base)");
    Problems problems(file);
    const JsonValue json = parse_json(text, problems);
    problems.throw_if_any();
    return read_network(json, file);
}

Document read_network(const JsonValue& json, std::string_view file) {
    const Place root(json, file);
    read_schema(root);
    Document document;
    document.file = file;
    read_header(root, document);
    const Place kinds = root.member("modules");
    for (std::size_t i = 0; i < kinds.list(1, kMostKinds).size(); ++i)
        document.kinds.push_back(read_kind(kinds.at(i), i));
    document.root = root.member("root").number(kinds.size());
    const Place ties = root.member("ties");
    for (std::size_t i = 0; i < ties.list().size(); ++i)
        document.ties.push_back(texts_of(ties.at(i).list(2, 1000)));  // the names of one tensor
    for (const std::string& table : other_tables(document))           // of which a checkpoint has the first
        document.checkpoint.push_back({document.input_embeddings + ".weight", {table + ".weight"}});
    const Place programs = root.member("programs");
    for (std::size_t i = 0; i < programs.list(0, kMostPrograms).size(); ++i)
        document.programs.push_back(read_program(programs.at(i), i));
    const Place variants = root.member("variants");
    if (variants.list(0, 1000).size() == 0)
        variants.refuse("no variant was recorded", "\"refused\" says why; the recorder says it too");
    for (std::size_t i = 0; i < variants.size(); ++i)
        document.variants.push_back(read_variant(variants.at(i), programs.size()));
    check_document(document);
    return document;
}

}  // namespace vramfit::network
