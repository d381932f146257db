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

    const std::optional<Job>& job(const Turns& turns) {
        const auto [known, is_new] = jobs_.try_emplace(turns);
        if (is_new) known->second = job_(turns);
        return known->second;
    }

    const std::optional<Fit>& fit(const Turns& turns) {
        const auto [known, is_new] = fits_.try_emplace(turns);
        if (!is_new) return known->second;
        if (const auto& turned = job(turns)) known->second = judge_(*turned);
        return known->second;
    }

    /// What the search asks; not to be used longer than this.
    TurnedRun run() {
        return {[this](const Turns& turns) { return fit(turns).has_value(); },
                [this](const Turns& turns) {
                    const auto& turned = job(turns);
                    return turned ? judge_.requested(*turned) : std::nullopt;
                },
                [this](const Turns& turns) -> std::optional<std::int64_t> {
                    const auto& turned = job(turns);
                    return turned ? std::optional(need_of(*turned).reserved) : std::nullopt;
                },
                [this] { return judge_.events(); }};
    }

  private:
    JobOf job_;
    Fits judge_;
    std::map<Turns, std::optional<Job>> jobs_;
    std::map<Turns, std::optional<Fit>> fits_;
};

}  // namespace vramfit
