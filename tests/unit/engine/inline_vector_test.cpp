// The engine's small vector: inside, outside, moved from.
#include "engine/inline_vector.hpp"

#include <memory>
#include <utility>

#include "support/catch.hpp"

using vramfit::engine::InlineVector;

namespace {

using Vector = InlineVector<std::shared_ptr<int>, 2>;

Vector counted(int n) {
    Vector v;
    for (int i = 0; i < n; ++i) v.push_back(std::make_shared<int>(i));
    return v;
}

}  // namespace

TEST_CASE("inline vector: what it was moved out of is empty") {
    for (const int n : {0, 1, 2, 3, 5}) {
        Vector from = counted(n);
        Vector to = std::move(from);
        CHECK(from.empty());
        CHECK(to.size() == static_cast<std::size_t>(n));
        from.clear();
        from.resize(1);
        CHECK(!from[0]);
        for (int i = 0; i < n; ++i) CHECK(*to[static_cast<std::size_t>(i)] == i);
        Vector assigned = counted(4);
        assigned = std::move(to);
        CHECK(to.empty());
        CHECK(assigned.size() == static_cast<std::size_t>(n));
    }
}

TEST_CASE("inline vector: grows and shrinks across its inside") {
    Vector v = counted(4);
    const std::weak_ptr<int> last = v[3];
    v.resize(3);
    CHECK(last.expired());
    v.resize(2);
    v.resize(5);
    CHECK(*v[1] == 1);
    CHECK(!v[2]);
    CHECK(!v[4]);
    v.resize(0);
    CHECK(v.empty());
    CHECK(!counted(0).size());
}
