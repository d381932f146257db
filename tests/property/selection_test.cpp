// Bounds, orders, fronts and groups say what looking at every row says, and parts of a space say together what the
// whole says: 120 random spaces (12 under sanitizers).
#include <map>

#include "property/random_questions.hpp"
#include "support/catch.hpp"
#include "support/sanitized.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/spec/devices.hpp"
#include "vramfit/spec/stacks.hpp"

namespace vramfit::test {

namespace {

constexpr int kSelections = kSanitized ? 4 : 40;

SweepQuestion any_question(Random& random) {
    SweepQuestion q;
    q.stack = stack_from("").stack;
    q.device = device_from("1GiB");
    q.model = tiny_model(random);
    one<Plan>(random, {lora_torch, qlora_paged, full_torch, lora_8bit})(random, q);
    q.space = tiny_space(random, q.model, q.base.peft.has_value());
    q.device = tight_card(random, q);
    return q;
}

std::vector<SweepQuestion> any_questions(Random& random) {
    std::vector<SweepQuestion> out;
    for (std::size_t i = 0, count = 1 + random() % 2; i < count; ++i) out.push_back(any_question(random));
    return out;
}

std::vector<SweepBound> any_bounds(Random& random) {
    std::vector<SweepBound> out;
    for (const auto& [name, values] : {std::pair{"rank", std::vector<std::int64_t>{1, 9, 17}},
                                       std::pair{"tokens", std::vector<std::int64_t>{17, 300}},
                                       std::pair{"batch", std::vector<std::int64_t>{1, 2}}}) {
        if (maybe(random)) continue;
        SweepBound& bound = out.emplace_back();
        bound.measure = find_measure(name);
        bound.low = values[random() % values.size()];
        if (random() % 4 == 0) bound.high = bound.low;
        bound.where = name;
    }
    return out;
}

const SweepMeasure* any_measure(Random& random) {
    return find_measure(one<const char*>(random, {"capacity", "tokens", "rank", "seq", "batch", "memory"}));
}

/// Every fitting row of a sweep that replays all, in the order of a selection.
class Fitting {
  public:
    Fitting(std::span<const SweepQuestion> questions, const SweepResult& whole, const SweepSelection& selection)
        : questions_(questions), whole_(whole), selection_(selection) {
        for (const SweepRow& row : whole.rows)
            if (row.verdict == Verdict::fits) numbers_.push_back(row.number);
        std::stable_sort(numbers_.begin(), numbers_.end(),
                         [&](std::size_t a, std::size_t b) { return order(a) > order(b); });
    }

    std::vector<std::size_t> top(std::size_t count) const {
        std::vector<std::size_t> out = numbers_;
        out.resize(std::min(out.size(), count));
        return out;
    }
    std::vector<std::size_t> front() const {
        std::vector<std::size_t> out;
        for (const std::size_t row : numbers_)
            if (std::none_of(numbers_.begin(), numbers_.end(), [&](std::size_t o) { return excels(o, row); }))
                out.push_back(row);
        return out;
    }
    std::vector<std::size_t> groups() const {
        std::map<std::size_t, std::vector<std::size_t>> by;
        for (const std::size_t number : numbers_) {
            const SweepRow& row = whole_.rows[number];
            auto& own = by[selection_.group({row.question, whole_.place_of(row)})];
            if (own.size() < selection_.top) own.push_back(number);
        }
        std::vector<std::size_t> out;
        for (const auto& [key, own] : by) out.insert(out.end(), own.begin(), own.end());
        return out;
    }

  private:
    double value(const SweepMeasure& m, std::size_t number) const {
        const SweepRow& row = whole_.rows[number];
        return value_of(m, questions_[row.question], whole_.place_of(row), row);
    }
    std::vector<double> order(std::size_t number) const {
        std::vector<double> out;
        for (const SweepMeasure* m : selection_.pareto) out.push_back(value(*m, number));
        if (selection_.sort) out.push_back(value(*selection_.sort, number));
        out.push_back(whole_.rows[number].utilization);
        return out;
    }
    /// At least as much of each axis; of equals, the one that comes first.
    bool excels(std::size_t a, std::size_t b) const {
        bool more = false;
        for (const SweepMeasure* m : selection_.pareto) {
            if (value(*m, a) < value(*m, b)) return false;
            more = more || value(*m, a) > value(*m, b);
        }
        if (more) return true;
        const auto at = [this](std::size_t n) { return std::find(numbers_.begin(), numbers_.end(), n); };
        return at(a) < at(b);
    }

    std::span<const SweepQuestion> questions_;
    const SweepResult& whole_;
    const SweepSelection& selection_;
    std::vector<std::size_t> numbers_;
};

SweepSelection any_selection(Random& random, const std::vector<SweepQuestion>& questions) {
    SweepSelection selection;
    selection.top = 1 + random() % 4;
    if (maybe(random)) selection.sort = any_measure(random);
    switch (random() % 3) {
        case 0:
            selection.pareto = {any_measure(random)};
            if (maybe(random)) selection.pareto.push_back(any_measure(random));
            break;
        case 1:
            selection.group = [&questions](RowPlace row) {
                const SweepSpace& space = questions[row.question].space;
                return static_cast<std::size_t>(space.lengths[coordinates_of(space, row.place).length]);
            };
            break;
        default: break;
    }
    return selection;
}

std::optional<SweepResult> swept(const std::vector<SweepQuestion>& questions, const SweepOptions& options) {
    try {
        return sweep(questions, options);
    } catch (const Error&) {
        return std::nullopt;  // no row is valid, or none within the bounds
    }
}

void check_same(const SweepResult& a, const SweepResult& b) {
    REQUIRE(a.ranking == b.ranking);
    for (const std::size_t number : a.ranking) {
        CHECK(a.rows[number].requested == b.rows[number].requested);
        CHECK(a.rows[number].reserved == b.rows[number].reserved);
        CHECK(a.rows[number].peak == b.rows[number].peak);
    }
    CHECK(a.counts.total == b.counts.total);
    CHECK(a.counts.outside == b.counts.outside);
    CHECK(a.counts.invalid == b.counts.invalid);
    CHECK(a.counts.open == 0);
    CHECK(a.problem == b.problem);
    CHECK(a.other_problems == b.other_problems);
}

}  // namespace

TEST_CASE("selections: what is shown is what all rows say") {
    Random random(31);
    for (int spaces = 0; spaces < kSelections;) {
        const std::vector<SweepQuestion> questions = any_questions(random);
        SweepOptions all, some;
        all.selection.top = 0;
        some.bounds = all.bounds = any_bounds(random);
        const auto whole = swept(questions, all);
        if (!whole) continue;
        some.selection = any_selection(random, questions);
        const SweepResult picked = sweep(questions, some);
        const Fitting fitting(questions, *whole, some.selection);
        INFO("space " << spaces);
        if (!some.selection.pareto.empty())
            CHECK(picked.ranking == fitting.front());
        else if (some.selection.group)
            CHECK(picked.ranking == fitting.groups());
        else
            CHECK(picked.ranking == fitting.top(some.selection.top));
        for (std::size_t i = 0; i < picked.rows.size(); ++i) {
            const SweepRow& row = picked.rows[i];
            const bool inside = within(some.bounds, questions[row.question], picked.place_of(row));
            CHECK((row.status == RowStatus::outside) == !inside);
        }
        ++spaces;
    }
}

TEST_CASE("shards: the parts of a space make the ranking of the whole") {
    Random random(32);
    for (int spaces = 0; spaces < kSelections;) {
        const std::vector<SweepQuestion> questions = any_questions(random);
        SweepOptions options;
        options.bounds = any_bounds(random);
        options.selection = any_selection(random, questions);
        const auto whole = swept(questions, options);
        if (!whole) continue;
        for (std::size_t of = 1; of <= 5; ++of) {
            std::vector<SweepResult> parts;
            for (std::size_t part = 1; part <= of; ++part) {
                options.shard = {part, of};
                parts.push_back(sweep(questions, options));
            }
            INFO("space " << spaces << " in " << of << " parts");
            check_same(merged(questions, options, std::move(parts)), *whole);
        }
        options.shard = {};
        ++spaces;
    }
}

TEST_CASE("stopping: what is known so far is right") {
    Random random(33);
    for (int spaces = 0; spaces < kSelections;) {
        const std::vector<SweepQuestion> questions = any_questions(random);
        SweepOptions all;
        all.selection.top = 0;
        const auto whole = swept(questions, all);
        if (!whole) continue;
        SweepOptions some;
        some.stop = [left = random() % (2 * whole->rows.size())]() mutable { return left == 0 || --left == 0; };
        const SweepResult stopped = sweep(questions, some);
        for (const std::size_t number : stopped.ranking) CHECK(whole->rows[number].verdict == Verdict::fits);
        for (const SweepRow& row : stopped.rows)
            if (row.status == RowStatus::simulated) CHECK(row.requested == whole->rows[row.number].requested);
        CHECK((stopped.counts.open == 0 || stopped.stopped));
        ++spaces;
    }
}

}  // namespace vramfit::test
