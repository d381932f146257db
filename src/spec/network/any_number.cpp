// Parts of dotted names that are numbers.
#include "spec/network/any_number.hpp"

#include <algorithm>

namespace vramfit::network {

AnyNumber any_number(std::string_view name) {
    AnyNumber out;
    for (std::size_t at = 0; at <= name.size();) {
        const std::size_t end = std::min(name.find('.', at), name.size());
        const std::string_view part = name.substr(at, end - at);
        const bool number = at > 0 && !part.empty() && part.find_first_not_of("0123456789") == part.npos;
        if (number) out.numbers.push_back(part);
        out.name += number ? "*" : part;
        if (end < name.size()) out.name += '.';
        at = end + 1;
    }
    return out;
}

}  // namespace vramfit::network
