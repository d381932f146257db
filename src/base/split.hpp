// Lists in one text: what stands between separators.
#pragma once

#include <algorithm>
#include <string_view>
#include <vector>

namespace vramfit {

/// "a,,b" -> {"a", "", "b"}; "" -> {""}: what empty parts mean is the caller's word. The parts point into `text`.
inline std::vector<std::string_view> split(std::string_view text, char separator) {
    std::vector<std::string_view> parts;
    for (std::size_t begin = 0; begin <= text.size();) {
        const std::size_t end = std::min(text.find(separator, begin), text.size());
        parts.push_back(text.substr(begin, end - begin));
        begin = end + 1;
    }
    return parts;
}

}  // namespace vramfit
