// What the threads of a sweep share: how far it is, and whether it is to end.
#pragma once

#include <atomic>
#include <mutex>

#include "vramfit/sweep/sweep.hpp"

namespace vramfit {

/// Shows progress and asks whether to stop, for one thread at a time. Once stopped, it stays so.
class SweepWatch {
  public:
    SweepWatch(const SweepOptions& options, std::size_t total) : options_(options) { progress_.total = total; }

    std::size_t total() const { return progress_.total; }
    bool stopped() const { return stopped_; }
    /// One more of the total has its answer; false: the rest is left open.
    bool settled() {
        const std::scoped_lock lock(mutex_);
        ++progress_.settled;
        if (options_.progress) options_.progress(progress_);
        return go_on();
    }
    /// Asked between two answers; false as in settled().
    bool goes_on() {
        const std::scoped_lock lock(mutex_);
        return go_on();
    }

  private:
    bool go_on() {
        if (options_.stop && options_.stop()) stopped_ = true;
        return !stopped_;
    }

    const SweepOptions& options_;
    std::mutex mutex_;  ///< of progress_, and around what is called
    SweepProgress progress_;
    std::atomic<bool> stopped_ = false;
};

}  // namespace vramfit
