// The sorted runs of free blocks against an ordered set.
#include "alloc/free_list.hpp"

#include <random>
#include <set>
#include <utility>

#include "support/catch.hpp"

using namespace vramfit;
using namespace vramfit::allocator;

namespace {

std::vector<std::pair<std::int64_t, std::int64_t>> content(const FreeList& list) {
    std::vector<std::pair<std::int64_t, std::int64_t>> all;
    for (auto at = list.begin(); at != list.end(); at = list.next(at))
        all.emplace_back(list.at(at).size, list.at(at).order);
    return all;
}

}  // namespace

TEST_CASE("random insertions, searches, replacements and removals agree with std::set") {
    std::mt19937 random(1);
    std::set<std::pair<std::int64_t, std::int64_t>> model;
    FreeList list;
    std::int64_t order = 0;
    for (int step = 0; step < 20000; ++step) {
        const std::int64_t size = random() % 40;
        const bool grow = (step / 3000) % 2 == 0;
        if (random() % 10 < (grow ? 7u : 3u)) {
            model.emplace(size, ++order);
            list.insert({size, order, 0});
        } else if (const auto found = model.lower_bound({size, 0}); found != model.end()) {
            const auto at = list.at_least(size);
            REQUIRE(list.at(at).size == found->first);
            REQUIRE(list.at(at).order == found->second);
            if (found != model.begin()) {
                REQUIRE(list.at(list.previous(at)).order == std::prev(found)->second);
            }
            REQUIRE(list.position_of({found->first, found->second, 0}) == at);
            model.erase(found);
            if (step % 6 < 4) {
                list.erase(at);
                continue;
            }
            const std::int64_t near = step % 6 == 4 ? size + 1 : random() % 40;
            model.emplace(near, ++order);
            list.replace(at, {near, order, 0});
        } else {
            REQUIRE(list.at_least(size) == list.end());
        }
    }
    const std::vector<std::pair<std::int64_t, std::int64_t>> expected(model.begin(), model.end());
    CHECK(expected.size() > 100);
    CHECK(content(list) == expected);
}
