// Where something stands in a file.
#pragma once

#include <string>

namespace vramfit {

/// Line and column, counted from 1; zeros: nowhere in a file.
struct Place {
    int line = 0;
    int column = 0;

    friend bool operator==(const Place&, const Place&) = default;
};

/// A place in a file by its name. Empty file: not from a file.
struct FilePlace {
    std::string file;
    Place at;

    friend bool operator==(const FilePlace&, const FilePlace&) = default;
};

/// "config.yaml:12:3", "config.yaml" without a line.
std::string text_of(const FilePlace& place);

}  // namespace vramfit
