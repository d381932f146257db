// Looks a model family up.
#include <fmt/format.h>

#include "model/layers/family.hpp"
#include "vramfit/base/error.hpp"

namespace vramfit::model {

const Family& family_of(std::string_view model_type) {
    for (const Family* f : all_families())
        if (model_type == f->model_type) return *f;
    throw Error(ErrorKind::unsupported, "model_type", fmt::format("\"{}\" is not supported", model_type),
                "see model_families()");
}

}  // namespace vramfit::model
