// What the program asks of the operating system: files by number, the terminal, signals.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace vramfit::cli {

enum Stream : int { kStandardInput = 0, kStandardOutput = 1, kStandardError = 2 };

bool is_terminal(Stream stream);

/// Columns of the terminal that standard output is; 0: it is none.
int terminal_width();

/// A closed pipe and a file that may not grow are errors of writing, not the end of the program; bytes are written as
/// they are.
void prepare_streams();

/// Numbers of opened files, -1 with errno set where that fails. Other programs do not inherit them.
int open_to_read(const std::string& path);
int open_to_write(const std::string& path);
/// `pattern` ends with XXXXXX, which becomes a name that no file has.
int create_temporary(std::string& pattern);
int close_file(int file);

/// As read(2) and write(2).
std::ptrdiff_t read_some(int file, char* bytes, std::size_t most);
std::ptrdiff_t write_some(int file, const char* bytes, std::size_t count);

enum class PathKind : std::uint8_t { nothing, file, other };

struct PathStatus {
    PathKind kind = PathKind::nothing;
    unsigned permissions = 0;  ///< of what is there, or those that a new file gets
};

PathStatus status_of_path(const std::string& path);
int set_permissions(int file, unsigned permissions);

/// The file that a link points to, or the path itself.
std::string followed(const std::string& path);

/// Gives a file another's name; what had the name is gone. 0, or -1 with errno set.
int rename_over(const std::string& from, const std::string& to);
void remove_file(const std::string& path);

}  // namespace vramfit::cli
