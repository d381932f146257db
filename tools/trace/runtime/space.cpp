// Hands out addresses and counts bytes.
#include "space.hpp"

#include <sys/mman.h>

#include <algorithm>

#include "card.hpp"

namespace nodevice {

namespace {

constexpr std::size_t kArena = std::size_t{1} << 44;

std::size_t in_pages(std::size_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }

/// Small copies and collectives may carry contents: pages that are touched are there.
void* map(std::size_t bytes) {
    void* const at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return at == MAP_FAILED ? nullptr : at;
}

}  // namespace

// The caching allocator prefers the lower of two equal free blocks, so the order of addresses decides where blocks go.
// As on a device: up to one page at rising addresses, more at falling ones.
void* Space::address_for(std::size_t bytes) {
    if (high_ == 0) {
        const auto arena = reinterpret_cast<std::uintptr_t>(map(kArena));
        if (arena == 0) return nullptr;
        low_ = in_pages(arena);
        high_ = low_ + kArena - kPage;
    }
    if (high_ - low_ < bytes) return nullptr;
    if (bytes > kPage) return reinterpret_cast<void*>(high_ -= bytes);
    low_ += bytes;
    return reinterpret_cast<void*>(low_ - bytes);
}

void* Space::take(std::size_t bytes, Kind kind) {
    if (bytes == 0) return nullptr;
    const std::lock_guard guard(lock_);
    const std::size_t size = in_pages(bytes);
    if (kind == Kind::device && taken_ + size > card().free) return nullptr;
    void* const at = address_for(size);
    if (!at) return nullptr;
    const bool is_managed = kind == Kind::managed;
    ranges_[reinterpret_cast<std::uintptr_t>(at)] = {is_managed ? bytes : size, kind};
    (is_managed ? managed_ : taken_) += is_managed ? bytes : size;
    managed_peak_ = std::max(managed_peak_, managed_);
    return at;
}

void Space::give(void* at) {
    const std::lock_guard guard(lock_);
    const auto found = ranges_.find(reinterpret_cast<std::uintptr_t>(at));
    if (found == ranges_.end()) return;
    const auto [bytes, kind] = found->second;
    (kind == Kind::managed ? managed_ : taken_) -= bytes;
    madvise(at, in_pages(bytes), MADV_DONTNEED);  // what the host wrote into managed memory
    ranges_.erase(found);
}

void* Space::reserve(std::size_t bytes) {
    const std::lock_guard guard(lock_);
    void* const at = map(bytes);
    if (at) ranges_[reinterpret_cast<std::uintptr_t>(at)] = {bytes, Kind::device};
    return at;
}

void Space::unreserve(void* at, std::size_t bytes) {
    const std::lock_guard guard(lock_);
    ranges_.erase(reinterpret_cast<std::uintptr_t>(at));
    munmap(at, bytes);
}

std::uint64_t Space::create(std::size_t bytes) {
    const std::lock_guard guard(lock_);
    if (taken_ + bytes > card().free) return 0;
    taken_ += bytes;
    pieces_[++last_piece_] = bytes;
    return last_piece_;
}

void Space::release(std::uint64_t handle) {
    const std::lock_guard guard(lock_);
    const auto found = pieces_.find(handle);
    if (found == pieces_.end()) return;
    taken_ -= found->second;
    pieces_.erase(found);
}

Space::Kind Space::kind_of(const void* at) {
    const std::lock_guard guard(lock_);
    const auto address = reinterpret_cast<std::uintptr_t>(at);
    auto found = ranges_.upper_bound(address);
    if (found == ranges_.begin()) return Kind::host;
    --found;
    return address - found->first < found->second.bytes ? found->second.kind : Kind::host;
}

std::size_t Space::taken() {
    const std::lock_guard guard(lock_);
    return taken_;
}

std::size_t Space::managed() {
    const std::lock_guard guard(lock_);
    return managed_;
}

std::size_t Space::managed_peak(bool restart) {
    const std::lock_guard guard(lock_);
    const std::size_t peak = managed_peak_;
    if (restart) managed_peak_ = managed_;
    return peak;
}

Space& space() {
    static Space* const it = new Space;
    return *it;
}

}  // namespace nodevice
