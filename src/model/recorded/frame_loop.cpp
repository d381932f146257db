// Loops of recorded programs, whose rounds follow from batch and length.
#include <algorithm>

#include <fmt/format.h>

#include "model/recorded/frame.hpp"
#include "vramfit/base/error.hpp"

namespace vramfit::model {

void RecordedFrame::run_round(const std::vector<network::Step>& steps, const recorded::Operator* operators) {
    for (const network::Step& step : steps) {
        const recorded::Operator own = *operators++;
        if (const auto* call = std::get_if<network::Call>(&step))
            execute(*call, own);
        else
            std::visit([this](const auto& other) { execute(other); }, step);
    }
}

/// The number of rounds is a decision of the path. Behind each round its values have the numbers of the first one's.
void RecordedFrame::execute(const network::Repeat& loop, const recorded::Operator* operators) {
    const Size wanted = loop.count.is(network::Argument::Kind::integer)
                            ? Size(loop.count.integer)
                            : recorded::value_of(loop.count.formula, pass_->symbols);
    const std::int64_t rounds = session().decide("rounds of a loop", wanted);
    const auto steps = static_cast<std::int64_t>(std::max(loop.begin.size(), loop.next.size()));
    const bool allowed = rounds >= 1 && rounds <= network::kMostRounds;
    if (allowed) pass_->steps_of_rounds += rounds * steps;
    if (!allowed || pass_->steps_of_rounds > network::kMostStepsOfRounds)
        throw Error(ErrorKind::unsupported, place(),
                    fmt::format("a loop of {} rounds, or too many of them, cannot be run", rounds),
                    "ask for another length");
    run_round(loop.begin, operators);
    operators += loop.begin.size();
    for (const network::Number n : loop.kept) rounds_[n] = {slots_[n]};
    for (std::int64_t i = 1; i < rounds; ++i) {
        run_round(loop.next, operators);
        for (const network::Number n : loop.kept) rounds_[n].push_back(slots_[n + loop.made]);
        for (network::Number n = loop.first; n < loop.first + loop.made; ++n) {
            const network::Number now = n + loop.made;
            slots_[n] = std::move(slots_[now]);
            slots_[now].reset();
            dtypes_[n] = dtypes_[now];
            on_host_[n] = on_host_[now];
            const network::Number base = bases_[now];  // of the round before: it has gone
            bases_[n] = base < loop.first ? base : base < loop.first + loop.made ? n : base - loop.made;
            bases_[now] = now;
        }
    }
}

}  // namespace vramfit::model
