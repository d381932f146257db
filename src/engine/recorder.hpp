// Writes the program down: allocations, frees, windows, marks, size-dependent decisions.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "engine/level_front.hpp"
#include "engine/module.hpp"
#include "engine/op.hpp"
#include "symbolic/size.hpp"
#include "trace/parameter_counts.hpp"
#include "vramfit/trace/program.hpp"
#include "vramfit/trace/summary.hpp"

namespace vramfit::engine {

/// Streams of one process by their use; 0 computes, as the default stream does.
inline constexpr std::size_t kStreams = 6;

/// The name of a size-dependent decision, hashed (FNV-1a) while compiling.
struct Question {
    std::uint64_t hash = 14695981039346656037ull;
    consteval Question(const char* text) {
        for (; *text; ++text) hash = (hash ^ static_cast<unsigned char>(*text)) * 1099511628211ull;
    }
};

/// What is kept of a run: its whole program, its highest moment, the program with the formula of each size, or that
/// and the highest moment as a formula of symbolic sizes.
enum class Keep : std::uint8_t { program, summary, symbolic_program, formula_and_program };

/// A place in what is written.
struct WrittenTo {
    std::size_t events = 0;
    std::size_t allocations = 0;
    std::size_t windows = 0;
    std::size_t marks = 0;
    std::size_t splits = 0;
};

/// A stretch of the program that is written again, in another step or micro batch.
struct Stretch {
    WrittenTo begin, end;
    std::uint32_t before = 0xffffffffu;  ///< an allocation from before it that it frees; kNoId: it frees none
    std::size_t frees_before = 0;        ///< the event in whose place such a one is freed where there is one
    std::vector<std::uint32_t> stay;     ///< allocations of it that are made once
};

/// Where a stretch is written again.
struct Again {
    std::int32_t step = 0;
    std::int32_t micro = -1;
    bool ends_forward = false;  ///< the mark of the last forward pass stands where its backward pass begins
    std::uint32_t before = 0;   ///< freed in place of the stretch's own
};

class Recorder {
  public:
    explicit Recorder(Keep keep = Keep::program);
    /// Keeps formulas over these symbols, which must be the thread's (symbolic::Recording).
    Recorder(const symbolic::Symbols& symbols, Keep keep);

    static constexpr std::uint32_t kNoId = 0xffffffffu;

    /// Begins an allocation; 0 bytes are none (kNoId), as in the caching allocator.
    std::uint32_t alloc(Size bytes, Op op);
    void free(std::uint32_t id, Size bytes);
    std::uint32_t managed_alloc(Size bytes, Op op);
    void managed_free(std::uint32_t id);
    void empty_cache();
    /// A block whose size is the allocator's matter.
    void warm_up(const WarmUp& block);
    /// Divides a live allocation of a formula: `part` bytes are an allocation of their own from the beginning on,
    /// `rest` bytes stay.
    std::uint32_t split(std::uint32_t id, Size rest, Size part);

    /// The stream from whose pool new allocations are taken.
    std::uint8_t stream = 0;
    /// Tensor.record_stream.
    void record_stream(std::uint32_t id, std::uint8_t on);
    /// A piece of work is given to a stream; what takes memory for its result is counted by itself.
    void launch(std::uint8_t on) { ++streams_[on].launched; }
    std::uint32_t launched(std::uint8_t on) const { return streams_[on].launched; }
    /// The host knows that the first `work` pieces are done: frees that waited for no more than those wait no longer.
    void stream_done(std::uint8_t on, std::uint32_t work);

    /// Begins a window, but inside of a phase that no module's window ends.
    void begin(const Phase& phase);
    bool holds_phase = false;
    void mark(std::string name);

    WrittenTo written_to() const;
    /// Whether a stretch only allocates and frees, all that it frees is its own or `before`, and it has no marks but
    /// that of the end of the forward pass.
    bool is_closed(const Stretch& stretch) const;
    /// Those of its allocations that it does not free, in order.
    std::vector<std::uint32_t> left_by(const Stretch& stretch) const;
    /// Writes a closed stretch again with other allocations: their numbers by those of the stretch, from its first one
    /// on.
    std::vector<std::uint32_t> write_again(const Stretch& stretch, const Again& again);

    /// Whether three stretches, one behind the other, do the same, and every size grows from each to the next by the
    /// same.
    bool grow_alike(const Stretch& first, const Stretch& second, const Stretch& third) const;
    /// Writes what follows on the last of such stretches, so many times: sizes grow on. `growth` is how many bytes more
    /// each one leaves than the one before. Allocations of the last one are then those of as many numbers later.
    void write_grown(const Stretch& last, std::int64_t times, std::int64_t growth);

    /// The run is over: what dies from now on belongs to no window.
    void stop() { stopped_ = true; }

    /// Every size-dependent decision passes here; equal signatures mean equal event sequences.
    std::int64_t decide(Question question, Size answer);

    void label(std::uint32_t id, Category category);
    /// Says which module an allocation belongs to; one is known when it is made.
    void place(std::uint32_t id, Module of);
    Module place_of(std::uint32_t id) const;
    Category label_of(std::uint32_t id) const {
        return id == kNoId ? Category::unattributed : program_.allocations[id].category;
    }

    /// Of the network that is trained.
    ParameterCounts parameters;
    /// What new allocations are until something better is known.
    Category fresh = Category::temporaries;
    /// The module that is being run, or whose node of the backward pass.
    Module module;
    /// The number of a module's name; 0 if there are too many.
    std::uint16_t intern(std::string_view name);
    std::string_view name_of(Module of) const { return program_.modules[of.name]; }

    /// The number of the next allocation.
    std::uint32_t next_id() const { return static_cast<std::uint32_t>(program_.allocations.size()); }
    bool keeps_program() const { return keep_ != Keep::summary; }
    Program& program() { return program_; }
    Program take();
    const Summary& summary() const { return summary_; }
    /// The instants of a formula.
    std::vector<FormulaInstant> take_front() { return front_->take(); }
    /// By allocation: its bytes, if the program is kept with symbols; in the order of the program once that is taken.
    const std::vector<Size>& sizes() const { return sizes_; }

  private:
    std::uint32_t add(Size bytes, Op op, EventKind kind);
    void end(std::uint32_t id);
    void tell(std::uint8_t on);
    void place_splits();
    void copy_allocations(const Stretch& stretch, std::vector<std::uint32_t>& numbers);
    void follow(const Event& event);
    bool keeps_sizes() const { return keep_ == Keep::symbolic_program || keep_ == Keep::formula_and_program; }

    Keep keep_;
    Program program_;
    std::optional<LevelFront> front_;
    std::vector<Size> sizes_;
    /// An allocation that was divided, and its part.
    struct Split {
        std::uint32_t id;
        std::uint32_t part;
    };
    std::vector<Split> splits_;
    std::unordered_map<std::uint32_t, std::uint32_t> part_of_;  ///< by id of a divided allocation
    Summary summary_;
    std::int64_t requested_ = 0;
    Phase phase_;
    bool stopped_ = false;
    std::unordered_map<std::uint32_t, std::uint32_t> uses_;  ///< live allocations and the other streams' bits
    /// What is known of a stream.
    struct Stream {
        std::uint32_t launched = 0;
        std::uint32_t done = 0;             ///< of these, the host knows
        std::vector<std::uint32_t> waited;  ///< how much each free that waited for it waited for
        std::size_t told = 0;               ///< of these, those in the program that are done
    };
    std::array<Stream, kStreams> streams_;
};

}  // namespace vramfit::engine
