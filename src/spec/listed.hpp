// Lists of words.
#pragma once

#include <algorithm>
#include <iterator>
#include <string_view>

namespace vramfit {

template <class Words>
bool is_listed(const Words& words, std::string_view word) {
    return std::find(std::begin(words), std::end(words), word) != std::end(words);
}

}  // namespace vramfit
