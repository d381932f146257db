// Arguments, sizes and dtypes of a recording.
#include <array>
#include <charconv>
#include <cmath>

#include <fmt/format.h>

#include "spec/network/read_parts.hpp"

namespace vramfit::network {

namespace {

using Kind = Argument::Kind;

Argument of_kind(Kind kind) {
    Argument argument;
    argument.kind = kind;
    return argument;
}

/// What stands behind "!".
DTypeName asked_dtype(const Place& place, std::string_view text) {
    DTypeName name;
    if (text.starts_with('%')) {
        name.of = DTypeName::Of::value;
        name.value = read_reference(place, text);
    } else if (text.starts_with('@')) {
        name.of = DTypeName::Of::parameter;
        name.text = text.substr(1);
    } else if (text == "autocast") {
        name.of = DTypeName::Of::autocast;
    } else if (text != "weights") {
        const auto known = dtype_from(text);
        name.of = known ? DTypeName::Of::name : DTypeName::Of::other;
        name.dtype = known.value_or(DType::float32);
        name.text = text;
    }
    return name;
}

Argument read_formula(const Place& place, std::string_view text) {
    auto formula = parse_formula(text);
    if (!formula) place.refuse(fmt::format("{} is no sum of sizes", place.json().shown()));
    Argument argument = of_kind(Kind::formula);
    argument.formula = std::move(*formula);
    return argument;
}

Argument special_number(const Place& place, std::string_view text) {
    Argument argument = of_kind(Kind::real);
    argument.text = text;
    if (text == "inf")
        argument.real = INFINITY;
    else if (text == "-inf")
        argument.real = -INFINITY;
    else if (text == "nan" || text == "varies")
        argument.real = NAN;
    else
        place.refuse(fmt::format("unknown number {}", place.json().shown()), "known: #inf, #-inf, #nan, #varies");
    return argument;
}

Argument named_thing(const Place& place, std::string_view text) {
    Argument argument;
    const std::string_view rest = text.empty() ? text : text.substr(1);
    switch (text.empty() ? ' ' : text.front()) {
        case '%':
            argument = of_kind(Kind::value);
            argument.value = read_reference(place, text);
            return argument;
        case '@':
            argument = of_kind(Kind::parameter);
            argument.text = rest;
            return argument;
        case '=': return read_formula(place, rest);
        case '?': return of_kind(Kind::unfitted);
        case '#': return special_number(place, rest);
        case '\'':
            argument = of_kind(Kind::text);
            argument.text = rest;
            return argument;
        case '!':
            argument = of_kind(Kind::dtype);
            argument.dtype = asked_dtype(place, rest);
            return argument;
        case '~':
            argument = of_kind(Kind::device);
            argument.boolean = rest == "cuda";
            argument.text = rest;
            if (rest == "cuda" || rest == "cpu" || rest == "meta") return argument;
            break;
        default:
            if (text == "...") return of_kind(Kind::ellipsis);
    }
    place.refuse(fmt::format("unknown argument {}", place.json().shown()),
                 "an argument begins with one of % @ = ! ~ ' # (docs/reference/network.md)");
}

Argument several(const Place& place) {
    Argument argument = of_kind(place.is(Place::Kind::object) ? Kind::object : Kind::list);
    if (argument.is(Kind::object) && place.size() == 1 && place.has("slice")) {
        argument.kind = Kind::slice;
        const Place parts = place.member("slice");
        parts.list(3, 3);
        for (std::size_t i = 0; i < 3; ++i) argument.items.push_back(read_argument(parts.at(i)));
        return argument;
    }
    if (argument.is(Kind::object) && place.size() == 1 && place.has("rounds")) {
        argument.kind = Kind::rounds;
        argument.value = read_reference(place.member("rounds"), place.member("rounds").text());
        return argument;
    }
    argument.keys = place.json().keys;
    argument.items.reserve(place.size());
    for (std::size_t i = 0; i < place.size(); ++i) argument.items.push_back(read_argument(place.at(i)));
    return argument;
}

}  // namespace

Number read_reference(const Place& place, std::string_view text) {
    Number number = 0;
    const auto [end, error] = std::from_chars(text.data() + 1, text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size() || number >= kMostValues)
        place.refuse(fmt::format("{} is no value of a program", place.json().shown()),
                     fmt::format("values are %0 to %{}", kMostValues - 1));
    return number;
}

Argument read_argument(const Place& place) {
    const JsonValue& json = place.json();
    Argument argument;
    switch (json.kind) {
        case Place::Kind::null: break;
        case Place::Kind::boolean:
            argument.kind = Kind::boolean;
            argument.boolean = json.boolean;
            break;
        case Place::Kind::integer:
            argument.kind = Kind::integer;
            argument.integer = json.integer;
            argument.real = json.real;
            break;
        case Place::Kind::real:
            argument.kind = Kind::real;
            argument.real = json.real;
            break;
        case Place::Kind::text: return named_thing(place, json.text);
        case Place::Kind::list:
        case Place::Kind::object: return several(place);
    }
    return argument;
}

DTypeName read_dtype(const Place& place) { return asked_dtype(place, place.text()); }

std::vector<Argument> read_sizes(const Place& place) {
    place.list(0, 64);
    std::vector<Argument> sizes;
    sizes.reserve(place.size());
    for (std::size_t i = 0; i < place.size(); ++i) {
        const Place size = place.at(i);
        Argument argument = read_argument(size);
        if (argument.is(Kind::integer)) size.integer(0, std::int64_t{1} << 60);
        if (!argument.is(Kind::integer) && !argument.is(Kind::formula) && !argument.is(Kind::unfitted))
            size.refuse(fmt::format("a size is wanted, not {}", size.json().shown()));
        sizes.push_back(std::move(argument));
    }
    return sizes;
}

Comparison read_comparison(const Place& place) {
    auto comparison = parse_comparison(place.text());
    if (!comparison) place.refuse(fmt::format("{} compares no sizes", place.json().shown()));
    return std::move(*comparison);
}

}  // namespace vramfit::network
