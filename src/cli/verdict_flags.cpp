// What a verdict means for the exit status, and the flag that takes a tight one.
#include "cli/verdict_flags.hpp"

#include <CLI/CLI.hpp>

#include "cli/help.hpp"

namespace vramfit::cli {

void VerdictFlags::add(CLI::App& app) {
    app.add_flag("--accept-tight", accept_tight,
                 help_text("Exit with 0 where it is tight: it fits unless what is not known turns out badly"))
        ->group("Output");
}

ExitStatus VerdictFlags::status_of(Verdict verdict) const {
    switch (verdict) {
        case Verdict::fits:
        case Verdict::not_asked: return kFits;
        case Verdict::tight: return accept_tight ? kFits : kTooLarge;
        case Verdict::too_large: return kTooLarge;
        case Verdict::unknown: return kUnsupported;
    }
    return kUnsupported;
}

}  // namespace vramfit::cli
