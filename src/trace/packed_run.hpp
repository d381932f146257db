// Events and allocations of a program in few bytes: many programs are kept.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "vramfit/trace/program.hpp"

namespace vramfit {

/// What a program allocates and frees, with a number in place of each allocation's bytes. Micro batches and steps that
/// do what an earlier one did stand once.
class PackedRun {
  public:
    /// `sizes`: the number of each allocation's size. Throws Error (unsupported) for more allocations than fit.
    PackedRun(const Program& program, std::span<const std::uint32_t> sizes);

    /// Writes events and allocations into `out`, which has the program's windows and marks. `bytes` are those of the
    /// sizes: what has none is left out, and windows and marks behind it move.
    void unpack(std::span<const std::int64_t> bytes, Program& out) const;

    /// What it takes in memory.
    std::size_t memory() const;

  private:
    /// What an allocation is but its place in the program: few are different.
    struct Kind {
        std::uint32_t size;
        std::uint16_t op;
        std::int16_t layer;
        Category category;
        std::uint8_t stream;
        std::uint16_t module;
        friend bool operator==(const Kind&, const Kind&) = default;
    };
    /// Of an event that begins an allocation: the number of its kind; of one that names an allocation: how many
    /// allocations ago that began; of stream_done its number.
    struct Word {
        std::uint32_t event : 3, stream : 3, number : 26;
        friend bool operator==(const Word&, const Word&) = default;
    };
    /// A stretch of the program, in its place.
    struct Part {
        std::size_t begin, end;
    };
    class Kinds;

    void share_last();

    std::vector<Part> parts_;
    std::vector<Word> words_;
    std::vector<Kind> kinds_;
    std::size_t allocations_ = 0;  ///< of all parts
};

}  // namespace vramfit
