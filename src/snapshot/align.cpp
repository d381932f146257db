// Finds the longest stretch that both sequences share, then walks from there in both directions over what differs.
#include "snapshot/align.hpp"

#include <algorithm>
#include <optional>
#include <span>
#include <unordered_map>

namespace vramfit::snapshot {

namespace {

constexpr std::size_t kGram = 12;         // tokens that count as the same place
constexpr std::size_t kLongEnough = 400;  // a stretch that is longer than any repetition by chance
constexpr std::size_t kFirstTokens = 200'000;
constexpr std::size_t kCandidates = 2'000;
constexpr std::size_t kNear = 300;  // how far both sides are searched for where they meet again
constexpr std::size_t kFar = 20'000;

std::uint64_t hash_of(std::span<const Token> gram) {
    std::uint64_t hash = 1469598103934665603ull;
    for (const Token token : gram) hash = (hash ^ static_cast<std::uint64_t>(token)) * 1099511628211ull;
    return hash;
}

class Aligner {
  public:
    Aligner(const SeenSequence& seen, const PredictedSequence& predicted)
        : s_(seen.tokens), p_(predicted), from_start_(seen.held.front() == 0) {
        const std::size_t end = p_.step_end + (p_.period() > 0 ? std::min(p_.period(), kGram) : 0);
        std::vector<Token> unrolled;
        for (std::size_t place = 0; place < end; ++place) unrolled.push_back(p_.at(place));
        for (std::size_t place = 0; place + kGram <= unrolled.size(); ++place)
            index_[hash_of(std::span(unrolled).subspan(place, kGram))].push_back(place);
    }

    Alignment run() {
        if (s_.size() < kGram || (!anchor_behind_load() && !anchor(0))) {
            out_.found = false;
            return out_;
        }
        out_.found = true;
        backward();
        forward();
        return std::move(out_);
    }

  private:
    bool same(std::size_t i, std::size_t place) const { return p_.has(place) && s_[i] == p_.at(place); }

    /// How many tokens from here on are the same.
    std::size_t run_length(std::size_t i, std::size_t place, std::size_t most) const {
        std::size_t n = 0;
        while (n < most && i + n < s_.size() && same(i + n, place + n)) ++n;
        return n;
    }
    std::size_t run_length_back(std::size_t i, std::size_t place, std::size_t most) const {
        std::size_t n = 0;
        while (n < most && n < i && n < place && same(i - n - 1, place - n - 1)) ++n;
        return n;
    }

    struct Match {
        std::size_t seen = 0, place = 0, length = 0;
    };

    /// The longest stretch that begins in the snapshot at `from` or soon after; the first that is long enough.
    std::optional<Match> longest(std::size_t from, std::size_t most) const {
        std::optional<Match> best;
        for (std::size_t i = from; i + kGram <= s_.size() && i < from + most;) {
            Match here{i, 0, 0};
            if (const auto found = index_.find(hash_of(std::span(s_).subspan(i, kGram))); found != index_.end()) {
                std::size_t tried = 0;
                for (const std::size_t place : found->second) {
                    if (++tried > kCandidates) break;
                    const std::size_t length = run_length(i, place, kFar);
                    if (length > here.length) here = {i, place, length};
                }
            }
            if (here.length >= kGram && (!best || here.length > best->length)) best = here;
            if (best && best->length >= kLongEnough) break;
            i += std::max<std::size_t>(1, here.length);
        }
        return best;
    }

    /// A recording from the beginning that loads the same, in any order: both go on from there.
    bool anchor_behind_load() {
        const std::size_t load = p_.load_end;
        if (!from_start_ || load < kGram || s_.size() < load || p_.tokens.size() < load) return false;
        std::vector<Token> seen(s_.begin(), s_.begin() + static_cast<std::ptrdiff_t>(load));
        std::vector<Token> predicted(p_.tokens.begin(), p_.tokens.begin() + static_cast<std::ptrdiff_t>(load));
        std::sort(seen.begin(), seen.end());
        std::sort(predicted.begin(), predicted.end());
        if (seen != predicted) return false;
        i_ = place_ = load;
        return true;
    }

    bool anchor(std::size_t from) {
        const std::optional<Match> best = longest(from, kFirstTokens);
        if (!best) return false;
        i_ = best->seen;
        place_ = best->place;
        // A step that follows one like itself: what lies before tells whether it is the first such step or a later one.
        if (p_.period() > 0 && place_ >= p_.step_begin &&
            run_length_back(i_, place_ + p_.period(), kFar) > run_length_back(i_, place_, kFar))
            place_ += p_.period();
        return true;
    }

    /// The nearest place where both go on together for a while: the smallest a + b with a tokens of the snapshot and b
    /// of the prediction left out.
    template <class Same>
    std::optional<std::pair<std::size_t, std::size_t>> meeting(Same meets) const {
        for (std::size_t sum = 1; sum <= 2 * kNear; ++sum)
            for (std::size_t a = sum > kNear ? sum - kNear : 0; a <= std::min(sum, kNear); ++a)
                if (meets(a, sum - a)) return std::pair{a, sum - a};
        return std::nullopt;
    }

    /// Towards the beginning of the snapshot.
    void backward() {
        std::size_t i = i_, place = place_;
        std::vector<Hunk> hunks;
        while (i > 0 && place > 0) {
            const std::size_t run = run_length_back(i, place, i);
            i -= run;
            place -= run;
            out_.equal += run;
            if (i == 0 || place == 0) break;
            // Loading is compared as a whole: threads load in any order.
            if (place <= p_.load_end) break;
            const auto next = meeting([&](std::size_t a, std::size_t b) {
                if (a > i || b > place) return false;
                const std::size_t wanted = std::min({kGram, i - a, place - b});
                return (wanted > 0 || a == i) && run_length_back(i - a, place - b, wanted) == wanted;
            });
            if (!next) break;
            hunks.push_back({i - next->first, i, place - next->second, place, false});
            i -= next->first;
            place -= next->second;
        }
        out_.seen_begin = i;
        out_.place_begin = place;
        out_.hunks.assign(hunks.rbegin(), hunks.rend());
    }

    /// Whether the run leaves the steps here: the place is the end of a step.
    bool leaves(std::size_t i, std::size_t place) const {
        if (place < p_.step_end || p_.base(place) != (p_.period() > 0 ? p_.step_begin : p_.step_end)) return false;
        if (p_.period() == 0) return true;
        const std::size_t tail = p_.tokens.size() - p_.step_end, left = s_.size() - i;
        const std::size_t on = run_length(i, place, kFar);
        std::size_t out = 0;
        while (out < tail && out < left && s_[i + out] == p_.tokens[p_.step_end + out]) ++out;
        if (out == tail && left == tail) return true;
        return on != out ? out > on : left <= tail + kGram;
    }

    void forward() {
        while (i_ < s_.size()) {
            if (leaves(i_, place_)) return tail();
            const std::size_t to_end = p_.base(place_) < p_.step_end ? p_.step_end - p_.base(place_) : 1;
            const std::size_t run = run_length(i_, place_, to_end);
            i_ += run;
            place_ += run;
            out_.equal += run;
            if (run > 0 || i_ == s_.size()) continue;
            if (!step_over()) break;
        }
        out_.place_end = place_;
    }

    /// A hunk; false: nothing behind it is the same again, and all the rest is one.
    bool step_over() {
        const auto next = meeting([&](std::size_t a, std::size_t b) {
            const std::size_t wanted = std::min(kGram, s_.size() - std::min(s_.size(), i_ + a));
            return i_ + a <= s_.size() && (wanted > 0 || b == 0) && p_.has(place_ + b) &&
                   run_length(i_ + a, place_ + b, wanted) == wanted;
        });
        if (next) {
            out_.hunks.push_back({i_, i_ + next->first, place_, place_ + next->second, false});
            i_ += next->first;
            place_ += next->second;
            return true;
        }
        const std::optional<Match> again = longest(i_ + 1, kFar);
        if (!again) {
            out_.hunks.push_back({i_, s_.size(), place_, place_, false});
            i_ = s_.size();
            return false;
        }
        std::size_t place = again->place;
        while (p_.period() > 0 && place < place_) place += p_.period();
        if (place < place_) place = again->place;
        out_.hunks.push_back({i_, again->seen, place_, std::max(place, place_), false});
        i_ = again->seen;
        place_ = place;
        return true;
    }

    /// What comes after the last step.
    void tail() {
        out_.place_end = place_;
        out_.in_tail = true;
        std::size_t place = p_.step_end;
        while (i_ < s_.size() && place < p_.tokens.size()) {
            if (s_[i_] == p_.tokens[place]) {
                ++i_, ++place, ++out_.equal;
                continue;
            }
            const auto next = meeting([&](std::size_t a, std::size_t b) {
                const std::size_t left = s_.size() - std::min(s_.size(), i_ + a);
                const std::size_t ahead = p_.tokens.size() - std::min(p_.tokens.size(), place + b);
                const std::size_t wanted = std::min({kGram, left, ahead});
                if (i_ + a > s_.size() || place + b > p_.tokens.size() || (wanted == 0 && left != ahead)) return false;
                return std::equal(s_.begin() + static_cast<std::ptrdiff_t>(i_ + a),
                                  s_.begin() + static_cast<std::ptrdiff_t>(i_ + a + wanted),
                                  p_.tokens.begin() + static_cast<std::ptrdiff_t>(place + b));
            });
            const std::size_t a = next ? next->first : s_.size() - i_;
            const std::size_t b = next ? next->second : p_.tokens.size() - place;
            out_.hunks.push_back({i_, i_ + a, place, place + b, true});
            i_ += a;
            place += b;
        }
        if (i_ < s_.size()) out_.hunks.push_back({i_, s_.size(), place, place, true});
        out_.tail_end = place;
    }

    const std::vector<Token>& s_;
    const PredictedSequence& p_;
    const bool from_start_;  ///< nothing was held where the recording begins
    std::unordered_map<std::uint64_t, std::vector<std::size_t>> index_;  ///< places by the tokens that begin there
    std::size_t i_ = 0;
    std::size_t place_ = 0;
    Alignment out_;
};

}  // namespace

Alignment align(const SeenSequence& seen, const PredictedSequence& predicted) { return Aligner(seen, predicted).run(); }

}  // namespace vramfit::snapshot
