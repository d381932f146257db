// Threads take the next task until there is none.
#include "base/parallel.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <system_error>
#include <thread>
#include <vector>

namespace vramfit {

namespace {

/// Joined at the end, as std::jthread, which libc++ has only since 20.
struct Threads {
    std::vector<std::thread> running;
    ~Threads() {
        for (std::thread& thread : running) thread.join();
    }
};

}  // namespace

std::size_t threads_of_machine() { return std::max(1u, std::thread::hardware_concurrency()); }

void for_each_index(std::size_t count, std::size_t threads, const std::function<void(std::size_t)>& task) {
    std::vector<std::exception_ptr> errors(count);
    std::atomic<std::size_t> next = 0;
    const auto work = [&] {
        for (std::size_t i = next++; i < count; i = next++) {
            try {
                task(i);
            } catch (...) {
                errors[i] = std::current_exception();
            }
        }
    };
    {
        Threads others;
        try {
            for (std::size_t i = 1; i < std::min(threads, count); ++i) others.running.emplace_back(work);
        } catch (const std::system_error&) {
            // As many as the system allows: a page allows none.
        }
        work();
    }
    for (const std::exception_ptr& error : errors)
        if (error) std::rethrow_exception(error);
}

}  // namespace vramfit
