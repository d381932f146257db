// Independent tasks on several threads.
#pragma once

#include <cstddef>
#include <functional>

namespace vramfit {

/// Threads that this process may run at once, at least 1.
std::size_t threads_of_machine();

/// Calls task(0) to task(count - 1), each once, on at most `threads` threads, this one included; they begin in order.
/// Where tasks throw, the rest still runs, and then the error of the first of them in order is thrown.
void for_each_index(std::size_t count, std::size_t threads, const std::function<void(std::size_t)>& task);

}  // namespace vramfit
