// A reader of deflate streams; the numbers are RFC 1951's.
#include "base/inflate.hpp"

#include <array>
#include <cstdint>
#include <span>
#include <stdexcept>

namespace vramfit {

namespace {

constexpr int kLongestCode = 15;

[[noreturn]] void refuse_stream(const char* what) { throw std::runtime_error(what); }

/// Bits from the lowest of each byte on.
class Bits {
  public:
    explicit Bits(std::string_view bytes) : bytes_(bytes) {}

    unsigned take(unsigned count) {
        while (held_ < count) {
            if (at_ == bytes_.size()) refuse_stream("a deflate stream ends early");
            bits_ |= std::uint32_t{static_cast<unsigned char>(bytes_[at_++])} << held_;
            held_ += 8;
        }
        const unsigned found = bits_ & ((1U << count) - 1U);
        bits_ >>= count;
        held_ -= count;
        return found;
    }

    /// What is left of a byte is of no meaning.
    void to_whole_byte() {
        bits_ = 0;
        held_ = 0;
    }

  private:
    std::string_view bytes_;
    std::size_t at_ = 0;
    std::uint32_t bits_ = 0;
    unsigned held_ = 0;
};

/// A prefix code: shorter codes come first, and those of one length in the order of their symbols (3.2.2).
class Code {
  public:
    explicit Code(std::span<const std::uint8_t> lengths) {
        for (const std::uint8_t length : lengths) ++counts_[length];
        counts_[0] = 0;
        std::array<std::uint16_t, kLongestCode + 2> starts{};
        for (std::size_t i = 1; i <= kLongestCode; ++i)
            starts[i + 1] = static_cast<std::uint16_t>(starts[i] + counts_[i]);
        for (std::size_t symbol = 0; symbol < lengths.size(); ++symbol)
            if (lengths[symbol] != 0) symbols_[starts[lengths[symbol]]++] = static_cast<std::uint16_t>(symbol);
    }

    unsigned next(Bits& bits) const {
        unsigned code = 0, first = 0, index = 0;
        for (std::size_t length = 1; length <= kLongestCode; ++length) {
            code |= bits.take(1);
            const unsigned count = counts_[length];
            if (code < first + count) return symbols_[index + (code - first)];
            index += count;
            first = (first + count) << 1U;
            code <<= 1U;
        }
        refuse_stream("a deflate stream has a code of no symbol");
    }

  private:
    std::array<std::uint16_t, kLongestCode + 1> counts_{};
    std::array<std::uint16_t, 288> symbols_{};
};

/// A length or distance: the least one of its code, and how many further bits it has (3.2.5).
struct Range {
    std::uint16_t least;
    std::uint8_t bits;
};
constexpr Range kLengths[] = {{3, 0},   {4, 0},   {5, 0},   {6, 0},   {7, 0},  {8, 0},  {9, 0},  {10, 0},
                              {11, 1},  {13, 1},  {15, 1},  {17, 1},  {19, 2}, {23, 2}, {27, 2}, {31, 2},
                              {35, 3},  {43, 3},  {51, 3},  {59, 3},  {67, 4}, {83, 4}, {99, 4}, {115, 4},
                              {131, 5}, {163, 5}, {195, 5}, {227, 5}, {258, 0}};
constexpr Range kDistances[] = {{1, 0},     {2, 0},     {3, 0},     {4, 0},      {5, 1},      {7, 1},
                                {9, 2},     {13, 2},    {17, 3},    {25, 3},     {33, 4},     {49, 4},
                                {65, 5},    {97, 5},    {129, 6},   {193, 6},    {257, 7},    {385, 7},
                                {513, 8},   {769, 8},   {1025, 9},  {1537, 9},   {2049, 10},  {3073, 10},
                                {4097, 11}, {6145, 11}, {8193, 12}, {12289, 12}, {16385, 13}, {24577, 13}};

std::size_t in_range(std::span<const Range> ranges, unsigned code, Bits& bits) {
    if (code >= ranges.size()) refuse_stream("a deflate stream has an unknown length or distance");
    return std::size_t{ranges[code].least} + bits.take(ranges[code].bits);
}

void read_stored(Bits& bits, std::string& out) {
    bits.to_whole_byte();
    const unsigned count = bits.take(16);
    if ((count ^ bits.take(16)) != 0xffffU) refuse_stream("a deflate stream has a block of no length");
    for (unsigned i = 0; i < count; ++i) out += static_cast<char>(bits.take(8));
}

void read_coded(Bits& bits, const Code& literals, const Code& distances, std::size_t most, std::string& out) {
    while (true) {
        const unsigned symbol = literals.next(bits);
        if (symbol == 256) return;
        if (symbol < 256) {
            out += static_cast<char>(symbol);
        } else {
            const std::size_t count = in_range(kLengths, symbol - 257, bits);
            const std::size_t back = in_range(kDistances, distances.next(bits), bits);
            if (back > out.size()) refuse_stream("a deflate stream repeats what is before it");
            for (std::size_t i = 0; i < count; ++i) out += out[out.size() - back];
        }
        if (out.size() > most) refuse_stream("a deflate stream is longer than it says");
    }
}

/// Codes that the standard sets (3.2.6).
void read_fixed(Bits& bits, std::size_t most, std::string& out) {
    std::array<std::uint8_t, 288> lengths{};
    for (std::size_t i = 0; i < lengths.size(); ++i)
        lengths[i] = static_cast<std::uint8_t>(i < 144 ? 8 : i < 256 ? 9 : i < 280 ? 7 : 8);
    std::array<std::uint8_t, 30> distances{};
    distances.fill(5);
    read_coded(bits, Code(lengths), Code(distances), most, out);
}

/// Codes that the block begins with (3.2.7).
void read_dynamic(Bits& bits, std::size_t most, std::string& out) {
    const std::size_t literals = bits.take(5) + 257, distances = bits.take(5) + 1, given = bits.take(4) + 4;
    if (literals > 286 || distances > 30) refuse_stream("a deflate stream has too many codes");
    constexpr std::array<std::uint8_t, 19> kOrder = {16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15};
    std::array<std::uint8_t, 19> of_lengths{};
    for (std::size_t i = 0; i < given; ++i) of_lengths[kOrder[i]] = static_cast<std::uint8_t>(bits.take(3));
    const Code code(of_lengths);
    std::array<std::uint8_t, 286 + 30> lengths{};
    for (std::size_t i = 0; i < literals + distances;) {
        const unsigned symbol = code.next(bits);
        if (symbol < 16) {
            lengths[i++] = static_cast<std::uint8_t>(symbol);
            continue;
        }
        if (symbol == 16 && i == 0) refuse_stream("a deflate stream repeats what is before it");
        const std::uint8_t length = symbol == 16 ? lengths[i - 1] : std::uint8_t{0};
        const std::size_t count = symbol == 16 ? 3 + bits.take(2) : symbol == 17 ? 3 + bits.take(3) : 11 + bits.take(7);
        if (i + count > literals + distances) refuse_stream("a deflate stream has too many codes");
        for (std::size_t k = 0; k < count; ++k) lengths[i++] = length;
    }
    const std::span<const std::uint8_t> all(lengths);
    read_coded(bits, Code(all.first(literals)), Code(all.subspan(literals, distances)), most, out);
}

}  // namespace

std::string inflated(std::string_view packed, std::size_t size) {
    Bits bits(packed);
    std::string out;
    out.reserve(size + 300);  // a repeat may go beyond the end before it is seen
    bool last = false;
    while (!last) {
        last = bits.take(1) == 1;
        switch (bits.take(2)) {
            case 0: read_stored(bits, out); break;
            case 1: read_fixed(bits, size, out); break;
            case 2: read_dynamic(bits, size, out); break;
            default: refuse_stream("a deflate stream has a block of no kind");
        }
        if (out.size() > size) refuse_stream("a deflate stream is longer than it says");
    }
    if (out.size() != size) refuse_stream("a deflate stream is shorter than it says");
    return out;
}

}  // namespace vramfit
