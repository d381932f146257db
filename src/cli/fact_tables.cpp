// What the program knows, as tables: the commands models, gpus and stacks.
#include "cli/fact_tables.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>

#include <fmt/format.h>

#include "cli/help.hpp"
#include "cli/report_flags.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/spec/config.hpp"
#include "vramfit/spec/devices.hpp"
#include "vramfit/spec/models.hpp"
#include "vramfit/spec/stacks.hpp"
#include "vramfit/spec/suggest.hpp"

namespace vramfit::cli {

namespace {

std::vector<std::string> lines(std::string_view text) {
    std::vector<std::string> out;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        if (end > 0) out.emplace_back(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return out;
}

bool contains(const Cell& cell, const std::string& text) {
    if (const auto* one = std::get_if<std::string>(&cell)) return lower_case(*one).find(text) != std::string::npos;
    const auto* several = std::get_if<std::vector<std::string>>(&cell);
    return several && std::any_of(several->begin(), several->end(),
                                  [&](const std::string& one) { return contains(Cell(one), text); });
}

/// Whether the name of the row, or another word for it, contains the text.
bool matches(const ReportTable& table, const std::vector<Cell>& row, const std::string& text) {
    for (std::size_t i = 0; i < row.size(); ++i) {
        const std::string& key = table.columns[i].key;
        const bool is_name = key == "name" || key == "id" || key == "family" || key == "aliases";
        if (is_name && contains(row[i], text)) return true;
    }
    return false;
}

struct TableFlags {
    std::string text;
    ReportFlags report;
};

ExitStatus show(const TableFlags& flags, ReportTable table) {
    const Format& format = flags.report.chosen();
    const std::string text = lower_case(flags.text);
    std::erase_if(table.rows, [&](const std::vector<Cell>& row) { return !matches(table, row, text); });
    if (table.rows.empty())
        throw Error(ErrorKind::invalid, flags.text, "no row contains this text", "without a text all are listed");
    flags.report.deliver(format.table(table, flags.report.layout()));
    return kFits;
}

}  // namespace

ReportTable model_table() {
    ReportTable table{"vramfit.models/1",
                      "models",
                      {{"name", "name"},
                       {"id", "Hugging Face id", 3},
                       {"family", "family", 2},
                       {"parameters", "parameters"},
                       {"layers", "layers", 1},
                       {"max_position_embeddings", "", 0},
                       {"aliases", ""}},
                      {}};
    for (const BuiltInModel& model : built_in_models()) {
        const ModelFacts facts = facts_of(model);
        table.rows.push_back({std::string(model.name), std::string(model.id), facts.model_type, facts.parameters,
                              facts.layers, facts.max_position_embeddings, lines(model.aliases)});
    }
    return table;
}

ReportTable gpu_table() {
    ReportTable table{"vramfit.gpus/1",
                      "gpus",
                      {{"name", "name"},
                       {"total", "total"},
                       {"context", "CUDA context", 1},
                       {"context_measured", "measured", 2},
                       {"capability", "capability", 3},
                       {"multiprocessors", "multiprocessors", 4},
                       {"aliases", "", 0},
                       {"total_is_cuda", ""},
                       {"total_source", ""},
                       {"context_source", ""},
                       {"multiprocessors_source", ""},
                       {"total_low", ""},
                       {"total_high", ""},
                       {"total_ends_source", ""},
                       {"context_low", ""},
                       {"context_high", ""}},
                      {}};
    for (const KnownDevice& card : known_devices()) {
        const Device device = device_from(card.name);
        const auto ends_of = [&device](AssumptionKind kind, Bytes otherwise) {
            for (const Assumption& one : device.assumptions)
                if (one.kind == kind) return std::pair(one.least, one.most);
            return std::pair(otherwise, otherwise);
        };
        const auto [kept_least, kept_most] = ends_of(AssumptionKind::total, Bytes{});
        const auto [context_low, context_high] = ends_of(AssumptionKind::context, card.context);
        table.rows.push_back({card.name, card.total, card.context, !card.context_source.empty(),
                              fmt::format("{}.{}", card.capability.major, card.capability.minor),
                              std::int64_t{card.multiprocessors}, card.aliases, card.total_is_cuda, card.total_source,
                              card.context_source, card.multiprocessors_source, card.total - kept_most,
                              card.total - kept_least, card.cuda_ends_source, context_low, context_high});
    }
    return table;
}

/// Whose stack a named one is.
std::string origin_of(const Stack& named) {
    constexpr std::pair<std::string_view, const char*> kTrainers[] = {
        {"axolotl-0.19", "pip install axolotl==0.19.0"},
        {"llamafactory-0.9.5", "pip install llamafactory==0.9.5"},
        {"swift-4.6", "pip install ms-swift==4.6.0"},
        {"unsloth-2026.10", "unsloth 2026.10.7 on torch 2.11"},
        {"unsloth-2026.10.9", "unsloth 2026.10.9 on torch 2.11"},
    };
    for (const auto& [name, origin] : kTrainers)
        if (name == named.name) return origin;
    return fmt::format("releases of {}", named.name.substr(named.name.find('-') + 1));
}

ReportTable stack_table() {
    ReportTable table{"vramfit.stacks/1", "stacks", {{"name", "name"}}, {}};
    for (const std::string_view library : stack_libraries()) {
        const auto& all = named_stacks();
        const bool used = std::any_of(all.begin(), all.end(),
                                      [&](const Stack& stack) { return version_of(stack, library) != Version{}; });
        const int drop = static_cast<int>(table.columns.size());  // the last columns go first on a narrow screen
        if (used) table.columns.push_back({std::string(library), std::string(library), drop});
    }
    const std::size_t libraries = table.columns.size();
    table.columns.push_back({"origin", "origin", 2});
    for (const auto* stacks : {&named_stacks(), &trainer_stacks()})
        for (const Stack& stack : *stacks) {
            std::vector<Cell> row = {stack.name};
            for (std::size_t i = 1; i < libraries; ++i) {
                const Version& version = version_of(stack, table.columns[i].key);
                row.push_back(version == Version{} ? Cell() : Cell(text_of(version)));
            }
            row.emplace_back(origin_of(stack));
            table.rows.push_back(std::move(row));
        }
    return table;
}

Run add_table_command(CLI::App& app, ReportTable (*table)(), const char* text_help, OtherTable other) {
    auto flags = std::make_shared<TableFlags>();
    add_value(app, "TEXT", flags->text, "", text_help);
    flags->report.writes = [](const Format& each) { return each.table != nullptr; };
    flags->report.add(app);
    return [flags, table, other] {
        const std::optional<ReportTable> another = other ? other(flags->text) : std::nullopt;
        if (!another) return show(*flags, table());
        flags->report.deliver(flags->report.chosen().table(*another, flags->report.layout()));
        return kFits;
    };
}

}  // namespace vramfit::cli
