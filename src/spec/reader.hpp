// Strict reading of one JSON object: each value has the type that is asked for, or is a problem with its place.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "spec/json_value.hpp"
#include "spec/problems.hpp"
#include "vramfit/spec/named.hpp"

namespace vramfit {

/// Whether null stands for an absent key or is a problem.
enum class Null : std::uint8_t { refused, absent };

struct IntegerRange {
    std::int64_t low = 0;
    std::int64_t high = std::numeric_limits<std::int64_t>::max();
};

struct RealRange {
    double low = 0;
    double high = std::numeric_limits<double>::max();
};

/// Every `read` returns nothing if the key is absent, and reports and returns nothing if its value is wrong.
class ObjectReader {
  public:
    /// Reports if `value` is no object; then every key is absent.
    ObjectReader(const JsonValue& value, std::string path, Problems& problems);

    std::optional<std::int64_t> integer(std::string_view key, IntegerRange range = {}, Null null = Null::refused);
    std::optional<double> real(std::string_view key, RealRange range = {}, Null null = Null::refused);
    std::optional<bool> boolean(std::string_view key, Null null = Null::refused);
    std::optional<std::string> text(std::string_view key, Null null = Null::refused);
    std::optional<std::vector<std::string>> texts(std::string_view key, Null null = Null::refused);
    std::optional<std::vector<std::int64_t>> integers(std::string_view key, IntegerRange range = {},
                                                      Null null = Null::refused);
    /// A reader of the object at that key.
    std::optional<ObjectReader> object(std::string_view key, Null null = Null::refused);
    /// The value itself, for what the others do not cover; null is a value.
    const JsonValue* value(std::string_view key);

    /// One of a list of words.
    template <class E>
    std::optional<E> choice(std::string_view key, std::span<const Named<E>> choices, Null null = Null::refused) {
        const auto word = text(key, null);
        if (!word) return std::nullopt;
        std::vector<std::string_view> names;
        for (const auto& choice : choices) {
            if (choice.name == *word) return choice.value;
            names.push_back(choice.name);
        }
        refuse_word(key, *word, names);
        return std::nullopt;
    }

    bool has(std::string_view key) const { return object_->find(key) != nullptr; }
    /// Reads into `target` what `read` gave, if it gave something.
    template <class T, class U>
    static void set(T& target, const std::optional<U>& read) {
        if (read) target = *read;
    }

    /// Reports every key that no call asked for, with the nearest of those that were.
    void refuse_unknown();
    /// Reports only those keys that are an absent key with a wrong letter: for files that hold many keys of others.
    void refuse_misspelt();
    /// The key will not be reported as unknown.
    void skip(std::string_view key) { asked_.push_back(key); }

    std::string path(std::string_view key) const;
    Problems& problems() { return *problems_; }
    const JsonValue& whole() const { return *object_; }

  private:
    const JsonValue* find(std::string_view key, Null null);
    void refuse_type(const std::string& path, const JsonValue& value, std::string_view wanted);
    void refuse_word(std::string_view key, const std::string& word, const std::vector<std::string_view>& names);
    std::optional<std::int64_t> integer_of(const JsonValue& value, const std::string& path, IntegerRange range);

    const JsonValue* object_;
    std::string path_;
    Problems* problems_;
    std::vector<std::string_view> asked_;  // literals of the callers
};

}  // namespace vramfit
