// A reader of LZMA2 chunks; the numbers are those of the format's public description (lzma-specification.txt of the
// LZMA SDK).
#include "base/lzma.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <vector>

namespace vramfit {

namespace {

[[noreturn]] void refuse_lzma(const char* what) { throw std::runtime_error(what); }

/// A probability in parts of 2048 that the next bit is 0.
using Chance = std::uint16_t;
constexpr Chance kEven = 1024;

/// Bits by their probabilities, from a chunk's bytes.
class Range {
  public:
    explicit Range(std::string_view bytes) : bytes_(bytes) {
        if (bytes.size() < 5) refuse_lzma("an LZMA chunk ends early");
        for (int i = 0; i < 5; ++i) code_ = code_ << 8U | byte();
    }

    unsigned bit(Chance& chance) {
        const std::uint32_t bound = (range_ >> 11U) * chance;
        unsigned found = 0;
        if (code_ < bound) {
            range_ = bound;
            chance = static_cast<Chance>(chance + ((2048U - chance) >> 5U));
        } else {
            range_ -= bound;
            code_ -= bound;
            chance = static_cast<Chance>(chance - (chance >> 5U));
            found = 1;
        }
        fill();
        return found;
    }

    /// A bit as likely 0 as 1.
    unsigned even() {
        range_ >>= 1U;
        const unsigned found = code_ >= range_ ? 1 : 0;
        if (found != 0) code_ -= range_;
        fill();
        return found;
    }

    /// A number of `bits` bits, the highest first.
    unsigned tree(std::span<Chance> chances, unsigned bits) {
        unsigned at = 1;
        for (unsigned i = 0; i < bits; ++i) at = at << 1U | bit(chances[at]);
        return at - (1U << bits);
    }

    /// The same, the lowest first.
    unsigned reverse(std::span<Chance> chances, unsigned bits) {
        unsigned at = 1, found = 0;
        for (unsigned i = 0; i < bits; ++i) {
            const unsigned next = bit(chances[at]);
            at = at << 1U | next;
            found |= next << i;
        }
        return found;
    }

  private:
    std::uint32_t byte() {
        if (at_ == bytes_.size()) refuse_lzma("an LZMA chunk ends early");
        return static_cast<unsigned char>(bytes_[at_++]);
    }

    void fill() {
        if (range_ >= 1U << 24U) return;
        range_ <<= 8U;
        code_ = code_ << 8U | byte();
    }

    std::string_view bytes_;
    std::size_t at_ = 0;
    std::uint32_t range_ = 0xffffffffU;
    std::uint32_t code_ = 0;
};

/// How long a repeat is, from 2 on.
struct Lengths {
    Chance longer = kEven, longest = kEven;
    std::array<std::array<Chance, 8>, 16> low, middle;
    std::array<Chance, 256> high;

    Lengths() {
        for (auto& chances : low) chances.fill(kEven);
        for (auto& chances : middle) chances.fill(kEven);
        high.fill(kEven);
    }

    unsigned next(Range& range, unsigned place) {
        if (range.bit(longer) == 0) return 2 + range.tree(low[place], 3);
        if (range.bit(longest) == 0) return 10 + range.tree(middle[place], 3);
        return 18 + range.tree(high, 8);
    }
};

/// What is known of the bytes so far: the state that chunks go on with.
struct Model {
    explicit Model(unsigned properties) {
        if (properties >= 9 * 5 * 5) refuse_lzma("an LZMA chunk has unknown properties");
        literal_context = properties % 9;
        literal_places = (1U << properties / 9 % 5) - 1;
        places = (1U << properties / 45) - 1;
        literals.assign(std::size_t{0x300} << (literal_context + properties / 9 % 5), kEven);
        for (auto* chances : {&is_match, &is_long_0}) chances->fill(kEven);
        for (auto* chances : {&is_again, &is_again_0, &is_again_1, &is_again_2}) chances->fill(kEven);
        for (auto& chances : slots) chances.fill(kEven);
        special.fill(kEven);
        align.fill(kEven);
    }

    unsigned literal_context, literal_places, places;
    std::vector<Chance> literals;
    std::array<Chance, std::size_t{12} * 16> is_match, is_long_0;
    std::array<Chance, 12> is_again, is_again_0, is_again_1, is_again_2;
    std::array<std::array<Chance, 64>, 4> slots;
    std::array<Chance, 128> special;  ///< of distances' lower bits
    std::array<Chance, 16> align;
    Lengths matches, agains;
    unsigned state = 0;
    std::array<std::uint32_t, 4> back{};  ///< the last distances, each less one
};

void read_literal(Model& model, Range& range, std::string& out) {
    const unsigned before = out.empty() ? 0 : static_cast<unsigned char>(out.back());
    const std::size_t which =
        (out.size() & model.literal_places) << model.literal_context | before >> (8 - model.literal_context);
    const std::span<Chance> chances = std::span(model.literals).subspan(0x300 * which, 0x300);
    unsigned symbol = 1;
    if (model.state >= 7) {  // behind a repeat: it is not the byte that would have followed
        if (model.back[0] >= out.size()) refuse_lzma("an LZMA chunk repeats what is before it");
        unsigned other = static_cast<unsigned char>(out[out.size() - model.back[0] - 1]);
        while (symbol < 0x100) {
            const unsigned expected = other >> 7U & 1U;
            other <<= 1U;
            const unsigned bit = range.bit(chances[((1 + expected) << 8U) + symbol]);
            symbol = symbol << 1U | bit;
            if (bit != expected) break;
        }
    }
    while (symbol < 0x100) symbol = symbol << 1U | range.bit(chances[symbol]);
    out += static_cast<char>(symbol & 0xffU);
    model.state = model.state < 4 ? 0 : model.state < 10 ? model.state - 3 : model.state - 6;
}

std::uint32_t read_distance(Model& model, Range& range, unsigned length) {
    const unsigned slot = range.tree(model.slots[std::min(length - 2, 3U)], 6);
    if (slot < 4) return slot;
    const unsigned bits = (slot >> 1U) - 1;
    const std::uint32_t distance = (2U | (slot & 1U)) << bits;
    if (slot < 14) return distance + range.reverse(std::span(model.special).subspan(distance - slot), bits);
    std::uint32_t high = 0;
    for (unsigned i = 0; i < bits - 4; ++i) high = high << 1U | range.even();
    return distance + (high << 4U) + range.reverse(model.align, 4);
}

/// How many bytes are repeated; the distance goes first among the last ones.
unsigned read_repeat(Model& model, Range& range, unsigned place) {
    const unsigned before = model.state;
    const auto become = [&](unsigned after_literal, unsigned otherwise) {
        model.state = before < 7 ? after_literal : otherwise;
    };
    if (range.bit(model.is_again[before]) == 0) {
        const unsigned length = model.matches.next(range, place);
        std::ranges::copy_backward(std::array{model.back[0], model.back[1], model.back[2]}, model.back.end());
        model.back[0] = read_distance(model, range, length);
        become(7, 10);
        return length;
    }
    if (range.bit(model.is_again_0[before]) == 0) {
        if (range.bit(model.is_long_0[std::size_t{before} * 16 + place]) == 0) {
            become(9, 11);
            return 1;
        }
    } else {
        const int which = range.bit(model.is_again_1[before]) == 0   ? 1
                          : range.bit(model.is_again_2[before]) == 0 ? 2
                                                                     : 3;
        std::rotate(model.back.begin(), model.back.begin() + which, model.back.begin() + which + 1);
    }
    become(8, 11);
    return model.agains.next(range, place);
}

void read_chunk(Model& model, std::string_view bytes, std::size_t end, std::string& out) {
    Range range(bytes);
    while (out.size() < end) {
        const auto place = static_cast<unsigned>(out.size() & model.places);
        if (range.bit(model.is_match[std::size_t{model.state} * 16 + place]) == 0) {
            read_literal(model, range, out);
            continue;
        }
        const unsigned length = read_repeat(model, range, place);
        const std::size_t distance = std::size_t{model.back[0]} + 1;
        if (distance > out.size()) refuse_lzma("an LZMA chunk repeats what is before it");
        if (length > end - out.size()) refuse_lzma("an LZMA chunk is longer than it says");
        if (distance >= length)
            out.append(out, out.size() - distance, length);
        else
            for (unsigned i = 0; i < length; ++i) out += out[out.size() - distance];
    }
}

}  // namespace

std::string unpacked_lzma(std::string_view packed, std::size_t size) {
    std::size_t at = 0;
    const auto byte = [&] {
        if (at == packed.size()) refuse_lzma("an LZMA2 stream ends early");
        return std::size_t{static_cast<unsigned char>(packed[at++])};
    };
    const auto two = [&] {
        const std::size_t high = byte();
        return (high << 8U | byte()) + 1;
    };
    const auto taken = [&](std::size_t count) {
        if (count > packed.size() - at) refuse_lzma("an LZMA2 stream ends early");
        at += count;
        return packed.substr(at - count, count);
    };
    std::string out;
    out.reserve(size + (std::size_t{1} << 16U));
    std::vector<Model> model;  // none or one
    unsigned properties = 0;
    while (out.size() < size) {
        const std::size_t control = byte();
        if (control == 0) refuse_lzma("an LZMA2 stream is shorter than it says");
        if (control < 0x80) {
            if (control > 2) refuse_lzma("an LZMA2 stream has a chunk of no kind");
            out += taken(two());
            continue;
        }
        const std::size_t length = ((control & 0x1fU) << 16U) + two();
        const std::size_t count = two();
        if (control >= 0xc0) properties = static_cast<unsigned>(byte());
        if (control >= 0xa0) {
            model.clear();
            model.emplace_back(properties);
        }
        if (model.empty()) refuse_lzma("an LZMA2 stream goes on with nothing");
        read_chunk(model.front(), taken(count), out.size() + length, out);
    }
    out.resize(size);
    return out;
}

}  // namespace vramfit
