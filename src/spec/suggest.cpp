// "Did you mean": edit distance with transpositions over a list of known words.
#include "vramfit/spec/suggest.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

#include <fmt/format.h>

namespace vramfit {

namespace {

constexpr std::size_t kLongestWord = 128;  // longer words are no typing mistakes, and the distance is quadratic

// Edits (insert, delete, replace, swap of neighbours) that turn `a` into `b`, or `enough` if there are as many or more.
std::size_t edit_distance(std::string_view a, std::string_view b, std::size_t enough) {
    std::vector<std::size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
    for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
    for (std::size_t i = 1; i <= a.size(); ++i) {
        row[0] = i;
        std::size_t least = i;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const std::size_t replaced = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
            row[j] = std::min(std::min(last[j], row[j - 1]) + 1, replaced);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                row[j] = std::min(row[j], before[j - 2] + 1);
            least = std::min(least, row[j]);
        }
        // A swap reaches two rows back, but a row's least is at most one more than that of the row before.
        if (least >= enough) return enough;
        std::swap(before, last);
        std::swap(last, row);
    }
    return std::min(last[b.size()], enough);
}

// A bit for each letter that occurs, in lower case.
std::uint64_t letters_of(std::string_view text) {
    std::uint64_t letters = 0;
    for (const char c : lower_case(text)) letters |= std::uint64_t{1} << (static_cast<unsigned char>(c) & 63);
    return letters;
}

// Edits that it takes at least: one brings or removes one letter, and as many characters.
std::size_t fewest_edits(std::string_view a, std::string_view b) {
    const std::uint64_t of_a = letters_of(a), of_b = letters_of(b);
    const auto letters = static_cast<std::size_t>(std::max(std::popcount(of_a & ~of_b), std::popcount(of_b & ~of_a)));
    return std::max(letters, std::max(a.size(), b.size()) - std::min(a.size(), b.size()));
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
    std::transform(lower.begin(), lower.end(), lower.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
    return lower;
}

std::string nearest(std::string_view word, std::span<const std::string_view> known) {
    if (word.empty() || word.size() > kLongestWord) return {};
    const std::string wanted = lower_case(word);
    const std::string numbers = numbers_of(word);
    std::size_t least = std::max<std::size_t>(1, wanted.size() / 3) + 1;
    std::string_view found;
    for (const std::string_view candidate : known) {
        if (fewest_edits(wanted, candidate) >= least || numbers_of(candidate) != numbers) continue;
        const std::size_t distance = edit_distance(wanted, lower_case(candidate), least);
        if (distance < least) {
            least = distance;
            found = candidate;
        }
    }
    return std::string(found);
}

bool is_misspelt(std::string_view word, std::string_view known) {
    const std::size_t most = std::min(word.size(), known.size()) < 8 ? 1 : 2;
    return std::max(word.size(), known.size()) <= kLongestWord && fewest_edits(word, known) <= most &&
           edit_distance(word, known, most + 1) <= most;
}

std::string did_you_mean(std::string_view word, std::span<const std::string_view> known, std::string_view otherwise) {
    const std::string found = nearest(word, known);
    return found.empty() ? std::string(otherwise) : fmt::format("did you mean '{}'?", found);
}

}  // namespace vramfit
