// The methods for a run on several cards, compared, as text.
#include <algorithm>

#include <fmt/format.h>

#include "base/text_table.hpp"
#include "report/documents.hpp"
#include "report/plan_text.hpp"

namespace vramfit::report {

namespace {

std::string amount(std::int64_t bytes) { return bytes == 0 ? "-" : size_text(bytes); }

/// The card with what the rows leave to tensors: NCCL's buffers differ from method to method.
std::string card_of(const MethodsReport& report) {
    const Device& card = report.question.job.device;
    std::int64_t least = card.usable.count, most = 0;
    for (const MethodRow& row : report.answer.rows) {
        if (!row.prediction) continue;
        least = std::min(least, row.prediction->device.usable.count);
        most = std::max(most, row.prediction->device.usable.count);
    }
    const std::string text = describe(card);
    if (most == 0 || (least == most && most == card.usable.count)) return text;
    const std::string range =
        least == most ? size_text(most) : fmt::format("{} to {}", size_text(least), size_text(most));
    return fmt::format("{}; {} beside NCCL's buffers", text, range);
}

std::string method_question(const MethodsReport& report, const Layout& layout) {
    const Job& job = report.question.job;
    const TrainingPlan& training = job.plan.training;
    const std::int64_t rows =
        report.question.cards * training.per_device_train_batch_size * training.gradient_accumulation_steps;
    std::string out = wrapped(fmt::format("{} on {} x {}: {} rows of {} tokens in each optimizer step", job.model.name,
                                          report.question.cards, card_of(report), rows, job.plan.batch.sequence_length),
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
                                      size_text(p.usable_low().count - p.peak.reserved)};
    if (with_largest) cells.push_back(row.largest.value_or(0) == 0 ? "none" : std::to_string(*row.largest));
    cells.push_back(fmt::format("{:.2f}", row.cost / least));
    cells.push_back(amount(row.traffic.between_cards()));
    cells.push_back(amount(row.traffic.with_host));
    cells.push_back(amount(row.host_bytes));
    return cells;
}

std::string method_table(const MethodsReport& report, Verdict verdict, int width) {
    const bool with_largest = report.question.largest_batch;
    TextTable table;
    table.columns = {{"#", Align::right},           {"method", Align::left, 0, ' '}, {"cards", Align::right, 2},
                     {"recompute", Align::left, 1}, {"reserved", Align::right},      {"left", Align::right, 3}};
    if (with_largest) table.columns.push_back({"batch", Align::right});
    table.columns.push_back({"cost", Align::right});
    table.columns.push_back({"sent", Align::right});
    table.columns.push_back({"to host", Align::right, 5});
    table.columns.push_back({"on host", Align::right});
    const double least = least_cost(report);
    std::size_t place = 0;
    for (const MethodRow& row : report.answer.rows)
        if (row.prediction && row.prediction->verdict == verdict)
            table.rows.push_back(cells_of(row, ++place, with_largest, least));
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
                                      "something, less cost. reserved: of the process that needs most; left: at the "
                                      "worst end of what is not known about card, context and NCCL; {}cost: of one "
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
    const std::string fits = method_table(report, Verdict::fits, layout.table_width);

    const std::string tight = method_table(report, Verdict::tight, layout.table_width);
    out += fits.empty() ? (tight.empty() ? "Nothing fits.\n" : "Nothing fits for certain.\n") : fits;
    if (!tight.empty()) out += "\nTight, which fits unless what is not known turns out badly:\n" + tight;
    const std::string too_large = method_table(report, Verdict::too_large, layout.table_width);
    if (!too_large.empty()) out += "\nToo large:\n" + too_large;
    return out + refused_methods(report, layout.width) + legend(report.question, layout.width);
}

}  // namespace vramfit::report
