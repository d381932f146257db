// Tasks on several threads.
#include "base/parallel.hpp"

#include <atomic>
#include <stdexcept>
#include <vector>

#include "support/catch.hpp"

namespace vramfit::test {

TEST_CASE("for_each_index: every task once, on any number of threads") {
    for (const std::size_t threads : {std::size_t{1}, std::size_t{3}, std::size_t{200}}) {
        std::vector<std::atomic<int>> calls(100);
        for_each_index(calls.size(), threads, [&](std::size_t i) { ++calls[i]; });
        for (const std::atomic<int>& count : calls) CHECK(count == 1);
    }
    for_each_index(0, 4, [](std::size_t) { FAIL("there is no task"); });
    CHECK(threads_of_machine() >= 1);
}

TEST_CASE("for_each_index: the first error in order, after all tasks") {
    std::atomic<int> done = 0;
    const auto task = [&](std::size_t i) {
        ++done;
        if (i % 2 == 1) throw std::runtime_error(std::to_string(i));
    };
    CHECK_THROWS_WITH(for_each_index(10, 4, task), "1");
    CHECK(done == 10);
}

}  // namespace vramfit::test
