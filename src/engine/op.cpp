// The table behind the operators' names.
#include "engine/op.hpp"

#include <array>

namespace vramfit::engine {

namespace {
constexpr std::array kNames{
#define VRAMFIT_OP_NAME(id, text) text,
    VRAMFIT_OPS(VRAMFIT_OP_NAME)
#undef VRAMFIT_OP_NAME
};
}  // namespace

const char* name_of(Op op) { return kNames[static_cast<std::size_t>(op)]; }
int op_count() { return static_cast<int>(kNames.size()); }

}  // namespace vramfit::engine
