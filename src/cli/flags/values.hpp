// Strict readers of flags' values.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "vramfit/base/dtype.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/spec/named.hpp"
#include "vramfit/spec/suggest.hpp"

namespace vramfit::cli {

/// A whole number of at least `low`. Throws Error (invalid).
std::int64_t integer_from(std::string_view value, const std::string& where, std::int64_t low = 1);

/// A finite number of at least 0. Throws Error (invalid).
double number_from(std::string_view value, const std::string& where);

/// true, false; also yes, no, on, off, 1, 0. Throws Error (invalid).
bool boolean_from(std::string_view value, const std::string& where);

/// "a,b c" -> {"a", "b", "c"}. Throws Error (invalid) if nothing is in it.
std::vector<std::string> words_from(std::string_view value, const std::string& where);

/// bfloat16, float16, float32 or a short form of them. Throws Error (invalid).
DType dtype_value_from(std::string_view value, const std::string& where);

/// The word's place in `known`. Throws Error (invalid) with the nearest word.
std::size_t choice_from(std::string_view value, const std::string& where, const std::vector<std::string_view>& known);

/// The value that a word of a table stands for. Throws Error (invalid) with the nearest word.
template <class E, std::size_t N>
E value_from(std::string_view value, const std::string& where, const Named<E> (&table)[N]) {
    std::vector<std::string_view> names;
    for (const Named<E>& row : table) names.push_back(row.name);
    return table[choice_from(value, where, names)].value;
}

}  // namespace vramfit::cli
