// CUDA streams: which work the host knows to be done on a device that is infinitely slow.
#pragma once

#include <array>
#include <cstdint>

#include "engine/recorder.hpp"
#include "engine/tensor.hpp"

namespace vramfit::engine {

/// By stream: how many pieces of its work come before a moment.
using StreamClock = std::array<std::uint32_t, kStreams>;

/// Vector clocks over the streams. Work is done when the host has waited for it, directly or through what it waited
/// for: the latest moment at which any device can be done, so that memory is given back as late as it can be.
class Streams {
  public:
    explicit Streams(Recorder& recorder) : recorder_(recorder) {}

    /// Tensor.record_stream.
    void record(const Tensor& t, std::uint8_t stream);
    /// A stream works on what the current one has made, and is recorded with it: a collective, a message.
    void work_on(const Tensor& t, std::uint8_t stream);
    /// Something without a result of its own is launched: work in place, a collective.
    void launch(std::uint8_t stream) { recorder_.launch(stream); }
    /// Event.query.
    bool is_done(const StreamClock& event) const;
    /// Event.record on a stream.
    StreamClock now(std::uint8_t stream);
    /// Stream.wait_event.
    void wait(std::uint8_t stream, const StreamClock& event);
    /// Stream.wait_stream.
    void wait(std::uint8_t stream, std::uint8_t other) { wait(stream, now(other)); }
    /// Event.synchronize.
    void host_waits(const StreamClock& event);
    /// Stream.synchronize, a copy to the host, Tensor.item.
    void host_waits(std::uint8_t stream) { host_waits(now(stream)); }
    /// torch.cuda.synchronize.
    void host_waits_for_all();

  private:
    Recorder& recorder_;
    std::array<StreamClock, kStreams> clocks_ = {};
    StreamClock host_ = {};
};

/// Makes a stream the current one for a scope: torch.cuda.stream.
class OnStream {
  public:
    OnStream(Recorder& recorder, std::uint8_t stream) : recorder_(recorder), old_(recorder.stream) {
        recorder.stream = stream;
    }
    ~OnStream() { recorder_.stream = old_; }
    OnStream(const OnStream&) = delete;
    OnStream& operator=(const OnStream&) = delete;

  private:
    Recorder& recorder_;
    std::uint8_t old_;
};

}  // namespace vramfit::engine
