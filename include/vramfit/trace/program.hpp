// The recorded program of a run: allocations and frees in order, cut into windows. It knows no allocator.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "vramfit/base/bytes.hpp"
#include "vramfit/trace/category.hpp"
#include "vramfit/trace/phase.hpp"

namespace vramfit {

enum class EventKind : std::uint8_t {
    alloc,          ///< allocation `id` begins
    free,           ///< allocation `id` ends
    empty_cache,    ///< torch.cuda.empty_cache()
    managed_alloc,  ///< allocation `id` begins in CUDA managed memory, outside of the caching allocator
    managed_free,   ///< and ends
    record_stream,  ///< Tensor.record_stream: allocation `id` is used on `stream` too, its free waits for that work
    stream_done,    ///< the first `id` frees that waited for `stream` need wait no longer
    warm_up,        ///< one of Program::warm_ups: a block is taken and given back
};

struct Event {
    EventKind kind = EventKind::alloc;
    std::uint32_t id = 0;     ///< index into Program::allocations; into warm_ups for warm_up; 0 for empty_cache
    std::uint8_t stream = 0;  ///< of record_stream and stream_done
};

/// How many streams and names of modules there may be, in bits.
inline constexpr unsigned kStreamBits = 4, kModuleBits = 12;

/// One allocation. `op` names the operator (index into Program::ops), `module` what it belongs to (into
/// Program::modules).
struct Allocation {
    std::int64_t bytes = 0;
    Category category = Category::unattributed;
    std::uint16_t op = 0;
    std::int16_t layer = -1;                 ///< decoder layer that it belongs to, or -1
    std::uint16_t stream : kStreamBits = 0;  ///< whose pool it is taken from; 0: the stream that computes
    std::uint16_t module : kModuleBits = 0;  ///< inside of the layer, or of the network where there is none; 0: none

    /// Numbers that have as many bits at most.
    void take_from(unsigned of_stream) { stream = of_stream & ((1u << kStreamBits) - 1); }
    void belong_to(std::int16_t of_layer, unsigned of_module) {
        layer = of_layer;
        module = of_module & ((1u << kModuleBits) - 1);
    }
};

/// Events from `first_event` up to the next window's `first_event` belong to this window.
struct Window {
    Phase phase;
    std::size_t first_event = 0;
};

/// A named instant between two events ("after_load", "resident", "step1.after_forward", ...).
struct Mark {
    std::string name;
    std::size_t before_event = 0;  ///< the instant just before this event
};

/// Marks where a library asks how much memory is free, for what it does next.
inline constexpr std::string_view kAsksForLoss = "asks.loss", kAsksForSecondBuffer = "asks.second_buffer";
inline bool asks_for_memory(std::string_view mark) { return mark.starts_with("asks."); }

/// Every size-dependent decision, in order: equal signatures mean equal event sequences with other sizes.
struct Signature {
    std::uint64_t hash = 1469598103934665603ull;  ///< FNV-1a over the decisions
    std::int64_t decisions = 0;

    friend bool operator==(const Signature&, const Signature&) = default;
};

/// What the collectives of the last optimizer step work on, in bytes of one process: counted where a method sends
/// activations (tensor parallelism).
struct Collectives {
    std::int64_t all_reduced = 0;
    std::int64_t all_gathered = 0;  ///< the whole
};

/// The block that a second loading of weights takes for all of them, before they come: less what is reserved and
/// unused by then, which only the allocator knows. Never more than what comes next.
struct WarmUp {
    std::int64_t bytes = 0;
    std::int64_t most = 0;  ///< on that card
};

struct Program {
    std::vector<Event> events;
    std::vector<Allocation> allocations;  ///< by id, in order of their alloc events
    std::vector<Window> windows;          ///< in order; the first is PhaseKind::start at event 0
    std::vector<Mark> marks;
    std::vector<std::string> ops;      ///< names of operators
    std::vector<std::string> modules;  ///< "mlp.down_proj", "lm_head", "layers.0..layers.3"; the first is empty
    Signature signature;
    std::int64_t trainable_parameters = 0;
    std::int64_t total_parameters = 0;
    Collectives collectives;
    std::vector<WarmUp> warm_ups;  ///< of the events of that kind
};

/// The module that an allocation belongs to: "layers.31.mlp.down_proj", "lm_head"; "layers.0..layers.3" of what several
/// layers share; empty: none.
std::string module_of(const Program& program, const Allocation& allocation);

/// Throws std::logic_error if a free has no live alloc, an id is allocated twice, a size is negative,
/// or windows and marks are out of order. Used by tests and debug builds.
void check(const Program& program);

}  // namespace vramfit
