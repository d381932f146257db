// Writes results with plain system calls, so that a full disk and a closed pipe can be told apart.
#include "cli/output.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "vramfit/base/error.hpp"

namespace vramfit::cli {
namespace {

[[noreturn]] void fail(const std::string& where) {
    throw Error(ErrorKind::invalid, where, std::strerror(errno), "the output is incomplete; write it somewhere else");
}

void write_all(int file, std::string_view text, const std::string& where) {
    while (!text.empty()) {
        const auto written = ::write(file, text.data(), text.size());
        if (written >= 0) {
            text.remove_prefix(static_cast<std::size_t>(written));
        } else if (errno == EPIPE) {
            return;
        } else if (errno != EINTR) {
            fail(where);
        }
    }
}

}  // namespace

void write_result(std::string_view text, const std::string& path) {
    if (path.empty() || path == "-") {
        write_all(STDOUT_FILENO, text, "standard output");
        return;
    }
    const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (file < 0) {
        fail(path);
    }
    try {
        write_all(file, text, path);
    } catch (...) {
        ::close(file);
        throw;
    }
    if (::close(file) != 0) {
        fail(path);
    }
}

}  // namespace vramfit::cli
