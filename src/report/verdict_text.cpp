// Sentences about verdicts that several documents share.
#include "report/verdict_text.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "report/documents.hpp"
#include "vramfit/spec/sizes.hpp"

namespace vramfit::report {

std::string usable_text(const Prediction& p) {
    const Bytes low = p.usable_low(), high = p.usable_high();
    if (low == high) return fmt::format("{} usable", size_text(low.count));
    return fmt::format("between {} and {} usable", size_text(std::max<std::int64_t>(low.count, 0)),
                       size_text(high.count));
}

std::string what_decides(const Prediction& p) {
    Assumptions others = p.assumptions;
    const Assumption* first = widest(p.assumptions);
    if (!first) return {};
    std::string out = fmt::format("That depends most on {}, {} to {} of the GPU", first->what,
                                  size_text(first->least.count), size_text(first->most.count));
    if (first->kind == AssumptionKind::total)
        out = fmt::format("That depends most on {}, {} to {}", first->what,
                          size_text((p.device.total - first->most).count),
                          size_text((p.device.total - first->least).count));
    std::erase_if(others, [first](const Assumption& one) { return one.kind == first->kind; });
    for (const Assumption& one : others)
        out += fmt::format("{} {}", &one == &others.front() ? "; also on" : ",", one.what);
    return fmt::format("{}. To know, measure {}.", out, first->measure);
}

bool is_usual(const Note& note) {
    return note.kind == NoteKind::assumed_context || note.kind == NoteKind::assumed_card ||
           note.kind == NoteKind::marketed_size || note.kind == NoteKind::assumed_communicator;
}

std::string assumed_text(const Device& device, const Assumptions& assumptions) {
    std::string out;
    for (const Assumption& one : assumptions) {
        const bool total = one.kind == AssumptionKind::total;
        const std::string_view what = total                                 ? "the memory that CUDA reports"
                                      : one.kind == AssumptionKind::context ? "the CUDA context"
                                                                            : std::string_view(one.what);
        const Bytes low = total ? device.total - one.most : one.least;
        const Bytes high = total ? device.total - one.least : one.most;
        out += fmt::format("{}{} ({} to {})", out.empty() ? "Assumed, not measured: " : ", ", what,
                           size_text(low.count), size_text(high.count));
    }
    return out.empty() ? out : out + ".";
}

}  // namespace vramfit::report
