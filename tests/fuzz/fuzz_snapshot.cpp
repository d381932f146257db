// Fuzzing the readers of memory snapshots and of out of memory errors: whatever the bytes, they answer or throw Error.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "vramfit/base/error.hpp"
#include "vramfit/snapshot/compare.hpp"
#include "vramfit/snapshot/oom.hpp"
#include "vramfit/snapshot/snapshot.hpp"

namespace {

using namespace vramfit;

/// A program of a few allocations to compare with.
Program small_program() {
    Program program;
    program.windows = {
        {{PhaseKind::start, -1, -1, -1}, 0}, {{PhaseKind::load, -1, -1, -1}, 0}, {{PhaseKind::inputs, 0, -1, -1}, 8}};
    program.modules = {""};
    for (std::uint32_t id = 0; id < 16; ++id) {
        program.allocations.push_back({512 * (id % 4 + 1), Category::weights, 0, -1, 0, 0});
        program.events.push_back({EventKind::alloc, id, 0});
    }
    for (std::uint32_t id = 8; id < 16; ++id) program.events.push_back({EventKind::free, id, 0});
    return program;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view bytes(reinterpret_cast<const char*>(data), size);
    static const Program program = small_program();
    try {
        const Snapshot snapshot = read_snapshot(bytes, "file");
        (void)compare_snapshot(snapshot, program);
        const Snapshot again = read_snapshot(to_pickle(snapshot), "file");
        if (again.entries.size() != snapshot.entries.size()) std::abort();
    } catch (const Error& error) {
        if (error.problems().empty()) std::abort();
    }
    try {
        (void)explain_oom(read_oom_message(bytes, "file"), program, {}, 1, 8);
    } catch (const Error& error) {
        if (error.problems().empty()) std::abort();
    }
    return 0;
}
