// The lookup of a format by its name.
#include "vramfit/report/format.hpp"

namespace vramfit {

const Format* find_format(std::string_view name) {
    for (const Format* format : all_formats()) {
        if (format->name == name) return format;
    }
    return nullptr;
}

}  // namespace vramfit
