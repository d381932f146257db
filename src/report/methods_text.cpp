// The methods for a run on several cards, compared, as text.
#include <fmt/format.h>

#include "base/text_table.hpp"
#include "report/documents.hpp"
#include "report/plan_text.hpp"

namespace vramfit::report {

namespace {

std::string amount(std::int64_t bytes) { return bytes == 0 ? "-" : size_text(bytes); }

std::string method_question(const MethodsReport& report, const Layout& layout) {
    const Job& job = report.question.job;
    const TrainingPlan& training = job.plan.training;
    const std::int64_t rows =
        report.question.cards * training.per_device_train_batch_size * training.gradient_accumulation_steps;
    std::string out =
        wrapped(fmt::format("{} on {} x {}: {} rows of {} tokens in each optimizer step", job.model.name,
                            report.question.cards, describe(job.device), rows, job.plan.batch.sequence_length),
                layout.width);
    return out + "\n";
}

/// The least cost of the rows that are predicted.
double least_cost(const MethodsReport& report) {
    double least = 0;
    for (const MethodRow& row : report.answer.rows)
        if (row.prediction && (least == 0 || row.cost < least)) least = row.cost;
    return least;
}

std::vector<std::string> cells_of(const MethodRow& row, std::size_t place, bool with_largest, double least) {
    const Prediction& p = *row.prediction;
    std::vector<std::string> cells = {row.fits() ? std::to_string(place) : "",
                                      row.title,
                                      std::to_string(row.cards),
                                      row.job.plan.checkpoints() ? "yes" : "no",
                                      size_text(p.peak.reserved),
                                      size_text(p.device.usable.count - p.peak.reserved)};
    if (with_largest) cells.push_back(row.largest.value_or(0) == 0 ? "none" : std::to_string(*row.largest));
    cells.push_back(fmt::format("{:.2f}", row.cost / least));
    cells.push_back(amount(row.traffic.between_cards()));
    cells.push_back(amount(row.traffic.with_host));
    cells.push_back(amount(row.host_bytes));
    return cells;
}

std::string method_table(const MethodsReport& report, bool fitting, int width) {
    const bool with_largest = report.question.largest_batch;
    TextTable table;
    table.columns = {{"#", Align::right},           {"method", Align::left, 0, ' '}, {"cards", Align::right, 2},
                     {"recompute", Align::left, 1}, {"reserved", Align::right},      {"left", Align::right, 3}};
    if (with_largest) table.columns.push_back({"batch", Align::right});
    table.columns.push_back({"cost", Align::right});
    table.columns.push_back({"sent", Align::right});
    table.columns.push_back({"to host", Align::right, 5});
    table.columns.push_back({"on host", Align::right, 4});
    const double least = least_cost(report);
    std::size_t place = 0;
    for (const MethodRow& row : report.answer.rows)
        if (row.prediction && row.fits() == fitting) table.rows.push_back(cells_of(row, ++place, with_largest, least));
    return table.rows.empty() ? "" : text_of(table, width);
}

std::string refused_methods(const MethodsReport& report, int width) {
    std::string out;
    for (const MethodRow& row : report.answer.rows)
        if (!row.prediction) out += wrapped(fmt::format("{}: {}", row.title, row.refusal), width, "  ", "    ");
    return out.empty() ? out : "\nNot predicted:\n" + out;
}

std::string legend(const MethodsQuestion& question, int width) {
    return "\n" + wrapped(fmt::format("Ranked: what fits, as asked before quantized, nothing on the host before "
                                      "something, less cost. reserved: of the process that needs most; {}cost: of one "
                                      "card for one optimizer step, in the least of the column: its operations, and "
                                      "{:g} for each byte it sends (--operations-per-byte), and for a pipeline the "
                                      "turns in which it fills and empties; sent, to host: bytes of "
                                      "one process in one optimizer step; on host: states of all processes.",
                                      question.largest_batch ? "batch: the most rows on a card that fit; " : "",
                                      question.operations_per_byte),
                          width);
}

}  // namespace

std::string methods_text(const MethodsReport& report, const Layout& layout) {
    std::string out = method_question(report, layout);
    const std::string fits = method_table(report, true, layout.width);
    out += fits.empty() ? "Nothing fits.\n" : fits;
    const std::string too_large = method_table(report, false, layout.width);
    if (!too_large.empty()) out += "\nToo large:\n" + too_large;
    return out + refused_methods(report, layout.width) + legend(report.question, layout.width);
}

}  // namespace vramfit::report
