// A snapshot beside its prediction, for people: where they part first, then the rest.
#include <fmt/format.h>

#include "base/printable.hpp"
#include "base/text_table.hpp"
#include "report/comparison_reasons.hpp"
#include "report/documents.hpp"
#include "report/plan_text.hpp"
#include "vramfit/spec/sizes.hpp"

namespace vramfit::report {

namespace {

constexpr std::size_t kListedDifferences = 10;
constexpr std::size_t kLongestFrame = 200;

std::string allocation_text(const PredictedAllocation& a) {
    std::string out = fmt::format("{} bytes", grouped(a.bytes));
    if (!a.op.empty()) out += fmt::format(" by {}", a.op);
    if (!a.module.empty()) out += fmt::format(" in {}", a.module);
    return fmt::format("{}, {}", out, vramfit::name_of(a.category));
}

std::string seen_text(const SeenAllocation& a) {
    std::string out = fmt::format("{} bytes, entry {} of device_traces", grouped(a.bytes),
                                  grouped(static_cast<std::int64_t>(a.entry)));
    const char* separator = ", at ";
    for (const StackFrame& frame : a.frames) {
        const std::size_t slash = frame.file.rfind('/');
        out += printable(
            fmt::format("{}{}:{} {}", separator, slash == frame.file.npos ? frame.file : frame.file.substr(slash + 1),
                        frame.line, frame.function),
            kLongestFrame);
        separator = " < ";
    }
    return out;
}

std::string head_of(const SnapshotDifference& d) {
    const auto several = [](std::size_t n) {
        return n == 1 ? std::string("an allocation")
                      : fmt::format("{} allocations", grouped(static_cast<std::int64_t>(n)));
    };
    switch (d.kind) {
        case DifferenceKind::size:
            if (d.seen_count == 1 && d.predicted_count == 1)
                return fmt::format("an allocation of {} bytes instead of {} ({:+} bytes)", grouped(d.seen_bytes),
                                   grouped(d.predicted_bytes), d.seen_bytes - d.predicted_bytes);
            return fmt::format("{} of together {} bytes instead of {} of {}", several(d.seen_count),
                               grouped(d.seen_bytes), several(d.predicted_count), grouped(d.predicted_bytes));
        case DifferenceKind::only_in_snapshot:
            return fmt::format("{} of {} bytes that the prediction has not", several(d.seen_count),
                               grouped(d.seen_bytes));
        case DifferenceKind::only_in_prediction:
            return fmt::format("{} of {} byte{} that the snapshot has not", several(d.predicted_count),
                               grouped(d.predicted_bytes), d.predicted_bytes == 1 ? "" : "s");
        case DifferenceKind::freed_elsewhere: return "memory that is freed earlier or later than predicted";
        case DifferenceKind::held_before:
            return fmt::format("the run already holds {} bytes here instead of {} ({:+} bytes)", grouped(d.seen_bytes),
                               grouped(d.predicted_bytes), d.seen_bytes - d.predicted_bytes);
    }
    return "";
}

std::string difference_text(const SnapshotDifference& d, const Layout& layout) {
    std::string out;
    if (d.predicted) out += wrapped(allocation_text(*d.predicted), layout.width, "  predicted: ", "             ");
    if (d.seen) out += wrapped(seen_text(*d.seen), layout.width, "  recorded:  ", "             ");
    return out;
}

std::string held_text(const SnapshotComparison& c, const Layout& layout) {
    if (c.held.empty()) return "";
    TextTable table;
    table.indent = "  ";
    table.columns = {{"bytes of one", Align::right},
                     {"recorded", Align::right},
                     {"predicted", Align::right},
                     {"such as", Align::left, 1}};
    for (const HeldSize& size : c.held)
        table.rows.push_back(
            {grouped(size.bytes), grouped(size.seen), grouped(size.predicted),
             size.what ? size.what->module.empty() ? vramfit::name_of(size.what->category) : size.what->module : ""});
    return "\nwhat is held there, by size:\n" + text_of(table, layout.table_width);
}

std::string coverage(const ComparisonReport& r) {
    const SnapshotComparison& c = r.comparison;
    std::string out = fmt::format("compared: {} to {}, {} allocations and frees", c.first_window, c.last_window,
                                  grouped(static_cast<std::int64_t>(c.compared)));
    if (c.extra_steps > 0)
        out += fmt::format("; {} step{} beyond the predicted ones, compared with the last of these",
                           grouped(c.extra_steps), c.extra_steps == 1 ? "" : "s");
    if (!c.from_start) out += "; what came before the recording is compared by the sizes that were held when it began";
    if (c.load_reordered) out += "; loading has the same allocations in another order, as threads make them";
    if (!c.load_compared && c.from_start) out += "; loading is not compared";
    if (r.devices > 1) out += fmt::format("; of {} GPUs in the file the one with number {}", r.devices, r.device);
    return out;
}

}  // namespace

std::string comparison_text(const ComparisonReport& r, const Layout& layout) {
    const SnapshotComparison& c = r.comparison;
    std::string out;
    const std::string file = printable(r.file, kLongestFrame);
    if (!c.aligned) {
        out = wrapped(fmt::format("differs: nothing in {} is in the order of the prediction of {}; {} of its {} "
                                  "allocations have a size that the prediction has too",
                                  file, r.model, grouped(static_cast<std::int64_t>(c.known_sizes)),
                                  grouped(static_cast<std::int64_t>(c.allocations))),
                      layout.width);
    } else if (c.equal()) {
        out = wrapped(fmt::format("equal: {} has the allocations and frees of the prediction of {}", file, r.model),
                      layout.width);
    } else {
        const SnapshotDifference& first = c.differences.front();
        out = wrapped(fmt::format("differs in {}: {}", first.window, head_of(first)), layout.width);
        out += difference_text(first, layout);
        if (first.kind == DifferenceKind::held_before) out += held_text(c, layout);
    }
    if (c.aligned) out += wrapped(coverage(r), layout.width);
    out += wrapped(fmt::format("highest requested: {} recorded{}, {} predicted{}", size_text(c.peak_seen),
                               c.peak_window_seen.empty() ? "" : fmt::format(" in {}", c.peak_window_seen),
                               size_text(c.peak_predicted),
                               c.peak_window_predicted.empty() ? "" : fmt::format(" in {}", c.peak_window_predicted)),
                   layout.width);
    if (c.out_of_memory)
        out +=
            wrapped(fmt::format("the run went out of memory{}: the allocator asked for {} where the GPU had {} left; "
                                "tensors held {}",
                                c.out_of_memory->window.empty() ? "" : fmt::format(" in {}", c.out_of_memory->window),
                                size_text(c.out_of_memory->tried), size_text(c.out_of_memory->free),
                                size_text(c.out_of_memory->requested)),
                    layout.width);
    for (const std::string& reason : reasons_of(r)) out += wrapped(reason, layout.width, "hint: ", "      ");
    if (c.difference_count > 1) {
        out += fmt::format("\n{} more difference{}{}:\n", c.difference_count - 1, c.difference_count == 2 ? "" : "s",
                           c.difference_count - 1 > kListedDifferences ? ", the first of them" : "");
        for (std::size_t i = 1; i < c.differences.size() && i <= kListedDifferences; ++i)
            out += wrapped(fmt::format("{}: {}", c.differences[i].window, head_of(c.differences[i])), layout.width,
                           "  ", "    ") +
                   (i == 1 ? difference_text(c.differences[i], layout) : "");
    }
    if (!r.notes.empty()) out += "\n" + describe(r.notes, layout.width);
    return out;
}

}  // namespace vramfit::report
