// The clocks.
#include "clocks.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace nodevice {

namespace {

template <class Time>
void join(Time& into, const Time& from) {
    for (const auto& [stream, amount] : from) into[stream] = std::max(into[stream], amount);
}

}  // namespace

Clocks::Clocks() {
    const char* told = std::getenv("VRAMFIT_TRACE_DEVICE");
    running_ = told && std::strcmp(told, "slow") == 0;
}

bool Clocks::is_known(const Time& time) const {
    return std::all_of(time.begin(), time.end(), [this](const auto& entry) {
        const auto known = host_.find(entry.first);
        return known != host_.end() && known->second >= entry.second;
    });
}

void Clocks::work(const void* stream) {
    if (!running_) return;
    const std::lock_guard guard(lock_);
    ++streams_[stream][stream];
}

void Clocks::record(const void* event, const void* stream) {
    if (!running_) return;
    const std::lock_guard guard(lock_);
    events_[event] = streams_[stream];
}

void Clocks::forget(const void* event) {
    const std::lock_guard guard(lock_);
    events_.erase(event);
}

void Clocks::wait(const void* stream, const void* event) {
    const std::lock_guard guard(lock_);
    const auto at = events_.find(event);
    if (at != events_.end()) join(streams_[stream], at->second);
}

bool Clocks::is_done(const void* event) {
    const std::lock_guard guard(lock_);
    const auto at = events_.find(event);
    return at == events_.end() || is_known(at->second);
}

bool Clocks::is_idle(const void* stream) {
    const std::lock_guard guard(lock_);
    return is_known(streams_[stream]);
}

void Clocks::synchronize_event(const void* event) {
    const std::lock_guard guard(lock_);
    const auto at = events_.find(event);
    if (at != events_.end()) join(host_, at->second);
}

void Clocks::synchronize_stream(const void* stream) {
    const std::lock_guard guard(lock_);
    join(host_, streams_[stream]);
}

void Clocks::synchronize() {
    const std::lock_guard guard(lock_);
    for (const auto& [stream, time] : streams_) join(host_, time);
}

// Never destroyed: threads of the process group outlive main().
Clocks& clocks() {
    static auto* const clocks = new Clocks;
    return *clocks;
}

}  // namespace nodevice
