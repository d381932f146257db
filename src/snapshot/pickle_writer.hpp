// Writes Python's pickle format, protocol 4: what plain data needs, and texts once each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace vramfit::snapshot {

/// Values are written one after the other; a list or dictionary is what stands between its begin and end. A dictionary
/// alternates texts and values. Opcodes: Lib/pickletools.py of CPython.
class PickleWriter {
  public:
    PickleWriter();

    void none() { text_ += 'N'; }
    void boolean(bool value) { text_ += value ? '\x88' : '\x89'; }
    void integer(std::int64_t value);
    void string(std::string_view text);
    void begin_list() { text_ += "]("; }
    /// Between items of a long list: at most 1,000 are given at once, as CPython does. PyTorch's viewer hands them to a
    /// function as arguments, of which browsers allow some 65,000.
    void next_batch() { text_ += "e("; }
    void end_list() { text_ += 'e'; }
    void begin_dict() { text_ += "}("; }
    void end_dict() { text_ += 'u'; }
    /// A pair of integers as a tuple.
    void pair(std::int64_t first, std::int64_t second);

    /// Keeps the value that was written last, for `repeat`.
    std::uint32_t keep();
    void repeat(std::uint32_t kept);

    /// The whole pickle of the one value that was written.
    std::string finish() &&;

  private:
    void little_endian(std::uint64_t value, int bytes);

    std::string text_;
    std::map<std::string, std::uint32_t, std::less<>> strings_;  ///< by text: where it is kept
    std::uint32_t kept_ = 0;
};

}  // namespace vramfit::snapshot
