// The card that is pretended, and what its architecture says about it.
#pragma once

#include <cstddef>
#include <string>

namespace nodevice {

struct Card {
    std::string name;
    int major = 0;
    int minor = 0;
    int multiprocessors = 0;
    std::size_t total = 0;  ///< bytes, as the driver reports them
    std::size_t free = 0;   ///< bytes free before the process allocates
    std::size_t l2 = 0;     ///< bytes of its L2 cache, which Inductor empties between the trial runs of a kernel

    bool is(int a, int b) const { return major == a && minor == b; }

    /// Shared memory of a multiprocessor, by the compute capability (CUDA C++ programming guide, table of
    /// capabilities).
    std::size_t shared_memory() const;
    /// What one block may have of it if it asks.
    std::size_t shared_memory_of_block() const;
    int threads_of_multiprocessor() const;
    int blocks_of_multiprocessor() const;
    /// The version of the machine code in the library that this card would run, as 10 * major + minor.
    int code_version() const;
};

/// From VRAMFIT_TRACE_CARD: NAME,MAJOR,MINOR,MULTIPROCESSORS,TOTAL,FREE,L2. Ends the process if that cannot be read.
const Card& card();

}  // namespace nodevice
