// The jobs that turned knobs stand for, each predicted once.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <utility>

#include "check/fit.hpp"
#include "check/search.hpp"

namespace vramfit {

class TurnedJobs {
  public:
    /// Nothing for what cannot be.
    using JobOf = std::function<std::optional<Job>(const Turns&)>;

    explicit TurnedJobs(JobOf job) : job_(std::move(job)) {}

    std::optional<Job> job(const Turns& turns) const { return job_(turns); }

    const std::optional<Fit>& fit(const Turns& turns) {
        const auto [known, is_new] = fits_.try_emplace(turns);
        if (!is_new) return known->second;
        if (const auto job = job_(turns)) known->second = judge_(*job);
        return known->second;
    }

    /// What the search asks; not to be used longer than this.
    TurnedRun run() {
        return {[this](const Turns& turns) { return fit(turns).has_value(); },
                [this](const Turns& turns) {
                    const auto job = job_(turns);
                    return job ? requested_of(*job) : std::nullopt;
                },
                [this](const Turns& turns) -> std::optional<std::int64_t> {
                    const auto job = job_(turns);
                    return job ? std::optional(need_of(*job).reserved) : std::nullopt;
                }};
    }

  private:
    JobOf job_;
    Fits judge_;
    std::map<Turns, std::optional<Fit>> fits_;
};

}  // namespace vramfit
