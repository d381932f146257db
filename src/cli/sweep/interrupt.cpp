// The handler of SIGINT: a counter.
#include "cli/sweep/interrupt.hpp"

#include <csignal>

namespace vramfit::cli {

namespace {

volatile std::sig_atomic_t interrupts = 0;

void count_interrupt(int signal) {
    interrupts = interrupts + 1;
    if (interrupts >= 3) std::signal(signal, SIG_DFL);
}

}  // namespace

Interrupt::Interrupt() : before_(std::signal(SIGINT, count_interrupt)) {
    interrupts = 0;
    if (before_ == SIG_IGN) std::signal(SIGINT, SIG_IGN);  // as a job in the background wants it
}

Interrupt::~Interrupt() { std::signal(SIGINT, before_); }

bool Interrupt::asked() {
    const int now = interrupts;
    if (now == seen_) return false;
    seen_ = now;
    return true;
}

}  // namespace vramfit::cli
