// Writes results with plain system calls, so that a full disk and a closed pipe can be told apart.
#include "cli/output.hpp"

#include <cerrno>
#include <cstring>

#include <fmt/format.h>

#include "cli/platform.hpp"
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
        const auto written = write_some(file, text.data(), text.size());
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
    const int file = open_to_write(path);
    if (file < 0) fail(path, kUntouched);
    try {
        write_all(file, text, path, kIncomplete);
    } catch (...) {
        close_file(file);
        throw;
    }
    if (close_file(file) != 0) fail(path, kIncomplete);
}

/// Writes a file beside `real`, which the user calls `path`, and gives it that name when it is complete.
void replace(std::string_view text, const std::string& real, const std::string& path, unsigned permissions) {
    std::string temporary = fmt::format("{}.XXXXXX", real);
    const int file = create_temporary(temporary);
    if (file < 0) fail(path, kUntouched);
    bool open = true;
    try {
        write_all(file, text, path, kUntouched);
        if (set_permissions(file, permissions) != 0) fail(path, kUntouched);
        open = false;
        if (close_file(file) != 0) fail(path, kUntouched);
        if (rename_over(temporary, real) != 0) fail(path, kUntouched);
    } catch (...) {
        if (open) close_file(file);
        remove_file(temporary);
        throw;
    }
}

}  // namespace

void write_result(std::string_view text, const std::string& path) {
    if (path.empty()) throw Error(ErrorKind::invalid, "--output", "no file named", "a file, or - for standard output");
    if (path == "-") {
        write_all(kStandardOutput, text, "standard output", kIncomplete);
        return;
    }
    const PathStatus old = status_of_path(path);
    if (old.kind == PathKind::other) return write_in_place(text, path);
    // A link stays a link: what it points to is replaced.
    replace(text, old.kind == PathKind::file ? followed(path) : path, path, old.permissions);
}

}  // namespace vramfit::cli
