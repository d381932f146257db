// Reads lists and ranges.
#include "cli/flags/axes.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/split.hpp"
#include "cli/flags/values.hpp"
#include "vramfit/base/error.hpp"

namespace vramfit::cli {

namespace {

constexpr std::int64_t kLongest = 100'000;
constexpr const char* kRangeHint = "ranges rise: 8..256:x2, 512..4096:+512";

void add_range(std::string_view text, const std::string& where, std::vector<std::int64_t>& out) {
    const std::size_t dots = text.find("..");
    const std::size_t colon = text.find(':', dots);
    if (dots == 0 || dots + 2 == std::min(colon, text.size()))
        throw Error(ErrorKind::invalid, where,
                    fmt::format("'{}' has no {}", text, dots == 0 ? "first value" : "last value"), kRangeHint);
    const std::int64_t first = integer_from(text.substr(0, dots), where);
    const std::int64_t last =
        integer_from(text.substr(dots + 2, colon == text.npos ? text.npos : colon - dots - 2), where);
    std::string_view step = colon == text.npos ? "+1" : text.substr(colon + 1);
    const bool times = step.starts_with('x');
    if (!times && !step.starts_with('+'))
        throw Error(ErrorKind::invalid, where, fmt::format("'{}' is no step", step), "write :x2 or :+512");
    const std::int64_t by = integer_from(step.substr(1), where);
    if (first < 1 || last < first || by < (times ? 2 : 1))
        throw Error(ErrorKind::invalid, where, fmt::format("'{}' is no rising range", text), kRangeHint);
    for (std::int64_t v = first; v <= last; v = times ? v * by : v + by) {
        out.push_back(v);
        if (static_cast<std::int64_t>(out.size()) > kLongest)
            throw Error(ErrorKind::invalid, where, fmt::format("'{}' has too many values", text),
                        fmt::format("at most {}", kLongest));
        if (times && v > last / by) break;
    }
}

/// What stands between the commas; nothing is no item.
std::vector<std::string> items_of(std::string_view value, const std::string& where) {
    std::vector<std::string> out;
    for (std::string_view item : split(value, ',')) {
        while (item.starts_with(' ')) item.remove_prefix(1);
        while (item.ends_with(' ')) item.remove_suffix(1);
        if (item.empty())
            throw Error(ErrorKind::invalid, where, fmt::format("'{}' is no list: an item is empty", value),
                        "items are divided by single commas");
        out.emplace_back(item);
    }
    return out;
}

}  // namespace

std::vector<std::int64_t> axis_from(std::string_view value, const std::string& where) {
    std::vector<std::int64_t> out;
    for (const std::string& word : items_of(value, where)) {
        if (word.find("..") != word.npos)
            add_range(word, where, out);
        else
            out.push_back(integer_from(word, where));
    }
    return out;
}

std::string each_set_of(std::string_view modules, const std::string& where) {
    constexpr std::size_t kMost = 12;
    const std::vector<std::string> names = items_of(modules, where);
    if (names.size() > kMost)
        throw Error(ErrorKind::invalid, where, fmt::format("{} modules have too many sets", names.size()),
                    fmt::format("at most {}; groups (attention, mlp) count as one", kMost));
    for (const std::string& name : names)
        if (name.find('+') != name.npos)
            throw Error(ErrorKind::invalid, where, fmt::format("'{}' is a set", name),
                        "give modules or groups, divided by commas");
    std::vector<std::vector<std::string>> sets;
    for (std::size_t set = 1; set < std::size_t{1} << names.size(); ++set) {
        std::vector<std::string>& members = sets.emplace_back();
        for (std::size_t i = 0; i < names.size(); ++i)
            if ((set >> i) & 1u) members.push_back(names[i]);
    }
    std::stable_sort(sets.begin(), sets.end(), [](const auto& a, const auto& b) { return a.size() < b.size(); });
    std::vector<std::string> out;
    for (const auto& members : sets) out.push_back(fmt::format("{}", fmt::join(members, "+")));
    return fmt::format("{}", fmt::join(out, ","));
}

std::vector<TargetSet> target_sets_from(std::string_view value, const ModelSpec& model, const std::string& where) {
    std::vector<TargetSet> out;
    for (const std::string& word : items_of(value, where)) out.push_back(target_set(model, word, where));
    return out;
}

}  // namespace vramfit::cli
