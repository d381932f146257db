// Writes the progress line over itself and wipes it at the end.
#include "cli/progress.hpp"

#include <fmt/format.h>

#include <cstdio>

#include "cli/platform.hpp"

namespace vramfit::cli {

Progress::Progress(std::string what, bool wanted)
    : what_(std::move(what)), terminal_(wanted && is_terminal(kStandardError)), start_(Clock::now()), last_(start_) {}

Progress::~Progress() {
    if (shown_) fmt::print(stderr, "\r\033[K");
}

void Progress::show(std::size_t done, std::size_t total) {
    if (!terminal_) return;
    const Clock::time_point now = Clock::now();
    if (now - start_ < std::chrono::milliseconds(500) || now - last_ < std::chrono::milliseconds(100)) return;
    last_ = now;
    shown_ = true;
    const double seconds = std::chrono::duration<double>(now - start_).count();
    const double rate = static_cast<double>(done) / seconds;
    fmt::print(stderr, "\r\033[K{} {}/{} ({} %), {:.0f}/s, {:.0f} s left", what_, done, total, 100 * done / total, rate,
               static_cast<double>(total - done) / rate);
    std::fflush(stderr);
}

}  // namespace vramfit::cli
