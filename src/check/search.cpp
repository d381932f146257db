// Cheap knobs first: as many as are needed, turned all the way, then turned back as far as the run still fits.
#include "check/search.hpp"

#include <algorithm>
#include <deque>
#include <map>
#include <utility>

namespace vramfit {

namespace {

// Each search asks some ten times; with fewer than the wanted changes after so many there are no others to be found.
constexpr std::size_t kMostSearches = 8;

class Search {
  public:
    Search(std::span<const Knob> knobs, const TurnedRun& run, std::size_t most_events)
        : knobs_(knobs), run_(run), most_events_(most_events) {}

    /// The cheapest turns that fit without the banned knobs.
    std::optional<Turns> find(const std::vector<bool>& banned) {
        std::vector<Turns> chain = chain_of(banned);
        if (chain.size() < 2) return std::nullopt;
        if (!surely_asked(chain.back())) {
            chain = falling(chain);
            if (chain.size() < 2 || !surely_asked(chain.back())) return std::nullopt;
        }
        // The first link does not fit: it is the run that was asked about.
        std::size_t low = 0, high = chain.size() - 1;
        while (high - low > 1) {
            const std::size_t middle = low + (high - low) / 2;
            (fits(chain[middle]) ? high : low) = middle;
        }
        return turned_back(chain[high]);
    }

    /// The run with every knob that makes it smaller, in what it requests or reserves, and no other.
    std::optional<Turns> smallest() {
        Turns turns = falling(chain_of(std::vector<bool>(knobs_.size()))).back();
        const auto least = requested(turns);
        if (!least) return std::nullopt;
        for (std::size_t k = knobs_.size(); k-- > 0;) {
            if (turns[k] == 0) continue;
            if (is_spent()) break;
            Turns without = turns;
            without[k] = 0;
            if (requested(without) == least && run_.reserved(without) <= run_.reserved(turns))
                turns = std::move(without);
        }
        return turns;
    }

    /// How many were asked about.
    std::size_t runs() const { return fits_.size(); }

  private:
    bool is_spent() const { return events_ >= most_events_; }
    bool surely_asked(const Turns& turns) {
        if (const auto known = fits_.find(turns); known != fits_.end()) return known->second;
        const std::size_t before = run_.events();
        const bool answer = fits_[turns] = run_.fits(turns);
        events_ += run_.events() - before;
        return answer;
    }
    bool fits(const Turns& turns) { return (fits_.contains(turns) || !is_spent()) && surely_asked(turns); }
    std::optional<std::int64_t> requested(const Turns& turns) {
        const auto [known, is_new] = requested_.try_emplace(turns);
        if (is_new) known->second = run_.requested(turns);
        return known->second;
    }

    /// One knob more with each link, all the way.
    std::vector<Turns> chain_of(const std::vector<bool>& banned) const {
        std::vector<Turns> chain = {Turns(knobs_.size(), 0)};
        for (std::size_t k = 0; k < knobs_.size(); ++k) {
            if (banned[k]) continue;
            Turns next = chain.back();
            next[k] = knobs_[k].steps;
            chain.push_back(std::move(next));
        }
        return chain;
    }

    /// The chain without knobs with which there is no run, or one that needs more.
    std::vector<Turns> falling(const std::vector<Turns>& chain) {
        std::vector<Turns> out = {chain.front()};
        for (std::size_t i = 1; i < chain.size(); ++i) {
            Turns next = out.back();
            for (std::size_t k = 0; k < knobs_.size(); ++k)
                if (chain[i][k] != chain[i - 1][k]) next[k] = chain[i][k];
            const auto before = requested(out.back());
            const auto now = requested(next);
            if (now && (!before || *now <= *before)) out.push_back(std::move(next));
        }
        return out;
    }

    /// Turns that fit, each knob turned back as far as it can be, the dearest first.
    Turns turned_back(Turns turns) {
        for (std::size_t k = knobs_.size(); k-- > 0;) {
            std::size_t high = turns[k];  // fits
            if (high == 0) continue;
            const auto fits_at = [&](std::size_t step) {
                turns[k] = step;
                return fits(turns);
            };
            if (fits_at(0)) continue;
            std::size_t low = 0;  // does not
            while (high - low > 1) {
                const std::size_t middle = low + (high - low) / 2;
                (fits_at(middle) ? high : low) = middle;
            }
            turns[k] = high;
        }
        return turns;
    }

    std::span<const Knob> knobs_;
    const TurnedRun& run_;
    std::size_t most_events_;
    std::size_t events_ = 0;  ///< of what was asked whether it fits
    std::map<Turns, bool> fits_;
    std::map<Turns, std::optional<std::int64_t>> requested_;
};

}  // namespace

FoundTurns find_turns(std::span<const Knob> knobs, const TurnedRun& run, const SearchLimits& limits) {
    FoundTurns found;
    Search search(knobs, run, limits.events);
    std::deque<std::vector<bool>> banned = {std::vector<bool>(knobs.size())};
    std::vector<std::vector<bool>> seen = {banned.front()};
    for (std::size_t asked = 0; !banned.empty() && found.fitting.size() < limits.changes && asked < kMostSearches;
         ++asked) {
        if (asked > 0 && search.runs() >= limits.runs) break;
        const std::vector<bool> without = std::move(banned.front());
        banned.pop_front();
        const std::optional<Turns> turns = search.find(without);
        if (!turns) continue;
        if (std::find(found.fitting.begin(), found.fitting.end(), *turns) == found.fitting.end())
            found.fitting.push_back(*turns);
        for (std::size_t k = 0; k < knobs.size(); ++k) {
            if ((*turns)[k] == 0) continue;
            std::vector<bool> next = without;
            next[k] = true;
            if (std::find(seen.begin(), seen.end(), next) != seen.end()) continue;
            seen.push_back(next);
            banned.push_back(std::move(next));
        }
    }
    // By the dearest knob that is turned, then by the next.
    std::stable_sort(found.fitting.begin(), found.fitting.end(), [](const Turns& a, const Turns& b) {
        return std::lexicographical_compare(a.rbegin(), a.rend(), b.rbegin(), b.rend());
    });
    if (found.fitting.empty()) found.smallest = search.smallest();
    return found;
}

}  // namespace vramfit
