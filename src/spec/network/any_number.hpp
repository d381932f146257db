// Names that stand for those of all layers, as plans and checkpoints have them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace vramfit::network {

/// A dotted name with * for each part that is a number, and those numbers.
struct AnyNumber {
    std::string name;
    std::vector<std::string_view> numbers;
};

AnyNumber any_number(std::string_view name);

}  // namespace vramfit::network
