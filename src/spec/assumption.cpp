// The sums and the names of what is assumed.
#include "vramfit/spec/assumption.hpp"

#include <algorithm>

namespace vramfit {

const char* name_of(AssumptionKind kind) {
    switch (kind) {
        case AssumptionKind::total: return "total";
        case AssumptionKind::context: return "context";
        case AssumptionKind::communicator: return "communicator";
        case AssumptionKind::timing: return "timing";
        case AssumptionKind::ddp_buckets: return "ddp_buckets";
        case AssumptionKind::load_order: return "load_order";
        case AssumptionKind::workspace: return "workspace";
        case AssumptionKind::engine: return "engine";
    }
    return "unknown";
}

Bytes at_worst(const Assumptions& assumptions) {
    Bytes less;
    for (const Assumption& one : assumptions) less += one.most - one.assumed;
    return less;
}

Bytes at_best(const Assumptions& assumptions) {
    Bytes more;
    for (const Assumption& one : assumptions) more += one.assumed - one.least;
    return more;
}

const Assumption* widest(const Assumptions& assumptions) {
    const auto found =
        std::max_element(assumptions.begin(), assumptions.end(),
                         [](const Assumption& a, const Assumption& b) { return a.most - a.least < b.most - b.least; });
    return found == assumptions.end() ? nullptr : &*found;
}

}  // namespace vramfit
