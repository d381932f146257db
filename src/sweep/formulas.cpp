// Which formula holds for a row.
#include "sweep/formulas.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace vramfit {

TargetFormulas::TargetFormulas(const SweepQuestion& question, std::function<TakeProgram()> take)
    : question_(question), take_(std::move(take)), axes_(question) {}

void TargetFormulas::record(std::size_t row) {
    const SweepQuestion& q = question_;
    const TrainPlan plan = plan_of(q.space, q.base, row);
    if (const TakeProgram take = take_ ? take_() : nullptr) {
        auto both = model::formulate_with_program(q.model, plan, q.stack, q.device, axes_.ranges());
        formulas_.push_back(std::move(both.formula));
        take(formulas_.size() - 1, std::move(both.program));
    } else {
        formulas_.push_back(model::formulate(q.model, plan, q.stack, q.device, axes_.ranges()));
    }
}

std::size_t TargetFormulas::path_of(std::size_t row) {
    const model::AxisValues values = axes_.values(row);
    const auto holds = [&](std::size_t formula) {
        formulas_[formula].begin(rows_[formula], values.all());
        return formulas_[formula].covers(rows_[formula]);
    };
    const auto at = std::find_if(known_.begin(), known_.end(), holds);
    if (at != known_.end()) {
        std::rotate(known_.begin(), at, at + 1);
        return current_ = known_.front();
    }
    record(row);
    rows_.emplace_back();
    current_ = formulas_.size() - 1;
    known_.insert(known_.begin(), current_);
    if (!holds(current_)) throw std::logic_error("a formula does not hold where it was recorded");
    return current_;
}

}  // namespace vramfit
