// The plain loop.
#include <stdexcept>

#include "model/loops.hpp"

namespace vramfit::model {

void run_plain(const Run&, Network&) { throw std::logic_error("not written yet"); }

}  // namespace vramfit::model
