// Tables and paragraphs in plain text for screens of any width.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace vramfit {

enum class Align : unsigned char { left, right };

struct TextColumn {
    std::string title;
    Align align = Align::left;
    int drop = 0;     ///< columns with the highest number go first when the table is too wide; 0: never
    char breaks = 0;  ///< cells may go on in the next line after this character when the table is too wide
};

/// Columns are as wide as their widest cell and stand two blanks apart. Without any title there is no head line.
struct TextTable {
    std::vector<TextColumn> columns;
    std::vector<std::vector<std::string>> rows;  ///< missing cells are empty
    std::string indent;
};

/// Lines with ends and without trailing blanks. A table that is still too wide without all that may be dropped and with
/// all that may be broken is wider than `width`: no cell is ever cut.
std::string text_of(const TextTable& table, int width);

/// Words broken into lines of at most `width`; `first` begins the first line, `rest` the others, `more` ends all but
/// the last. Words are not cut.
std::string wrapped(const std::vector<std::string>& words, int width, std::string_view first = {},
                    std::string_view rest = {}, std::string_view more = {});

/// The same for a text, broken at its blanks.
std::string wrapped(std::string_view text, int width, std::string_view first = {}, std::string_view rest = {});

/// 2506172416 -> "2,506,172,416".
std::string grouped(std::int64_t number);

/// Columns that a UTF-8 text takes (one for each code point).
int width_of(std::string_view text);

}  // namespace vramfit
