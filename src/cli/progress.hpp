// A line of progress on stderr: only on a terminal, only when the work takes long.
#pragma once

#include <chrono>
#include <string>

namespace vramfit::cli {

class Progress {
  public:
    /// `wanted`: false shows nothing.
    Progress(std::string what, bool wanted);
    ~Progress();
    Progress(const Progress&) = delete;
    Progress& operator=(const Progress&) = delete;

    /// Shows "WHAT 120/1344 (9 %), 240/s, 5 s left" if half a second has passed since the start.
    void show(std::size_t done, std::size_t total);

  private:
    using Clock = std::chrono::steady_clock;
    std::string what_;
    bool terminal_;
    bool shown_ = false;
    Clock::time_point start_;
    Clock::time_point last_;
};

}  // namespace vramfit::cli
