// A few pieces of work that the device may have before it: DeepSpeed's limits of fetches and reductions.
#pragma once

#include <deque>

#include "engine/streams.hpp"

namespace vramfit::model {

/// max_ongoing_fetch_events and max_param_reduce_events: at most three are under way, the host waits for the oldest.
class UnderWay {
  public:
    /// Before the next one begins.
    void make_room(engine::Streams& streams) {
        while (!events_.empty() && streams.is_done(events_.front())) events_.pop_front();
        if (events_.size() <= kMost) return;
        streams.host_waits(events_.front());
        events_.pop_front();
    }
    void add(engine::StreamClock event) { events_.push_back(event); }

  private:
    static constexpr std::size_t kMost = 2;
    std::deque<engine::StreamClock> events_;
};

}  // namespace vramfit::model
