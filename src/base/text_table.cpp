// Tables and paragraphs in plain text for screens of any width.
#include "base/text_table.hpp"

#include <algorithm>

namespace vramfit {

namespace {

constexpr int kGap = 2;

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

/// Which columns are shown: all, less those that have to go for the width.
std::vector<bool> shown_in(const TextTable& table, const std::vector<int>& widths, int width) {
    std::vector<bool> shown(widths.size(), true);
    while (true) {
        int total = width_of(table.indent) - kGap;
        int worst = 0;
        for (std::size_t c = 0; c < widths.size(); ++c) {
            if (!shown[c]) continue;
            total += widths[c] + kGap;
            worst = std::max(worst, table.columns[c].drop);
        }
        if (total <= width || worst == 0) return shown;
        for (std::size_t c = 0; c < widths.size(); ++c) {
            if (table.columns[c].drop == worst) shown[c] = false;
        }
    }
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
    for (std::size_t at = out.size(); at > first + 3;) out.insert(at -= 3, ",");
    return out;
}

std::string text_of(const TextTable& table, int width) {
    const std::vector<int> widths = widths_of(table);
    const std::vector<bool> shown = shown_in(table, widths, width);
    const bool head = std::any_of(table.columns.begin(), table.columns.end(),
                                  [](const TextColumn& column) { return !column.title.empty(); });
    std::string out;
    std::string line;
    const auto add_row = [&](const auto& text_at) {
        line = table.indent;
        bool first = true;
        for (std::size_t c = 0; c < widths.size(); ++c) {
            if (!shown[c]) continue;
            if (!first) line.append(kGap, ' ');
            first = false;
            add_cell(line, text_at(c), widths[c], table.columns[c].align);
        }
        end_line(out, line);
    };
    if (head) add_row([&](std::size_t c) { return std::string_view(table.columns[c].title); });
    for (std::size_t r = 0; r < table.rows.size(); ++r) add_row([&](std::size_t c) { return cell(table, r, c); });
    return out;
}

std::string wrapped(std::string_view text, int width, std::string_view first, std::string_view rest) {
    std::string out;
    std::string line(first);
    bool fresh = true;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find(' '), text.size());
        const std::string_view word = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
        if (word.empty()) continue;
        if (!fresh && width_of(line) + 1 + width_of(word) > width) {
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

}  // namespace vramfit
