// POSIX, and Windows' C runtime where it differs.
#include "cli/platform.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <csignal>
#include <filesystem>
#include <system_error>

#ifdef _WIN32
#include <io.h>
#include <cstdlib>
#else
#include <sys/ioctl.h>
#include <unistd.h>
#endif

namespace vramfit::cli {

#ifdef _WIN32

bool is_terminal(Stream stream) { return _isatty(stream) != 0; }

int terminal_width() { return 0; }

void prepare_streams() {
    for (const int stream : {0, 1, 2}) _setmode(stream, _O_BINARY);
}

int open_to_read(const std::string& path) { return _open(path.c_str(), _O_RDONLY | _O_BINARY | _O_NOINHERIT); }
int open_to_write(const std::string& path) { return _open(path.c_str(), _O_WRONLY | _O_BINARY | _O_NOINHERIT); }

int create_temporary(std::string& pattern) {
    if (_mktemp_s(pattern.data(), pattern.size() + 1) != 0) return -1;
    return _open(pattern.c_str(), _O_RDWR | _O_CREAT | _O_EXCL | _O_BINARY | _O_NOINHERIT, _S_IREAD | _S_IWRITE);
}

int close_file(int file) { return _close(file); }

std::ptrdiff_t read_some(int file, char* bytes, std::size_t most) {
    return _read(file, bytes, static_cast<unsigned>(most < (1u << 30) ? most : (1u << 30)));
}

std::ptrdiff_t write_some(int file, const char* bytes, std::size_t count) {
    return _write(file, bytes, static_cast<unsigned>(count < (1u << 30) ? count : (1u << 30)));
}

int set_permissions(int, unsigned) { return 0; }  // a new file has those of its folder

#else

bool is_terminal(Stream stream) { return ::isatty(stream) == 1; }

int terminal_width() {
    winsize size{};
    return ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

void prepare_streams() {
    std::signal(SIGPIPE, SIG_IGN);
    std::signal(SIGXFSZ, SIG_IGN);
}

int open_to_read(const std::string& path) { return ::open(path.c_str(), O_RDONLY | O_CLOEXEC); }
int open_to_write(const std::string& path) { return ::open(path.c_str(), O_WRONLY | O_CLOEXEC); }

int create_temporary(std::string& pattern) {
    const int file = ::mkstemp(pattern.data());  // mkostemp is glibc's
    if (file >= 0) ::fcntl(file, F_SETFD, FD_CLOEXEC);
    return file;
}

int close_file(int file) { return ::close(file); }
std::ptrdiff_t read_some(int file, char* bytes, std::size_t most) { return ::read(file, bytes, most); }
std::ptrdiff_t write_some(int file, const char* bytes, std::size_t count) { return ::write(file, bytes, count); }
int set_permissions(int file, unsigned permissions) { return ::fchmod(file, static_cast<mode_t>(permissions)); }

#endif

PathStatus status_of_path(const std::string& path) {
    struct stat found {};
    if (::stat(path.c_str(), &found) == 0) {
        const bool is_file = (found.st_mode & S_IFMT) == S_IFREG;
        return {is_file ? PathKind::file : PathKind::other, found.st_mode & 07777u};
    }
#ifdef _WIN32
    return {PathKind::nothing, 0};
#else
    const mode_t mask = ::umask(0);
    ::umask(mask);
    return {PathKind::nothing, 0666u & ~static_cast<unsigned>(mask)};
#endif
}

std::string followed(const std::string& path) {
    std::error_code problem;
    const std::filesystem::path real = std::filesystem::canonical(path, problem);
    return problem ? path : real.string();
}

int rename_over(const std::string& from, const std::string& to) {
    std::error_code problem;
    std::filesystem::rename(from, to, problem);
    if (!problem) return 0;
    errno = problem.default_error_condition().value();
    return -1;
}

void remove_file(const std::string& path) {
    std::error_code ignored;
    std::filesystem::remove(path, ignored);
}

}  // namespace vramfit::cli
