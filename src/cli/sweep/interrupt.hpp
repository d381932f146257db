// Ctrl-C as a question: has the user asked to stop?
#pragma once

namespace vramfit::cli {

/// While it lives, SIGINT does not end the program but is counted; the third does. One at a time.
class Interrupt {
  public:
    Interrupt();
    ~Interrupt();
    Interrupt(const Interrupt&) = delete;
    Interrupt& operator=(const Interrupt&) = delete;

    /// Whether there was one since the last call that said so.
    bool asked();

  private:
    void (*before_)(int);
    int seen_ = 0;
};

}  // namespace vramfit::cli
