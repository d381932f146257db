// Writes results with plain system calls, so that a full disk and a closed pipe can be told apart.
#include "cli/output.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>

#include <fmt/format.h>

#include "vramfit/base/error.hpp"

namespace vramfit::cli {
namespace {

[[noreturn]] void fail(const std::string& where, const char* hint) {
    throw Error(ErrorKind::invalid, where, std::strerror(errno), hint);
}

constexpr const char* kIncomplete = "the output is incomplete; write it somewhere else";
constexpr const char* kUntouched = "nothing was written; choose another --output";

void write_all(int file, std::string_view text, const std::string& where, const char* hint) {
    while (!text.empty()) {
        const auto written = ::write(file, text.data(), text.size());
        if (written >= 0) {
            text.remove_prefix(static_cast<std::size_t>(written));
        } else if (errno == EPIPE) {
            return;
        } else if (errno != EINTR) {
            fail(where, hint);
        }
    }
}

/// Devices, pipes and the like, which have no content that could be half new.
void write_in_place(std::string_view text, const std::string& path) {
    const int file = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
    if (file < 0) fail(path, kUntouched);
    try {
        write_all(file, text, path, kIncomplete);
    } catch (...) {
        ::close(file);
        throw;
    }
    if (::close(file) != 0) fail(path, kIncomplete);
}

/// The permissions of a file that is replaced, or those of a new one.
mode_t mode_of(const struct stat* old) {
    if (old) return old->st_mode & 07777;
    const mode_t mask = ::umask(0);
    ::umask(mask);
    return 0666 & ~mask;
}

/// Writes a file beside `real`, which the user calls `path`, and gives it that name when it is complete.
void replace(std::string_view text, const std::string& real, const std::string& path, mode_t mode) {
    std::string temporary = fmt::format("{}.XXXXXX", real);
    const int file = ::mkostemp(temporary.data(), O_CLOEXEC);
    if (file < 0) fail(path, kUntouched);
    bool open = true;
    try {
        write_all(file, text, path, kUntouched);
        if (::fchmod(file, mode) != 0) fail(path, kUntouched);
        open = false;
        if (::close(file) != 0) fail(path, kUntouched);
        if (::rename(temporary.c_str(), real.c_str()) != 0) fail(path, kUntouched);
    } catch (...) {
        if (open) ::close(file);
        ::unlink(temporary.c_str());
        throw;
    }
}

}  // namespace

void write_result(std::string_view text, const std::string& path) {
    if (path.empty()) throw Error(ErrorKind::invalid, "--output", "no file named", "a file, or - for standard output");
    if (path == "-") {
        write_all(STDOUT_FILENO, text, "standard output", kIncomplete);
        return;
    }
    struct stat old {};
    const bool exists = ::stat(path.c_str(), &old) == 0;
    if (exists && !S_ISREG(old.st_mode)) return write_in_place(text, path);
    // A link stays a link: what it points to is replaced.
    const std::unique_ptr<char, void (*)(void*)> real(exists ? ::realpath(path.c_str(), nullptr) : nullptr, std::free);
    replace(text, real ? real.get() : path, path, mode_of(exists ? &old : nullptr));
}

}  // namespace vramfit::cli
