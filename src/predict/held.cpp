// The caching allocator's frees, without its blocks.
#include "predict/held.hpp"

#include <algorithm>

namespace vramfit {

void Held::change(std::uint32_t id, bool begins) {
    is_held_[id] = begins;
    changes_.emplace_back(id, begins);
}

void Held::apply(const Event& event) {
    switch (event.kind) {
        case EventKind::alloc:
            free_what_is_done();
            change(event.id, true);
            return;
        case EventKind::free: free(event.id); return;
        case EventKind::record_stream:
            if (event.stream != program_->allocations[event.id].stream) uses_[event.id] |= 1u << event.stream;
            return;
        case EventKind::stream_done: {
            Stream& stream = streams_[event.stream];
            const auto asked = static_cast<std::uint32_t>(stream.freed + stream.waiting.size());
            stream.done = std::max(stream.done, std::min(event.id, asked));
            return;
        }
        case EventKind::empty_cache:  // waits for all streams
            for (auto& [number, stream] : streams_)
                stream.done = static_cast<std::uint32_t>(stream.freed + stream.waiting.size());
            return free_what_is_done();
        case EventKind::managed_alloc:
        case EventKind::managed_free:
        case EventKind::warm_up: return;
    }
}

void Held::free(std::uint32_t id) {
    const auto used = uses_.find(id);
    if (used == uses_.end()) return change(id, false);
    for (std::uint8_t stream = 0; stream < 32; ++stream) {
        if (!(used->second >> stream & 1u)) continue;
        streams_[stream].waiting.push_back(id);
        ++waits_[id];
    }
    uses_.erase(used);
}

void Held::free_what_is_done() {
    for (auto& [number, stream] : streams_)
        for (; stream.freed < stream.done && !stream.waiting.empty(); ++stream.freed) {
            const std::uint32_t id = stream.waiting.front();
            stream.waiting.pop_front();
            if (--waits_[id] > 0) continue;
            waits_.erase(id);
            change(id, false);
        }
}

}  // namespace vramfit
