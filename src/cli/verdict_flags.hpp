// What a verdict means for the exit status, and the flag that takes a tight one.
#pragma once

#include "cli/errors.hpp"
#include "vramfit/predict/prediction.hpp"

namespace CLI {
class App;
}

namespace vramfit::cli {

/// --accept-tight.
struct VerdictFlags {
    bool accept_tight = false;

    void add(CLI::App& app);
    ExitStatus status_of(Verdict verdict) const;
};

}  // namespace vramfit::cli
