// Words of files and flags, and the values they stand for.
#pragma once

#include <optional>
#include <span>
#include <string_view>

namespace vramfit {

template <class E>
struct Named {
    std::string_view name;
    E value;
};

/// The first word for a value, or empty text.
template <class E>
constexpr std::string_view name_in(std::span<const Named<E>> table, E value) {
    for (const Named<E>& row : table) {
        if (row.value == value) return row.name;
    }
    return {};
}

/// The value that a word stands for.
template <class E>
constexpr std::optional<E> value_in(std::span<const Named<E>> table, std::string_view name) {
    for (const Named<E>& row : table) {
        if (row.name == name) return row.value;
    }
    return std::nullopt;
}

}  // namespace vramfit
