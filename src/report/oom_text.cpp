// An out of memory error beside the prediction, for people.
#include <fmt/format.h>

#include "base/printable.hpp"
#include "base/text_table.hpp"
#include "report/comparison_reasons.hpp"
#include "report/documents.hpp"
#include "report/plan_text.hpp"

namespace vramfit::report {

namespace {

std::string request_text(const OomRequest& request) {
    std::string out =
        fmt::format("{}: {} for {} bytes", request.window, size_text(request.segment), grouped(request.what.bytes));
    if (!request.what.op.empty()) out += fmt::format(" by {}", request.what.op);
    if (!request.what.module.empty()) out += fmt::format(" in {}", request.what.module);
    return fmt::format("{}, {}", out, vramfit::name_of(request.what.category));
}

std::string answer_text(const OomReport& r) {
    const OomExplanation& e = r.explanation;
    const std::string tried = size_text(e.message.tried.bytes);
    if (!e.nearest)
        return fmt::format("not predicted: no allocation of {} makes torch ask for {}", r.prediction.model.name, tried);
    if (e.same_state)
        return fmt::format("predicted: {}; before it {} are allocated, as the error says", request_text(*e.nearest),
                           size_text(e.nearest->allocated));
    return fmt::format(
        "not predicted in this state: {} predicted allocation{} may ask for {}, most nearly {}; before it "
        "{} are predicted to be allocated",
        grouped(static_cast<std::int64_t>(e.same_size)), e.same_size == 1 ? "" : "s", tried, request_text(*e.nearest),
        size_text(e.nearest->allocated));
}

std::string verdict_line(const Prediction& p) {
    if (!p.device.capacity_known) return "no GPU was given: --gpu says whether the prediction fits";
    const std::string on = fmt::format("{} of {} usable on {}", size_text(p.peak.reserved),
                                       size_text(p.device.usable.count), p.device.name);
    if (p.out_of_memory)
        return fmt::format("the prediction needs {}; it goes out of memory in {}", on, p.out_of_memory_window);
    return fmt::format("the prediction needs {}: {}", on, vramfit::name_of(p.verdict));
}

}  // namespace

std::string oom_text(const OomReport& r, const Layout& layout) {
    const OomMessage& m = r.explanation.message;
    std::string out = wrapped(answer_text(r), layout.width);
    TextTable table;
    table.columns = {{"", Align::left}, {"the error", Align::right}, {"predicted highest", Align::right}};
    const auto row = [&](const char* name, const std::optional<PrintedSize>& size, std::string predicted) {
        if (size) table.rows.push_back({name, size_text(size->bytes), std::move(predicted)});
    };
    row("tried to allocate", m.tried, "");
    row("allocated by PyTorch", m.allocated, size_text(r.explanation.allocated_peak));
    row("reserved, not allocated", m.unallocated, "");
    if (m.unallocated)
        row("reserved", PrintedSize{m.allocated.bytes + m.unallocated->bytes, 0},
            size_text(r.explanation.reserved_peak));
    row("this process", m.process, size_text(r.explanation.reserved_peak + r.prediction.device.context.count));
    row("free on the GPU", m.free, "");
    row("the GPU", m.total, "");
    out += "\n" + text_of(table, layout.table_width) + "\n";
    out += wrapped(verdict_line(r.prediction), layout.width);
    for (const std::string& reason : reasons_of(r)) out += wrapped(reason, layout.width, "hint: ", "      ");
    if (!r.prediction.notes.empty()) out += "\n" + describe(r.prediction.notes, layout.width);
    return out;
}

}  // namespace vramfit::report
