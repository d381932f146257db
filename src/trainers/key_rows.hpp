// Looking keys up in the tables of a trainer's keys.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "trainers/reader.hpp"

namespace vramfit::trainers {

using KeyTables = std::span<const std::span<const KeyRow>>;

/// The first row of the key, or of all keys below or anywhere; null: no table has it.
const KeyRow* find_row(KeyTables tables, std::string_view key);

/// Whether rows stand below the key: "a.b" below "a".
bool has_rows_below(KeyTables tables, std::string_view key);

/// Keys that name one thing.
std::vector<std::string_view> names_in(KeyTables tables);

}  // namespace vramfit::trainers
