// Places in a recording's JSON.
#include "spec/network/json_place.hpp"

#include <fmt/format.h>

#include "vramfit/base/error.hpp"

namespace vramfit::network {

namespace {

const JsonValue kNothing;
constexpr std::string_view kRecordAgain = "record the network again (tools/record)";

}  // namespace

std::string Place::path() const {
    if (!around_) return {};
    if (key_.empty()) return fmt::format("{}/{}", around_->path(), index_);
    return fmt::format("{}/{}", around_->path(), key_);
}

Place Place::member(std::string_view key) const {
    const JsonValue* found = value_->find(key);
    return {found ? *found : kNothing, *this, key, 0};
}

Place Place::at(std::size_t i) const {
    if (i >= size()) refuse(fmt::format("{} elements where more are wanted", size()));
    return {value_->items[i], *this, {}, i};
}

const Place& Place::object() const {
    if (!is(Kind::object)) refuse(fmt::format("an object is wanted, not {}", value_->shown()));
    return *this;
}

const Place& Place::list(std::size_t least, std::size_t most) const {
    if (!is(Kind::list)) refuse(fmt::format("a list is wanted, not {}", value_->shown()));
    if (size() < least || size() > most)
        refuse(least == most    ? fmt::format("{} elements, not {}", size(), least)
               : size() < least ? fmt::format("{} elements, fewer than {}", size(), least)
                                : fmt::format("{} elements, more than {}", size(), most));
    return *this;
}

const std::string& Place::text() const {
    if (!is(Kind::text)) refuse(fmt::format("a text is wanted, not {}", value_->shown()));
    return value_->text;
}

bool Place::boolean() const {
    if (!is(Kind::boolean)) refuse(fmt::format("true or false is wanted, not {}", value_->shown()));
    return value_->boolean;
}

std::int64_t Place::integer(std::int64_t low, std::int64_t high) const {
    if (!is(Kind::integer)) refuse(fmt::format("an integer is wanted, not {}", value_->shown()));
    if (value_->integer < low || value_->integer > high)
        refuse(fmt::format("{} is not between {} and {}", value_->integer, low, high));
    return value_->integer;
}

std::uint32_t Place::number(std::size_t below) const {
    return static_cast<std::uint32_t>(integer(0, static_cast<std::int64_t>(below) - 1));
}

void Place::refuse(std::string what, std::string hint) const {
    const std::string place = path();
    throw Error(ErrorKind::invalid, place.empty() ? std::string(file_) : fmt::format("{} {}", file_, place),
                std::move(what), hint.empty() ? std::string(kRecordAgain) : std::move(hint));
}

std::vector<std::string> texts_of(const Place& list) {
    std::vector<std::string> all;
    for (std::size_t i = 0; i < list.list().size(); ++i) all.push_back(list.at(i).text());
    return all;
}

}  // namespace vramfit::network
