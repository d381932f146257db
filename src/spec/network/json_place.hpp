// A value of a JSON document with its place in it: asks for what it has to be, and says what is wrong.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "spec/json_value.hpp"

namespace vramfit::network {

/// Points into the document and to the place around it; both outlive it.
class Place {
  public:
    using Kind = JsonValue::Kind;

    Place(const JsonValue& value, std::string_view file) : value_(&value), file_(file) {}

    const JsonValue& json() const { return *value_; }
    bool is(Kind kind) const { return value_->kind == kind; }
    bool is_null() const { return is(Kind::null); }
    std::size_t size() const { return value_->items.size(); }
    std::string path() const;
    std::string_view file() const { return file_; }

    /// The member of an object; a null where there is none.
    Place member(std::string_view key) const;
    bool has(std::string_view key) const { return value_->find(key) != nullptr; }
    /// The element of a list, which has to be there.
    Place at(std::size_t i) const;

    const Place& object() const;
    const Place& list(std::size_t least = 0, std::size_t most = std::numeric_limits<std::size_t>::max()) const;
    const std::string& text() const;
    bool boolean() const;
    std::int64_t integer(std::int64_t low, std::int64_t high) const;
    std::uint32_t number(std::size_t below) const;  ///< a place in a list of that many

    /// Throws Error (invalid) about this place.
    [[noreturn]] void refuse(std::string what, std::string hint = {}) const;

  private:
    Place(const JsonValue& value, const Place& around, std::string_view key, std::size_t index)
        : value_(&value), file_(around.file_), around_(&around), key_(key), index_(index) {}

    const JsonValue* value_;
    std::string_view file_;
    const Place* around_ = nullptr;
    std::string_view key_;  ///< empty: an element
    std::size_t index_ = 0;
};

/// The texts of a list.
std::vector<std::string> texts_of(const Place& list);

}  // namespace vramfit::network
