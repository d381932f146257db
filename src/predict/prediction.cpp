// The names of verdicts.
#include "vramfit/predict/prediction.hpp"

namespace vramfit {

const char* name_of(Verdict verdict) {
    switch (verdict) {
        case Verdict::fits: return "fits";
        case Verdict::tight: return "tight";
        case Verdict::too_large: return "too_large";
        case Verdict::unknown: return "unknown";
        case Verdict::not_asked: return "not_asked";
    }
    return "unknown";
}

}  // namespace vramfit
