// Programs of rows from templates of their paths.
#include "sweep/row_replays.hpp"

#include "vramfit/predict/allocator.hpp"

namespace vramfit {

namespace {

constexpr std::size_t kMostTemplates = 32;  // about a megabyte each

}  // namespace

const ProgramTemplate& RowReplays::template_of(const SweepRow& row, std::size_t place) {
    const std::pair key{row.question, row.path};
    const auto known = templates_.find(key);
    if (known != templates_.end()) return known->second;
    if (templates_.size() == kMostTemplates) templates_.clear();
    const SweepQuestion& q = questions_[row.question];
    return templates_
        .emplace(key, model::record_template(q.model, plan_of(q.space, q.base, place), q.stack, q.device,
                                             RowAxes(q).ranges()))
        .first->second;
}

Verdict RowReplays::verdict_of(const SweepRow& row, std::size_t place) {
    const SweepQuestion& q = questions_[row.question];
    const Program program = template_of(row, place).at(RowAxes(q).values(place).all());
    return replay(program, allocator_of(q.stack, q.device)).out_of_memory ? Verdict::too_large : Verdict::fits;
}

}  // namespace vramfit
