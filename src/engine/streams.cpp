// Joins of clocks.
#include "engine/streams.hpp"

#include <algorithm>

namespace vramfit::engine {

namespace {

void join(StreamClock& clock, const StreamClock& other) {
    for (std::size_t s = 0; s < kStreams; ++s) clock[s] = std::max(clock[s], other[s]);
}

}  // namespace

void Streams::record(const Tensor& t, std::uint8_t stream) {
    const Storage& storage = *t->storage;
    recorder_.record_stream(storage.id, stream);
    if (!same(storage.kept_bytes, 0)) recorder_.record_stream(storage.kept_id, stream);
}

void Streams::work_on(const Tensor& t, std::uint8_t stream) {
    wait(stream, recorder_.stream);
    launch(stream);
    record(t, stream);
}

StreamClock Streams::now(std::uint8_t stream) {
    StreamClock& clock = clocks_[stream];
    clock[stream] = recorder_.launched(stream);
    return clock;
}

void Streams::wait(std::uint8_t stream, const StreamClock& event) { join(clocks_[stream], event); }

void Streams::host_waits(const StreamClock& event) {
    for (std::size_t s = 0; s < kStreams; ++s) {
        if (event[s] <= host_[s]) continue;
        host_[s] = event[s];
        recorder_.stream_done(static_cast<std::uint8_t>(s), event[s]);
    }
}

bool Streams::is_done(const StreamClock& event) const {
    for (std::size_t s = 0; s < kStreams; ++s)
        if (event[s] > host_[s]) return false;
    return true;
}

void Streams::host_waits_for_all() {
    for (std::size_t s = 0; s < kStreams; ++s) host_waits(static_cast<std::uint8_t>(s));
}

}  // namespace vramfit::engine
