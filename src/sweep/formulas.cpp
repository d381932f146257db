// Which formula holds for a row.
#include "sweep/formulas.hpp"

#include <algorithm>
#include <stdexcept>

namespace vramfit {

TargetFormulas::TargetFormulas(const SweepQuestion& question) : question_(question), axes_(question) {}

std::size_t TargetFormulas::path_of(std::size_t row) {
    const AxisValues values = axes_.values(row);
    const auto holds = [&](std::size_t formula) {
        formulas_[formula].begin(row_, values.all());
        return formulas_[formula].covers(row_);
    };
    const auto at = std::find_if(known_.begin(), known_.end(), holds);
    if (at != known_.end()) {
        std::rotate(known_.begin(), at, at + 1);
        return current_ = known_.front();
    }
    const TrainPlan plan = plan_of(question_.space, question_.base, row);
    formulas_.push_back(model::formulate(question_.model, plan, question_.stack, question_.device, axes_.ranges()));
    current_ = formulas_.size() - 1;
    known_.insert(known_.begin(), current_);
    if (!holds(current_)) throw std::logic_error("a formula does not hold where it was recorded");
    return current_;
}

}  // namespace vramfit
