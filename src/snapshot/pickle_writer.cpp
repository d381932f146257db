// Python's pickle format, protocol 4, as text is appended.
#include "snapshot/pickle_writer.hpp"

#include <limits>
#include <utility>

namespace vramfit::snapshot {

PickleWriter::PickleWriter() : text_("\x80\x04", 2) {}

void PickleWriter::little_endian(std::uint64_t value, int bytes) {
    for (int i = 0; i < bytes; ++i) text_ += static_cast<char>(value >> (8 * i) & 0xff);
}

void PickleWriter::integer(std::int64_t value) {
    if (value >= 0 && value <= 0xff) {
        text_ += 'K';  // BININT1
        little_endian(static_cast<std::uint64_t>(value), 1);
    } else if (value >= 0 && value <= 0xffff) {
        text_ += 'M';  // BININT2
        little_endian(static_cast<std::uint64_t>(value), 2);
    } else if (value >= std::numeric_limits<std::int32_t>::min() && value <= std::numeric_limits<std::int32_t>::max()) {
        text_ += 'J';  // BININT
        little_endian(static_cast<std::uint64_t>(value), 4);
    } else {
        text_ += "\x8a\x08";  // LONG1 of eight bytes
        little_endian(static_cast<std::uint64_t>(value), 8);
    }
}

void PickleWriter::string(std::string_view text) {
    if (const auto known = strings_.find(text); known != strings_.end()) return repeat(known->second);
    if (text.size() <= 0xff) {
        text_ += '\x8c';  // SHORT_BINUNICODE
        little_endian(text.size(), 1);
    } else {
        text_ += 'X';  // BINUNICODE
        little_endian(text.size(), 4);
    }
    text_ += text;
    strings_.emplace(text, keep());
}

void PickleWriter::pair(std::int64_t first, std::int64_t second) {
    integer(first);
    integer(second);
    text_ += '\x86';  // TUPLE2
}

std::uint32_t PickleWriter::keep() {
    text_ += '\x94';  // MEMOIZE
    return kept_++;
}

void PickleWriter::repeat(std::uint32_t kept) {
    if (kept <= 0xff) {
        text_ += 'h';  // BINGET
        little_endian(kept, 1);
    } else {
        text_ += 'j';  // LONG_BINGET
        little_endian(kept, 4);
    }
}

std::string PickleWriter::finish() && {
    text_ += '.';  // STOP
    return std::move(text_);
}

}  // namespace vramfit::snapshot
