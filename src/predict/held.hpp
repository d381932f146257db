// What a run holds at an instant of its program: allocations that are not free yet.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <unordered_map>
#include <vector>

#include "vramfit/trace/program.hpp"

namespace vramfit {

/// Follows a program event by event. Like the allocator it frees what another stream has used once that stream is done,
/// which it looks up with every request.
class Held {
  public:
    explicit Held(const Program& program) : program_(&program), is_held_(program.allocations.size()) {}

    void apply(const Event& event);
    bool holds(std::uint32_t id) const { return is_held_[id]; }
    /// Called with an allocation and its bytes, or less than none, when it begins or ends.
    template <class OnChange>
    void apply(const Event& event, OnChange on_change) {
        changes_.clear();
        apply(event);
        for (const auto& [id, begins] : changes_) {
            const Allocation& allocation = program_->allocations[id];
            on_change(allocation, begins ? allocation.bytes : -allocation.bytes);
        }
    }

  private:
    void change(std::uint32_t id, bool begins);
    void free(std::uint32_t id);
    void free_what_is_done();

    /// Frees that wait for one stream, in order; the first `done` of them need not.
    struct Stream {
        std::deque<std::uint32_t> waiting;
        std::uint32_t freed = 0;
        std::uint32_t done = 0;
    };

    const Program* program_;
    std::vector<bool> is_held_;
    std::unordered_map<std::uint32_t, std::uint32_t> uses_;   ///< other streams of an allocation, a bit each
    std::unordered_map<std::uint32_t, std::uint32_t> waits_;  ///< for how many of them an allocation still waits
    std::map<std::uint8_t, Stream> streams_;
    std::vector<std::pair<std::uint32_t, bool>> changes_;
};

}  // namespace vramfit
