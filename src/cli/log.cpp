// Sets spdlog up; colours only on a terminal and without NO_COLOR (https://no-color.org).
#include "cli/log.hpp"

#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <cstdlib>

namespace vramfit::cli {

void start_log(int verbosity) {
    const char* no_color = std::getenv("NO_COLOR");
    const bool plain = no_color && *no_color;
    spdlog::drop("vramfit");  // of a run before, in tests
    auto log = spdlog::stderr_color_st("vramfit", plain ? spdlog::color_mode::never : spdlog::color_mode::automatic);
    log->set_pattern("%^%l%$: %v");
    log->set_level(verbosity > 1 ? spdlog::level::trace : verbosity > 0 ? spdlog::level::info : spdlog::level::warn);
    spdlog::set_default_logger(std::move(log));
}

}  // namespace vramfit::cli
