// Tables and paragraphs in plain text for screens of any width.
#include "base/text_table.hpp"

#include <algorithm>

namespace vramfit {

namespace {

constexpr int kGap = 2;
constexpr int kLegible = 24;

std::string_view cell(const TextTable& table, std::size_t row, std::size_t column) {
    const auto& cells = table.rows[row];
    return column < cells.size() ? std::string_view(cells[column]) : std::string_view();
}

std::vector<int> widths_of(const TextTable& table) {
    std::vector<int> widths;
    for (std::size_t c = 0; c < table.columns.size(); ++c) {
        int width = width_of(table.columns[c].title);
        for (std::size_t r = 0; r < table.rows.size(); ++r) width = std::max(width, width_of(cell(table, r, c)));
        widths.push_back(width);
    }
    return widths;
}

int width_of_table(const TextTable& table, const std::vector<int>& widths, const std::vector<bool>& shown) {
    int total = width_of(table.indent) - kGap;
    for (std::size_t c = 0; c < widths.size(); ++c) total += shown[c] ? widths[c] + kGap : 0;
    return total;
}

/// Which columns are shown: all, less those that have to go for the width.
std::vector<bool> shown_in(const TextTable& table, const std::vector<int>& widths, int width) {
    std::vector<bool> shown(widths.size(), true);
    while (true) {
        int worst = 0;
        for (std::size_t c = 0; c < widths.size(); ++c)
            worst = shown[c] ? std::max(worst, table.columns[c].drop) : worst;
        if (width_of_table(table, widths, shown) <= width || worst == 0) return shown;
        for (std::size_t c = 0; c < widths.size(); ++c) {
            if (table.columns[c].drop == worst) shown[c] = false;
        }
    }
}

/// The text in lines of at most `width` that end after `mark`, where it has one.
std::vector<std::string_view> pieces_of(std::string_view text, char mark, int width) {
    std::vector<std::string_view> pieces;
    while (mark && width_of(text) > width) {
        std::size_t end = text.find(mark);
        if (end == text.npos || end + 1 == text.size()) break;
        for (std::size_t next = end; next != text.npos && width_of(text.substr(0, next + 1)) <= width;
             next = text.find(mark, next + 1))
            end = next;
        pieces.push_back(text.substr(0, end + 1));
        text.remove_prefix(end + 1);
    }
    pieces.push_back(text);
    return pieces;
}

/// The width of a column whose cells are broken to `wanted` columns, if their words allow it.
int broken_to(const TextTable& table, std::size_t column, int wanted) {
    int width = width_of(table.columns[column].title);
    for (std::size_t r = 0; r < table.rows.size(); ++r)
        for (const std::string_view piece : pieces_of(cell(table, r, column), table.columns[column].breaks, wanted))
            width = std::max(width, width_of(piece));
    return width;
}

/// Which columns are shown, and how wide: cells are broken down to a legible width before columns go, further after.
std::vector<bool> fit(const TextTable& table, std::vector<int>& widths, int width) {
    std::vector<int> least = widths;
    for (std::size_t c = 0; c < widths.size(); ++c)
        if (table.columns[c].breaks) least[c] = broken_to(table, c, std::min(widths[c], kLegible));
    const std::vector<bool> shown = shown_in(table, least, width);
    for (std::size_t c = 0; c < widths.size(); ++c) {
        const int excess = width_of_table(table, widths, shown) - width;
        if (shown[c] && table.columns[c].breaks && excess > 0)
            widths[c] = broken_to(table, c, std::max(widths[c] - excess, 1));
    }
    return shown;
}

void add_cell(std::string& line, std::string_view text, int width, Align align) {
    const auto blanks = static_cast<std::size_t>(width - width_of(text));
    if (align == Align::right) line.append(blanks, ' ');
    line += text;
    if (align == Align::left) line.append(blanks, ' ');
}

void end_line(std::string& out, std::string& line) {
    line.erase(line.find_last_not_of(' ') + 1);
    out += line;
    out += '\n';
    line.clear();
}

}  // namespace

int width_of(std::string_view text) {
    return static_cast<int>(
        std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

std::string grouped(std::int64_t number) {
    std::string out = std::to_string(number);
    const std::size_t first = number < 0 ? 1 : 0;
    for (std::size_t at = out.size(); at > first + 3;) out.insert(at -= 3, 1, ',');
    return out;
}

std::string text_of(const TextTable& table, int width) {
    std::vector<int> widths = widths_of(table);
    const std::vector<bool> shown = fit(table, widths, width);
    const bool head = std::any_of(table.columns.begin(), table.columns.end(),
                                  [](const TextColumn& column) { return !column.title.empty(); });
    std::string out;
    const auto add_line = [&](const auto& text_at) {
        std::string line = table.indent;
        bool first = true;
        for (std::size_t c = 0; c < widths.size(); ++c) {
            if (!shown[c]) continue;
            if (!first) line.append(kGap, ' ');
            first = false;
            add_cell(line, text_at(c), widths[c], table.columns[c].align);
        }
        end_line(out, line);
    };
    if (head) add_line([&](std::size_t c) { return std::string_view(table.columns[c].title); });
    for (std::size_t r = 0; r < table.rows.size(); ++r) {
        std::size_t lines = 1;
        for (std::size_t line = 0; line < lines; ++line)
            add_line([&](std::size_t c) {
                const auto pieces = pieces_of(cell(table, r, c), table.columns[c].breaks, widths[c]);
                lines = std::max(lines, pieces.size());
                return line < pieces.size() ? pieces[line] : std::string_view();
            });
    }
    return out;
}

std::string wrapped(const std::vector<std::string>& words, int width, std::string_view first, std::string_view rest,
                    std::string_view more) {
    std::string out;
    std::string line(first);
    bool fresh = true;
    for (const std::string& word : words) {
        if (!fresh && width_of(line) + 1 + width_of(word) + width_of(more) > width) {
            line += more;
            end_line(out, line);
            line = rest;
            fresh = true;
        }
        if (!fresh) line += ' ';
        line += word;
        fresh = false;
    }
    end_line(out, line);
    return out;
}

std::string wrapped(std::string_view text, int width, std::string_view first, std::string_view rest) {
    std::vector<std::string> words;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find(' '), text.size());
        if (end > 0) words.emplace_back(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return wrapped(words, width, first, rest);
}

}  // namespace vramfit
