// Looking keys up in the tables of a trainer's keys, each row in turn.
#include "trainers/key_rows.hpp"

#include <algorithm>

namespace vramfit::trainers {

namespace {

bool is_below(std::string_view inner, std::string_view outer) {
    return inner.size() > outer.size() && inner[outer.size()] == '.' && inner.starts_with(outer);
}

/// Most keys differ in length or at their end, which takes no call.
bool is_same(std::string_view a, std::string_view b) {
    return a.size() == b.size() && (a.empty() || a.back() == b.back()) && a == b;
}

bool is_row_of(const KeyRow& row, std::string_view key) {
    if (is_same(row.key, key) || is_same(row.key, "*")) return true;
    return row.key.size() > 1 && row.key.back() == '*' && row.key.ends_with(".*") &&
           is_below(key, row.key.substr(0, row.key.size() - 2));
}

}  // namespace

const KeyRow* find_row(KeyTables tables, std::string_view key) {
    for (const auto table : tables)
        for (const KeyRow& row : table)
            if (is_row_of(row, key)) return &row;
    return nullptr;
}

bool has_rows_below(KeyTables tables, std::string_view key) {
    return std::any_of(tables.begin(), tables.end(), [key](const auto table) {
        return std::any_of(table.begin(), table.end(), [key](const KeyRow& row) { return is_below(row.key, key); });
    });
}

std::vector<std::string_view> names_in(KeyTables tables) {
    std::vector<std::string_view> names;
    for (const auto table : tables)
        for (const KeyRow& row : table)
            if (!row.key.ends_with('*')) names.push_back(row.key);
    return names;
}

}  // namespace vramfit::trainers
