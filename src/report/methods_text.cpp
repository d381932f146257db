// The methods for a run on several GPUs, compared, as text.
#include <algorithm>

#include <fmt/format.h>

#include "base/text_table.hpp"
#include "report/documents.hpp"
#include "report/plan_text.hpp"

namespace vramfit::report {

namespace {

std::string amount(std::int64_t bytes) { return bytes == 0 ? "-" : size_text(bytes); }

std::string range_text(std::int64_t least, std::int64_t most) {
    return least == most ? size_text(most) : fmt::format("{} to {}", size_text(least), size_text(most));
}

/// What each of the rows can use, at the worst end of what is not known: NCCL's buffers differ from method to method.
std::string usable_by_rows(const MethodsReport& report) {
    std::int64_t least = 0, most = 0;
    for (const MethodRow& row : report.answer.rows) {
        if (!row.prediction) continue;
        const std::int64_t usable = std::max<std::int64_t>(row.prediction->usable_low().count, 0);
        least = most == 0 ? usable : std::min(least, usable);
        most = std::max(most, usable);
    }
    const Device& card = report.question.job.device;
    if (most == 0) return size_text(card.usable.count);
    return range_text(least, most);
}

std::string method_question(const MethodsReport& report, const Layout& layout) {
    const Job& job = report.question.job;
    const TrainingPlan& training = job.plan.training;
    const Device& card = job.device;
    const std::int64_t cards = report.question.cards;
    const std::int64_t rows = cards * training.per_device_train_batch_size * training.gradient_accumulation_steps;
    std::string out =
        wrapped(fmt::format("{} on {} x {}: {} sequence{} of {} tokens in each optimizer step.", job.model.name, cards,
                            card.name, rows, rows == 1 ? "" : "s", job.plan.batch.sequence_length),
                layout.width);
    out += wrapped(fmt::format("Each GPU has {}, of which tensors can use at least {}, depending on the method: the "
                               "CUDA context and NCCL's buffers take the rest.",
                               size_text(card.total.count), usable_by_rows(report)),
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

/// Sequences per GPU at a time: where GPUs work on the same ones, their share of them.
std::string largest_text(const MethodRow& row) {
    const std::int64_t sequences = row.largest.value_or(0) * row.replicas();
    if (sequences == 0) return "none";
    if (sequences % row.cards == 0) return std::to_string(sequences / row.cards);
    return fmt::format("{}/{}", sequences, row.cards);
}

std::vector<std::string> cells_of(const MethodRow& row, std::size_t place, bool with_largest, double least) {
    const Prediction& p = *row.prediction;
    const std::int64_t usable = p.usable_low().count;
    std::vector<std::string> cells = {row.fits() ? std::to_string(place) : "",
                                      row.title,
                                      std::to_string(row.cards),
                                      row.job.plan.checkpoints() ? "yes" : "no",
                                      size_text(p.peak.reserved),
                                      size_text(std::max<std::int64_t>(usable, 0)),
                                      size_text(usable - p.peak.reserved),
                                      amount(row.host_bytes)};
    if (with_largest) cells.push_back(largest_text(row));
    cells.push_back(fmt::format("{:.2f}", row.cost / least));
    cells.push_back(amount(row.traffic.between_cards()));
    cells.push_back(amount(row.traffic.with_host));
    return cells;
}

/// The columns that decide stay however narrow the screen is: what is reserved on a card and in host memory.
template <class Wanted>
std::string method_table(const MethodsReport& report, int width, Wanted wanted) {
    const bool with_largest = report.question.largest_batch;
    TextTable table;
    table.columns = {{"#", Align::right},           {"method", Align::left, 0, ' '}, {"GPUs", Align::right, 2},
                     {"recompute", Align::left, 1}, {"reserved", Align::right},      {"usable", Align::right, 6},
                     {"left", Align::right, 3},     {"host memory", Align::right}};
    if (with_largest) table.columns.push_back({"max batch", Align::right});
    table.columns.push_back({"cost", Align::right});
    table.columns.push_back({"sent", Align::right, 4});
    table.columns.push_back({"to host", Align::right, 5});
    const double least = least_cost(report);
    std::size_t place = 0;
    for (const MethodRow& row : report.answer.rows)
        if (row.prediction && wanted(row)) table.rows.push_back(cells_of(row, ++place, with_largest, least));
    return table.rows.empty() ? "" : text_of(table, width);
}

std::string table_of(const MethodsReport& report, Verdict verdict, int width) {
    return method_table(report, width,
                        [&](const MethodRow& row) { return row.verdict() == verdict && !row.lacks_host_memory; });
}

std::string host_table(const MethodsReport& report, int width) {
    if (!report.question.host_memory) return "";
    const std::string table = method_table(report, width, [](const MethodRow& row) { return row.lacks_host_memory; });
    if (table.empty()) return "";
    return fmt::format("\nNeed more host memory than {} (--host-memory):\n{}",
                       size_text(report.question.host_memory->count), table);
}

std::string refused_methods(const MethodsReport& report, int width) {
    std::string out;
    for (const MethodRow& row : report.answer.rows)
        if (!row.prediction) out += wrapped(fmt::format("{}: {}", row.title, row.refusal), width, "  ", "    ");
    return out.empty() ? out : "\nNot predicted:\n" + out;
}

std::string indented(const std::string& text) {
    std::string out;
    std::size_t begin = 0;
    while (begin < text.size()) {
        const std::size_t end = std::min(text.find('\n', begin), text.size());
        out += fmt::format("    {}\n", text.substr(begin, end - begin));
        begin = end + 1;
    }
    return out;
}

/// The row of the ranking that would be taken, as it is started.
std::string launch_text(const MethodsReports& reports, std::size_t fleet, const Layout& layout) {
    const MethodRow* const row = reports.fleets[fleet].answer.ranked(reports.row);
    if (!row) return {};
    const bool written = !reports.folders.empty();
    const Launch launch = launch_of(row->prediction->plan, written ? reports.folders[fleet] : "");
    std::string out = fmt::format("\nTo run row {} ({}):\n\n", reports.row, row->title);
    std::vector<std::string> words = {fmt::format("{}", fmt::join(launch.words, " "))};
    words.insert(words.end(), launch.arguments.begin(), launch.arguments.end());
    out += wrapped(words, layout.width, "  ", "      ", " \\") + "\n";
    for (const LaunchFile& file : launch.files) {
        if (!written) out += fmt::format("  with {}:\n\n{}\n", file.name, indented(file.text));
    }
    for (const LaunchFile& file : written ? reports.files[fleet] : std::vector<LaunchFile>())
        out += wrapped(fmt::format("{} is written.", file.name), layout.width);
    std::string script = "train.py stands for your script; its TrainingArguments have these values.";
    if (launch.arguments.empty()) script = "train.py stands for your script.";
    if (!launch.script.empty()) script += fmt::format(" In it, {}.", fmt::join(launch.script, "; "));
    return out + wrapped(script, layout.width);
}

std::string legend(const MethodsReports& reports, int width) {
    const MethodsQuestion& question = reports.fleets.front().question;
    std::string out =
        "Order: methods that fit come first; those that train the weights as asked before QLoRA; those that keep "
        "nothing in host memory before those that do; then the cheaper ones. \"recompute\" is gradient checkpointing. "
        "\"reserved\" is what PyTorch reserves on the GPU that needs most. \"usable\" is what tensors can have there "
        "if "
        "what is not known about the GPU, its CUDA context and NCCL turns out badly, and \"left\" the difference; "
        "below "
        "zero it still fits where PyTorch gives cached memory back in time. \"host memory\" is what weights, gradients "
        "and optimizer states of all processes take there during training; loading the model is not counted.";
    if (question.largest_batch)
        out += " \"max batch\" is how many sequences per GPU fit at a time; 1/4 means that four GPUs share one.";
    out += fmt::format(
        " \"cost\" compares the work of one GPU in one optimizer step with that of the cheapest method: its "
        "operations, "
        "{:g} more for each byte that it sends (--operations-per-byte), and the time that the stages of a pipeline "
        "wait for each other. \"sent\" and \"to host\" are what one process sends in one optimizer step to other GPUs "
        "and to and from host memory.",
        question.operations_per_byte);
    return "\n" + wrapped(out, width);
}

std::string fleet_text(const MethodsReports& reports, std::size_t fleet, const Layout& layout) {
    const MethodsReport& report = reports.fleets[fleet];
    std::string out = method_question(report, layout);
    const std::string fits = table_of(report, Verdict::fits, layout.table_width);
    const std::string tight = table_of(report, Verdict::tight, layout.table_width);
    out += fits.empty() ? (tight.empty() ? "Nothing fits.\n" : "Nothing fits for certain.\n") : fits;
    if (!tight.empty()) out += "\nTight, which fits unless what is not known turns out badly:\n" + tight;
    const std::string too_large = table_of(report, Verdict::too_large, layout.table_width);
    if (!too_large.empty()) out += "\nToo large:\n" + too_large;
    out += host_table(report, layout.table_width);
    return out + refused_methods(report, layout.width) + launch_text(reports, fleet, layout);
}

}  // namespace

std::string methods_text(const MethodsReports& reports, const Layout& layout) {
    std::string out;
    for (std::size_t i = 0; i < reports.fleets.size(); ++i) out += (i > 0 ? "\n" : "") + fleet_text(reports, i, layout);
    return out + legend(reports, layout.width);
}

}  // namespace vramfit::report
