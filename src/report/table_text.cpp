// Tables of facts as text.
#include <fmt/format.h>

#include "base/text_table.hpp"
#include "report/documents.hpp"
#include "vramfit/spec/sizes.hpp"

namespace vramfit::report {

namespace {

struct ToText {
    std::string operator()(std::monostate) const { return "-"; }
    std::string operator()(const std::string& text) const { return text; }
    std::string operator()(std::int64_t number) const { return grouped(number); }
    std::string operator()(Bytes bytes) const { return text_of(bytes); }
    std::string operator()(bool yes) const { return yes ? "yes" : "no"; }
    std::string operator()(const std::vector<std::string>& texts) const {
        return fmt::format("{}", fmt::join(texts, ", "));
    }
};

bool is_number(const Cell& cell) {
    return std::holds_alternative<std::int64_t>(cell) || std::holds_alternative<Bytes>(cell);
}

}  // namespace

std::string table_text(const ReportTable& table, const Layout& layout) {
    TextTable out;
    std::vector<std::size_t> shown;
    for (std::size_t i = 0; i < table.columns.size(); ++i) {
        const ReportColumn& column = table.columns[i];
        if (column.title.empty()) continue;
        const bool number = !table.rows.empty() && is_number(table.rows.front()[i]);
        out.columns.push_back({column.title, number ? Align::right : Align::left, column.drop});
        shown.push_back(i);
    }
    for (const std::vector<Cell>& cells : table.rows) {
        std::vector<std::string> row;
        for (const std::size_t i : shown) row.push_back(std::visit(ToText{}, cells[i]));
        out.rows.push_back(std::move(row));
    }
    return text_of(out, layout.table_width);
}

}  // namespace vramfit::report
