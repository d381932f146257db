// "Did you mean": edit distance with transpositions over a list of known words.
#include "vramfit/spec/suggest.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

#include <fmt/format.h>

namespace vramfit {

namespace {

constexpr std::size_t kLongestWord = 128;  // longer words are no typing mistakes

char lower_case_of(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

/// A word whose edits to others are counted: insert, delete, replace, swap of neighbours.
class Word {
  public:
    /// No longer than kLongestWord.
    explicit Word(std::string_view text) : size_(text.size()) {
        for (std::size_t i = 0; i < size_; ++i) places_[static_cast<unsigned char>(text[i])] |= Bits{1} << i;
    }

    /// All characters of a column of the table of distances at once, a bit each for what is one more or one less than
    /// above it (H. Hyyrö, A Bit-Vector Algorithm for Computing Levenshtein and Damerau Edit Distances, 2003).
    std::size_t distance(std::string_view other) const {
        if (size_ == 0) return other.size();
        Bits more = ~Bits{0}, less = 0, diagonal = 0, before = 0;
        const Bits last = Bits{1} << (size_ - 1);
        std::size_t edits = size_;
        for (const char c : other) {
            const Bits places = places_[static_cast<unsigned char>(c)];
            const Bits swapped = ((~diagonal & places) << 1) & before;
            diagonal = (((places & more) + more) ^ more) | places | less | swapped;
            Bits right_more = less | ~(diagonal | more);
            const Bits right_less = diagonal & more;
            if (right_more & last) ++edits;
            if (right_less & last) --edits;
            right_more = right_more << 1 | 1;
            more = right_less << 1 | ~(diagonal | right_more);
            less = right_more & diagonal;
            before = places;
        }
        return edits;
    }

  private:
    __extension__ using Bits = unsigned __int128;

    std::size_t size_;
    std::array<Bits, 256> places_{};  ///< of each character
};

// A bit for each letter that occurs, in lower case.
std::uint64_t letters_of(std::string_view text) {
    std::uint64_t letters = 0;
    for (const char c : text) letters |= std::uint64_t{1} << (static_cast<unsigned char>(lower_case_of(c)) & 63);
    return letters;
}

// Whether it takes fewer edits than `enough` as far as lengths and letters tell: one edit brings or removes one letter
// and one character. Most words end here, so this comes before all that needs memory.
bool may_be_near(std::string_view a, std::uint64_t letters_of_a, std::string_view b, std::size_t enough) {
    if (std::max(a.size(), b.size()) - std::min(a.size(), b.size()) >= enough) return false;
    const std::uint64_t of_b = letters_of(b);
    const int letters = std::max(std::popcount(letters_of_a & ~of_b), std::popcount(of_b & ~letters_of_a));
    return static_cast<std::size_t>(letters) < enough;
}

/// The numbers in a name, without leading zeros: "rtx 4090 ti" -> "4090 ", "hf-2024-04" -> "2024 4 ".
std::string numbers_of(std::string_view text) {
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const bool digit = text[i] >= '0' && text[i] <= '9';
        const bool leading = out.empty() || out.back() == ' ';
        const bool more = i + 1 < text.size() && text[i + 1] >= '0' && text[i + 1] <= '9';
        if (digit && (text[i] != '0' || !leading || !more)) out += text[i];
        if (!digit && !out.empty() && out.back() != ' ') out += ' ';
    }
    if (!out.empty() && out.back() != ' ') out += ' ';
    return out;
}

}  // namespace

std::string lower_case(std::string_view text) {
    std::string lower(text);
    std::transform(lower.begin(), lower.end(), lower.begin(), lower_case_of);
    return lower;
}

std::string nearest(std::string_view word, std::span<const std::string_view> known) {
    if (word.empty() || word.size() > kLongestWord) return {};
    const std::string wanted = lower_case(word);
    const std::string numbers = numbers_of(word);
    const std::uint64_t letters = letters_of(wanted);
    const Word counted(wanted);
    std::size_t least = std::max<std::size_t>(1, wanted.size() / 3) + 1;
    std::string_view found;
    for (const std::string_view candidate : known) {
        if (!may_be_near(wanted, letters, candidate, least) || numbers_of(candidate) != numbers) continue;
        const std::size_t distance = counted.distance(lower_case(candidate));
        if (distance < least) {
            least = distance;
            found = candidate;
        }
    }
    return std::string(found);
}

bool is_misspelt(std::string_view word, std::string_view known) {
    if (std::max(word.size(), known.size()) > kLongestWord) return false;
    const std::size_t most = std::min(word.size(), known.size()) < 8 ? 1 : 2;
    return may_be_near(word, letters_of(word), known, most + 1) && Word(word).distance(known) <= most;
}

std::string did_you_mean(std::string_view word, std::span<const std::string_view> known, std::string_view otherwise) {
    const std::string found = nearest(word, known);
    return found.empty() ? std::string(otherwise) : fmt::format("did you mean '{}'?", found);
}

}  // namespace vramfit
