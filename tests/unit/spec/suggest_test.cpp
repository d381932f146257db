// The nearest of known words, against the table of edit distances written out.
#include "vramfit/spec/suggest.hpp"

#include <algorithm>
#include <random>
#include <vector>

#include "support/catch.hpp"

using namespace vramfit;

namespace {

std::size_t edits(std::string_view a, std::string_view b) {
    std::vector<std::vector<std::size_t>> table(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
    for (std::size_t i = 0; i <= a.size(); ++i) {
        for (std::size_t j = 0; j <= b.size(); ++j) {
            std::size_t& least = table[i][j] = i == 0 ? j : i;
            if (i == 0 || j == 0) continue;
            least = table[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
            least = std::min({least, table[i - 1][j] + 1, table[i][j - 1] + 1});
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                least = std::min(least, table[i - 2][j - 2] + 1);
        }
    }
    return table[a.size()][b.size()];
}

std::string_view nearest_by_table(std::string_view word, const std::vector<std::string_view>& known) {
    std::size_t least = std::max<std::size_t>(1, word.size() / 3) + 1;
    std::string_view found;
    for (const std::string_view candidate : known) {
        const std::size_t needed = edits(word, candidate);
        if (needed >= least) continue;
        least = needed;
        found = candidate;
    }
    return found;
}

/// Few letters, so that words are near each other.
std::string random_word(std::mt19937& random, std::size_t longest) {
    std::string word(random() % (longest + 1), 'a');
    for (char& c : word) c = static_cast<char>('a' + random() % 3);
    return word;
}

}  // namespace

TEST_CASE("the nearest word is the one that the table of distances names") {
    std::mt19937 random(1);
    int near = 0;
    for (int round = 0; round < 300; ++round) {
        const std::size_t longest = round % 3 == 0 ? 160 : 12;
        std::vector<std::string> words;
        for (int i = 0; i < 12; ++i) words.push_back(random_word(random, longest));
        const std::vector<std::string_view> known(words.begin(), words.end());
        std::string word = random_word(random, std::min<std::size_t>(longest, 128));
        if (round % 2 == 0) {
            word = words.front().substr(0, 128);  // with a few mistakes
            for (int i = 0; i < 3 && word.size() > 1; ++i) {
                const std::size_t at = random() % (word.size() - 1);
                if (i == 0) std::swap(word[at], word[at + 1]);
                if (i == 1) word.erase(at, 1);
                if (i == 2) word[at] = 'b';
            }
        }
        if (word.empty()) continue;
        const std::string_view expected = nearest_by_table(word, known);
        near += expected.empty() ? 0 : 1;
        CHECK(nearest(word, known) == expected);
    }
    CHECK(near > 100);
}

TEST_CASE("a word is misspelt with one wrong letter, or two if it is long") {
    std::mt19937 random(2);
    int misspelt = 0;
    for (int round = 0; round < 2000; ++round) {
        const std::string known = random_word(random, 11), word = random_word(random, 11);
        const bool expected = edits(word, known) <= (std::min(word.size(), known.size()) < 8 ? 1u : 2u);
        misspelt += expected ? 1 : 0;
        CHECK(is_misspelt(word, known) == expected);
    }
    CHECK(misspelt > 50);
    CHECK_FALSE(is_misspelt(std::string(129, 'a'), std::string(129, 'a')));
}

TEST_CASE("words with other numbers and words that are too long are not near") {
    const std::string_view known[] = {"rtx 4090", "hidden_size"};
    CHECK(nearest("rtx 4050", known).empty());
    CHECK(nearest("Hiden_Size", known) == "hidden_size");
    CHECK(nearest(std::string(129, 'a'), known).empty());
    CHECK(nearest("", known).empty());
}
