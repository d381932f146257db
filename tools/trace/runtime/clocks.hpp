// How far the device is, for a process that has several streams.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <unordered_map>

namespace nodevice {

/// Vector clocks over streams and events. The device is infinitely slow: work is complete only once the host has waited
/// for it, directly or through what it waited for. Without a clock (one process) everything is complete at once.
class Clocks {
  public:
    Clocks();

    /// Whether VRAMFIT_TRACE_DEVICE says "slow".
    bool running() const { return running_; }

    /// A stream is given a piece of work.
    void work(const void* stream);
    void record(const void* event, const void* stream);
    void forget(const void* event);
    /// A stream waits for an event.
    void wait(const void* stream, const void* event);

    /// Whether the host knows all work before it to be done.
    bool is_done(const void* event);
    bool is_idle(const void* stream);

    /// The host waits.
    void synchronize_event(const void* event);
    void synchronize_stream(const void* stream);
    void synchronize();

  private:
    using Time = std::map<const void*, std::uint64_t>;  ///< of each stream, how much of its work
    bool is_known(const Time& time) const;

    bool running_;
    std::mutex lock_;
    std::unordered_map<const void*, Time> streams_, events_;
    Time host_;
};

Clocks& clocks();

}  // namespace nodevice
