// Answers to reads of the host, and the entry points by which the tracer sets them and asks for managed memory.
#include "answers.hpp"

#include <atomic>
#include <cstring>

#include "export.hpp"
#include "space.hpp"

namespace nodevice {

namespace {

std::atomic<unsigned char> told_byte{1};
std::atomic<int> told_count{-1};
std::atomic<bool> contents{false};

constexpr std::size_t kSmall = std::size_t{1} << 20;

}  // namespace

void answer(void* to, std::size_t bytes) {
    const int count = told_count;
    std::memset(to, 0, bytes);
    if (bytes == 1) std::memset(to, told_byte, 1);
    if (bytes == sizeof count && count >= 0) std::memcpy(to, &count, sizeof count);
}

bool carries(std::size_t bytes) { return contents && bytes <= kSmall; }

}  // namespace nodevice

/// The answer to reads of one byte: what all() and any() of a tensor give.
ENTRY void vramfit_tell_byte(int value) { nodevice::told_byte = static_cast<unsigned char>(value); }
/// The answer to reads of four bytes (how many elements nonzero() finds); below 0: zero again.
ENTRY void vramfit_tell_count(int value) { nodevice::told_count = value; }
ENTRY unsigned long long vramfit_managed() { return nodevice::space().managed(); }
ENTRY unsigned long long vramfit_managed_peak(int restart) { return nodevice::space().managed_peak(restart != 0); }
/// Whether small copies and collectives carry contents from now on.
ENTRY void vramfit_tell_contents(int on) { nodevice::contents = on != 0; }
