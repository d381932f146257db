// Reads pickles of plain data: numbers, texts, lists, tuples and dictionaries, nothing that would run code.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string_view>
#include <vector>

namespace vramfit::snapshot {

enum class PickleKind : std::uint8_t { none, boolean, integer, real, text, list, dict };

/// A value; a tuple is a list. Texts lie in what was read.
struct PickleValue {
    PickleKind kind = PickleKind::none;
    std::uint32_t size = 0;   ///< of a text
    std::int64_t number = 0;  ///< of a boolean or an integer; of a list or dictionary: which of Pickle::parts
    const char* text = nullptr;
};

/// What was read. A part is the items of a list, or keys and values of a dictionary in turn.
class Pickle {
  public:
    PickleValue root;

    std::string_view text(const PickleValue& value) const {
        return value.kind == PickleKind::text ? std::string_view(value.text, value.size) : std::string_view();
    }
    std::optional<std::int64_t> integer(const PickleValue& value) const {
        return value.kind == PickleKind::integer ? std::optional(value.number) : std::nullopt;
    }
    /// The items of a list; empty for anything else.
    const std::vector<PickleValue>& items(const PickleValue& value) const;
    /// The value of a dictionary's key, the last of several; none where there is no such key, or no dictionary.
    PickleValue at(const PickleValue& dict, std::string_view key) const;

    std::deque<std::vector<PickleValue>> parts;
};

/// How much a pickle may hold; beyond it is an error.
struct PickleLimits {
    std::size_t values = std::size_t{1} << 26;
    std::size_t parts = std::size_t{1} << 24;
};

/// `bytes` must outlive the result. `where` names it in errors. Throws Error (invalid) for what is no pickle, is cut
/// off, or holds more than plain data.
Pickle read_pickle(std::string_view bytes, std::string_view where, const PickleLimits& limits = {});

}  // namespace vramfit::snapshot
