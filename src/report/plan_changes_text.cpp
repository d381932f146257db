// Up to three changes with what they cost, or what is missing.
#include "report/plan_changes_text.hpp"

#include <fmt/format.h>

#include "base/text_table.hpp"
#include "report/documents.hpp"

namespace vramfit::report {

namespace {

std::string one_change(const PlanChange& change, int number, const Layout& layout) {
    return wrapped(fmt::format("{}. {} ({} reserved, {} left): {}", number, text_of(change.flags),
                               size_text(change.reserved), size_text(change.spare), fmt::join(change.titles, "; ")),
                   layout.width);
}

std::string missing(const PlanChanges& changes, const Layout& layout) {
    if (changes.tried.empty())
        return wrapped("There is nothing left to change that would make it smaller.", layout.width);
    std::string text =
        fmt::format("No change makes it fit. Tried, alone and together: {}.", fmt::join(changes.tried, ", "));
    if (!changes.smallest) return wrapped(text, layout.width);
    const PlanChange& run = *changes.smallest;
    text += fmt::format(" The smallest run{} reserves {}, {} too much; ",
                        run.flags.empty() ? std::string(", this one,") : fmt::format(" ({})", text_of(run.flags)),
                        size_text(run.reserved), size_text(-run.spare));
    text += changes.holds_smallest.empty()
                ? std::string("no known GPU holds it.")
                : fmt::format("the smallest known GPU that holds it: {}.", changes.holds_smallest);
    return wrapped(text, layout.width);
}

std::string largest(const Prediction& p, const Layout& layout) {
    const LargestFit& fit = *p.largest;
    const std::int64_t tokens = p.plan.batch.sequence_length;
    const std::int64_t rows = p.plan.training.per_device_train_batch_size;
    return wrapped(fmt::format("At most: --batch {} with {} tokens each, or --seq {}{} with a batch of {}.", fit.batch,
                               tokens, fit.seq, fit.seq_is_all ? " (all positions that the model has)" : "", rows),
                   layout.width);
}

}  // namespace

std::string plan_changes_text(const Prediction& p, const Layout& layout) {
    if (p.largest) return p.largest->batch > 0 && p.largest->seq > 0 ? largest(p, layout) : std::string();
    if (!p.changes) return {};
    if (p.changes->changes.empty()) return missing(*p.changes, layout);
    std::string out =
        fmt::format("It fits{} with one of these changes:\n", p.verdict == Verdict::tight ? " for certain" : "");
    int number = 0;
    for (const PlanChange& change : p.changes->changes) out += one_change(change, ++number, layout);
    return out;
}

}  // namespace vramfit::report
