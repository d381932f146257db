// Dominance between instants of one run.
#include "engine/level_front.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace vramfit::engine {

using symbolic::Range;

namespace {

constexpr std::uint32_t kNoSlot = 0xffffffffu;

}  // namespace

// Most monomials are in shapes and conditions only: those of sizes are few.
std::size_t LevelFront::slot_of(symbolic::MonomialId monomial) {
    if (monomial >= slots_.size()) slots_.resize(symbols_.monomials().size(), kNoSlot);
    std::uint32_t& slot = slots_[monomial];
    if (slot == kNoSlot) {
        slot = static_cast<std::uint32_t>(monomials_.size());
        monomials_.push_back(monomial);
        ranges_.push_back(symbols_.monomial_ranges()[monomial]);
        level_.push_back(0);
    }
    return slot;
}

// A sum of the least that each term of a difference can be. Without jumps, which are hard to foresee here.
void LevelFront::add_least(Cover& cover, std::size_t slot, std::int64_t more, int sign) const {
    if (more == 0) return;
    const Range& range = ranges_[slot];
    const std::int64_t bound = more > 0 ? range.low : range.high;
    if (bound <= -Range::kNone || bound >= Range::kNone)
        cover.unbounded += static_cast<std::size_t>(sign);
    else
        cover.least += __extension__ __int128{more} * bound * sign;
}

void LevelFront::change(std::size_t slot, std::int64_t count) {
    std::int64_t& level = level_[slot];
    if (cover_.place != Cover::kNone) {
        const std::vector<std::int64_t>& above = front_[cover_.place].coefficients;
        const std::int64_t more = (slot < above.size() ? above[slot] : 0) - level;
        add_least(cover_, slot, more, -1);
        add_least(cover_, slot, more - count, 1);
    }
    level += count;
}

void LevelFront::change(Size bytes, std::int64_t sign) {
    if (!bytes.is_symbolic()) {
        const std::int64_t count = sign * bytes.bits();
        change(slot_of(0), count);
        corners_.here += count;
        corners_.low += static_cast<double>(count);
        corners_.high += static_cast<double>(count);
        return;
    }
    const symbolic::Expression& e = symbols_.expressions()[symbols_.index_of(bytes)];
    corners_.here += sign * e.value;
    for (const symbolic::Term& t : e.polynomial) {
        const std::int64_t count = sign * t.coefficient;
        const symbolic::Symbols::Corners& corners = symbols_.monomial_corners()[t.monomial];
        change(slot_of(t.monomial), count);
        corners_.low += static_cast<double>(count) * corners.low;
        corners_.high += static_cast<double>(count) * corners.high;
    }
}

void LevelFront::grow(Size bytes, const Phase& phase) {
    // Within one window only the last of a row of allocations can be the highest moment.
    if (rising_ && !(phase == phase_)) look();
    change(bytes, 1);
    phase_ = phase;
    rising_ = true;
}

void LevelFront::shrink(Size bytes) {
    if (rising_) look();
    rising_ = false;
    change(bytes, -1);
}

bool LevelFront::exceeds(const std::vector<std::int64_t>& a, const std::vector<std::int64_t>& b,
                         std::int64_t by) const {
    Cover difference;
    for (std::size_t slot = 0; slot < std::max(a.size(), b.size()); ++slot) {
        const std::int64_t more = (slot < a.size() ? a[slot] : 0) - (slot < b.size() ? b[slot] : 0);
        add_least(difference, slot, more, 1);
        if (difference.unbounded > 0) return false;
    }
    return difference.least >= by;
}

void LevelFront::cover_by(std::size_t place) {
    cover_ = {.place = place};
    const std::vector<std::int64_t>& above = front_[place].coefficients;
    for (std::size_t m = 0; m < level_.size(); ++m)
        add_least(cover_, m, (m < above.size() ? above[m] : 0) - level_[m], 1);
}

// Doubles may be off by their last digits.
bool LevelFront::may_exceed(const Corners& a, const Corners& b) {
    const auto at_least = [](double x, double y) { return x >= y - 1e-9 * std::abs(y) - 1.0; };
    return a.here >= b.here && at_least(a.low, b.low) && at_least(a.high, b.high);
}

// The first of equals names the peak: a later instant goes if an earlier one is as high everywhere, an earlier one only
// if a later one is higher everywhere.
void LevelFront::look() {
    ++looked_;
    if (cover_.place != Cover::kNone && cover_.unbounded == 0 && cover_.least >= 0) return;
    for (std::size_t i = 0; i < front_.size(); ++i) {
        const Candidate& c = front_[i];
        if (i == cover_.place || !may_exceed(c.corners, corners_) || !exceeds(c.coefficients, level_, 0)) continue;
        cover_by(i);
        return;
    }
    std::erase_if(front_, [this](const Candidate& c) {
        return may_exceed(corners_, c.corners) && exceeds(level_, c.coefficients, 1);
    });
    drop_between();
    const auto at = std::find_if(front_.begin(), front_.end(),
                                 [this](const Candidate& c) { return c.corners.here < corners_.here; });
    const auto place = front_.insert(at, {level_, corners_, phase_, looked_});
    cover_by(static_cast<std::size_t>(place - front_.begin()));
}

// From layer to layer the same instant grows by the same polynomial. The middle one of three such instants is a mean of
// the other two, and never above both.
void LevelFront::drop_between() {
    if (phase_.layer < 0) return;
    const auto same_part = [this](const Candidate& c) {
        return c.at.kind == phase_.kind && c.at.step == phase_.step && c.at.micro == phase_.micro &&
               c.at.evaluation == phase_.evaluation;
    };
    const auto between = [&](const Candidate& c) {
        if (!same_part(c) || std::abs(c.at.layer - phase_.layer) != 1) return false;
        const std::int64_t direction = c.at.layer - phase_.layer;
        return std::any_of(front_.begin(), front_.end(), [&](const Candidate& first) {
            const std::int64_t layers = (first.at.layer - c.at.layer) * direction;
            if (!same_part(first) || layers < 1 || first.number > c.number) return false;
            if (c.corners.here - first.corners.here != layers * (corners_.here - c.corners.here)) return false;
            for (std::size_t m = 0; m < level_.size(); ++m) {
                const std::int64_t there = m < first.coefficients.size() ? first.coefficients[m] : 0;
                const std::int64_t here = m < c.coefficients.size() ? c.coefficients[m] : 0;
                if (here - there != layers * (level_[m] - here)) return false;
            }
            return true;
        });
    };
    const auto middle = std::find_if(front_.begin(), front_.end(), between);
    if (middle != front_.end()) front_.erase(middle);
}

std::vector<FormulaInstant> LevelFront::take() {
    if (rising_) look();
    std::sort(front_.begin(), front_.end(), [](const Candidate& a, const Candidate& b) { return a.number < b.number; });
    std::vector<FormulaInstant> out;
    for (const Candidate& c : front_) {
        FormulaInstant instant{{}, c.at};
        for (std::size_t slot = 0; slot < c.coefficients.size(); ++slot)
            if (c.coefficients[slot] != 0) instant.bytes.push_back({monomials_[slot], c.coefficients[slot]});
        std::sort(instant.bytes.begin(), instant.bytes.end(),
                  [](const symbolic::Term& a, const symbolic::Term& b) { return a.monomial < b.monomial; });
        out.push_back(std::move(instant));
    }
    return out;
}

}  // namespace vramfit::engine
