// The public face of the caching allocator.
#include "vramfit/alloc/caching_allocator.hpp"

#include <algorithm>
#include <utility>

#include "state.hpp"

namespace vramfit {

using namespace allocator;

struct CachingAllocator::Impl {
    State state;
};

namespace {

constexpr std::int64_t kUnlimited = std::int64_t{1} << 60;

// setMemoryFraction, c10/cuda/CUDACachingAllocator.cpp (2.6.0): the product is a double, cut off.
void limit_to(State& state, double fraction) {
    state.limited = true;
    state.limit = static_cast<std::int64_t>(fraction * static_cast<double>(state.device_total));
}

// A memory fraction in the settings (2.10, pull request 161035) is no limit at 1.0; one that was set by call stays.
void adopt(State& state, const AllocatorSettings& settings) {
    state.settings = settings;
    if (settings.memory_fraction < 1.0) limit_to(state, settings.memory_fraction);
}

BlockState state_of(const Block& block) {
    if (block.allocated) return BlockState::allocated;
    if (block.pending > 0) return BlockState::pending_free;
    return block.mapped ? BlockState::inactive : BlockState::unmapped;
}

SegmentView view_of(const State& state, BlockId first) {
    const Block& head = state.blocks[first];
    const Lane& lane = state.lanes[head.lane];
    SegmentView view{head.address, 0, 0, lane.stream, lane.small, head.is_expandable(), {}};
    for (BlockId id = first; id != kNoBlock; id = state.blocks[id].next) {
        const Block& block = state.blocks[id];
        view.size += block.size;
        if (block.mapped) view.reserved += block.size;
        view.blocks.push_back({block.address, block.size, block.requested, state_of(block)});
    }
    return view;
}

}  // namespace

CachingAllocator::CachingAllocator(const AllocatorOptions& options) : impl_(std::make_unique<Impl>()) {
    State& state = impl_->state;
    std::optional<std::int64_t> capacity;
    if (options.capacity) capacity = options.capacity->count;
    state.device = DeviceMemory(capacity, options.addresses);
    state.device_total = options.device_total ? options.device_total->count : capacity.value_or(kUnlimited);
    state.ties = options.ties;
    adopt(state, options.settings);
    if (options.memory_fraction) limit_to(state, *options.memory_fraction);
}

CachingAllocator::CachingAllocator(const CachingAllocator& other) : impl_(std::make_unique<Impl>(*other.impl_)) {}
CachingAllocator::CachingAllocator(CachingAllocator&&) noexcept = default;
CachingAllocator& CachingAllocator::operator=(CachingAllocator other) noexcept {
    std::swap(impl_, other.impl_);
    return *this;
}
CachingAllocator::~CachingAllocator() = default;

AllocationResult CachingAllocator::malloc(std::int64_t bytes, std::int32_t stream) {
    return allocate(impl_->state, bytes, stream);
}

void CachingAllocator::free(BlockId block) {
    if (block != kNoBlock) release_block(impl_->state, block);
}

void CachingAllocator::record_stream(BlockId block, std::int32_t stream) {
    if (block != kNoBlock) record_use(impl_->state, block, stream);
}

void CachingAllocator::finish_stream(std::int32_t stream) { finish_events(impl_->state, stream); }

void CachingAllocator::finish_stream(std::int32_t stream, std::size_t frees) {
    finish_events(impl_->state, stream, frees);
}

void CachingAllocator::empty_cache() { release_all(impl_->state); }

void CachingAllocator::reset_peaks() { vramfit::reset_peaks(impl_->state.statistics); }

void CachingAllocator::change_settings(const AllocatorSettings& settings) { adopt(impl_->state, settings); }

const AllocatorStatistics& CachingAllocator::statistics() const { return impl_->state.statistics; }

std::vector<SegmentView> CachingAllocator::snapshot() const {
    const State& state = impl_->state;
    std::vector<SegmentView> segments;
    for (BlockId id = 0; id < state.blocks.size(); ++id)
        if (state.blocks[id].lane != kNone && state.blocks[id].prev == kNoBlock) segments.push_back(view_of(state, id));
    std::sort(segments.begin(), segments.end(),
              [](const SegmentView& a, const SegmentView& b) { return a.address < b.address; });
    return segments;
}

std::int64_t CachingAllocator::address_of(BlockId block) const {
    return block == kNoBlock ? -1 : impl_->state.blocks[block].address;
}

}  // namespace vramfit
