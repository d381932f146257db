// Writes the program down: allocations, frees, windows, marks, size-dependent decisions.
#pragma once

#include <cstdint>
#include <string>

#include "engine/op.hpp"
#include "vramfit/trace/program.hpp"
#include "vramfit/trace/summary.hpp"

namespace vramfit::engine {

/// The name of a size-dependent decision, hashed (FNV-1a) while compiling.
struct Question {
    std::uint64_t hash = 14695981039346656037ull;
    consteval Question(const char* text) {
        for (; *text; ++text) hash = (hash ^ static_cast<unsigned char>(*text)) * 1099511628211ull;
    }
};

/// What is kept of a run: its whole program, or only its highest moments.
enum class Keep : std::uint8_t { program, summary };

class Recorder {
  public:
    explicit Recorder(Keep keep = Keep::program);

    static constexpr std::uint32_t kNoId = 0xffffffffu;

    /// Begins an allocation; 0 bytes are none (kNoId), as in the caching allocator.
    std::uint32_t alloc(std::int64_t bytes, Op op);
    void free(std::uint32_t id, std::int64_t bytes);
    std::uint32_t managed_alloc(std::int64_t bytes, Op op);
    void managed_free(std::uint32_t id);
    void empty_cache();

    void begin(const Phase& phase);
    void mark(std::string name);

    /// The run is over: what dies from now on belongs to no window.
    void stop() { stopped_ = true; }

    /// Every size-dependent decision passes here; equal signatures mean equal event sequences.
    std::int64_t decide(Question question, std::int64_t answer);
    /// A decision about where a tensor lives that changes no other event (paged optimizer states).
    std::int64_t decide_place(Question question, std::int64_t answer);

    void label(std::uint32_t id, Category category);
    Category label_of(std::uint32_t id) const {
        return id == kNoId ? Category::unattributed : program_.allocations[id].category;
    }

    /// What new allocations are until something better is known.
    Category fresh = Category::temporaries;
    /// The decoder layer that is being run, or -1.
    std::int16_t layer = -1;

    Program& program() { return program_; }
    Program take();
    const Summary& summary() const { return summary_; }

  private:
    std::uint32_t add(std::int64_t bytes, Op op, EventKind kind);
    void raise();

    Keep keep_;
    Program program_;
    Summary summary_;
    std::int64_t requested_ = 0;
    std::int64_t managed_ = 0;
    std::int64_t states_ = 0;  ///< optimizer states among `requested_`
    Phase phase_;
    bool stopped_ = false;
};

}  // namespace vramfit::engine
