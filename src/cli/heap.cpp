// glibc's malloc on Linux: mallopt(3), mallinfo2(3), madvise(2).
#include "cli/heap.hpp"

#include <cstdint>
#include <cstdlib>

// __GLIBC_PREREQ is glibc's own, so it stands alone.
#ifdef __GLIBC__
#if __GLIBC_PREREQ(2, 33)
#define VRAMFIT_GLIBC_HEAP
#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>
#endif
#endif

namespace vramfit::cli {

#ifdef VRAMFIT_GLIBC_HEAP

namespace {

constexpr int kMiB = 1 << 20;
constexpr int kFirst = 16 * kMiB;  ///< more than a prediction of 8B parameters takes; untouched, it costs nothing
constexpr std::uintptr_t kPage = 4096;
constexpr std::uintptr_t kHugePage = 2 * kMiB;
constexpr std::uintptr_t kHeaders = 64;  ///< of the block that is skipped and of what follows it

std::uintptr_t end_of_heap() { return reinterpret_cast<std::uintptr_t>(sbrk(0)); }

}  // namespace

void prepare_heap() {
    mallopt(M_MMAP_THRESHOLD, 32 * kMiB);  // the most that malloc.c allows
    mallopt(M_TRIM_THRESHOLD, 256 * kMiB);
    mallopt(M_TOP_PAD, kFirst);
    // A block that is never written fills the heap up to the first huge page, and makes it grow by the padding. A huge
    // page that has been written to before madvise knows of it would stay in small ones.
    const std::uintptr_t before = end_of_heap();
    const std::uintptr_t first = (before + kPage) / kHugePage * kHugePage + kHugePage;
    const std::uintptr_t used = before - mallinfo2().keepcost;
    [[maybe_unused]] static void* volatile skipped = std::malloc(first - used - kHeaders);
    const std::uintptr_t end = end_of_heap();
    if (end > first) madvise(reinterpret_cast<void*>(first), end - first, MADV_HUGEPAGE);  // refused: small pages
    mallopt(M_TOP_PAD, kMiB);
}

#else

void prepare_heap() {}

#endif

}  // namespace vramfit::cli
