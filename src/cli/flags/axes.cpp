// Reads lists and ranges.
#include "cli/flags/axes.hpp"

#include <fmt/format.h>

#include "cli/flags/values.hpp"
#include "vramfit/base/error.hpp"

namespace vramfit::cli {

namespace {

constexpr std::int64_t kLongest = 100'000;

void add_range(std::string_view text, const std::string& where, std::vector<std::int64_t>& out) {
    const std::size_t dots = text.find("..");
    const std::size_t colon = text.find(':', dots);
    const std::int64_t first = integer_from(text.substr(0, dots), where);
    const std::int64_t last =
        integer_from(text.substr(dots + 2, colon == text.npos ? text.npos : colon - dots - 2), where);
    std::string_view step = colon == text.npos ? "+1" : text.substr(colon + 1);
    const bool times = step.starts_with('x');
    if (!times && !step.starts_with('+'))
        throw Error(ErrorKind::invalid, where, fmt::format("\"{}\" is no step", step), "write :x2 or :+512");
    const std::int64_t by = integer_from(step.substr(1), where);
    if (first < 1 || last < first || by < (times ? 2 : 1))
        throw Error(ErrorKind::invalid, where, fmt::format("\"{}\" is no rising range", text),
                    "8..256:x2, 512..4096:+512");
    for (std::int64_t v = first; v <= last; v = times ? v * by : v + by) {
        out.push_back(v);
        if (static_cast<std::int64_t>(out.size()) > kLongest)
            throw Error(ErrorKind::invalid, where, fmt::format("\"{}\" has too many values", text));
        if (times && v > last / by) break;
    }
}

}  // namespace

std::vector<std::int64_t> axis_from(std::string_view value, const std::string& where) {
    std::vector<std::int64_t> out;
    for (const std::string& word : words_from(value, where)) {
        if (word.find("..") != word.npos)
            add_range(word, where, out);
        else
            out.push_back(integer_from(word, where));
    }
    return out;
}

std::vector<TargetSet> target_sets_from(std::string_view value, const std::string& where) {
    std::vector<TargetSet> out;
    for (const std::string& word : words_from(value, where)) {
        TargetSet set{word, target_group(word)};
        if (set.modules.empty())
            for (std::size_t begin = 0; begin <= word.size();) {
                const std::size_t end = std::min(word.find('+', begin), word.size());
                const std::string part = word.substr(begin, end - begin);
                if (part.empty())
                    throw Error(ErrorKind::invalid, where, fmt::format("\"{}\" has an empty name", word),
                                "attention+mlp, or module names: q_proj+v_proj");
                set.modules.push_back(part);
                begin = end + 1;
            }
        out.push_back(std::move(set));
    }
    return out;
}

}  // namespace vramfit::cli
