// Names of windows and categories, and the checks of a program.
#include <set>
#include <stdexcept>
#include <string>

#include "support/catch.hpp"
#include "vramfit/trace/category.hpp"
#include "vramfit/trace/phase.hpp"
#include "vramfit/trace/program.hpp"

using namespace vramfit;

TEST_CASE("windows have the names of traces") {
    struct Row {
        Phase phase;
        const char* name;
    };
    const Row rows[] = {
        {{PhaseKind::start, -1, -1, -1}, "start"},
        {{PhaseKind::load, -1, -1, -1}, "load"},
        {{PhaseKind::prepare, -1, -1, -1}, "prepare"},
        {{PhaseKind::adapters, -1, -1, -1}, "adapters"},
        {{PhaseKind::trainer, -1, -1, -1}, "trainer"},
        {{PhaseKind::inputs, 0, -1, -1}, "step0.inputs"},
        {{PhaseKind::inputs, 1, 2, -1}, "step1.micro2.inputs"},
        {{PhaseKind::embedding, 0, 0, -1}, "step0.micro0.embedding"},
        {{PhaseKind::forward_layer, 0, -1, 3}, "step0.forward.3"},
        {{PhaseKind::forward_layer, 12, 1, 31}, "step12.micro1.forward.31"},
        {{PhaseKind::head, 1, -1, -1}, "step1.head"},
        {{PhaseKind::forward_layer, 1, -1, 2, 0}, "step1.evaluation0.forward.2"},
        {{PhaseKind::inputs, -1, -1, -1, 1}, "evaluation1.inputs"},
        {{PhaseKind::backward_loss, 1, 0, -1}, "step1.micro0.backward.loss"},
        {{PhaseKind::backward_layer, 1, -1, 0}, "step1.backward.0"},
        {{PhaseKind::backward_embedding, 1, -1, -1}, "step1.backward.embedding"},
        {{PhaseKind::clip, 0, -1, -1}, "step0.clip"},
        {{PhaseKind::optimizer, 0, -1, -1}, "step0.optimizer"},
        {{PhaseKind::zero_grad, 0, -1, -1}, "step0.zero_grad"},
        {{PhaseKind::train_end, -1, -1, -1}, "train_end"},
    };
    for (const Row& row : rows) CHECK(name_of(row.phase) == row.name);
}

TEST_CASE("every category has a name of its own") {
    std::set<std::string> names;
    for (int i = 0; i < kCategoryCount; ++i) names.insert(name_of(static_cast<Category>(i)));
    CHECK(names.size() == kCategoryCount);
    CHECK_FALSE(names.contains("unknown"));
}

namespace {

Program sound() {
    Program program;
    program.allocations = {{100, Category::weights, 0, -1}, {50, Category::optimizer_states, 0, -1}};
    program.events = {{EventKind::alloc, 0},
                      {EventKind::managed_alloc, 1},
                      {EventKind::empty_cache, 0},
                      {EventKind::managed_free, 1},
                      {EventKind::free, 0}};
    program.windows = {{{}, 0}, {{PhaseKind::load, -1, -1, -1}, 0}, {{PhaseKind::trainer, -1, -1, -1}, 5}};
    program.marks = {{"a", 0}, {"b", 5}};
    return program;
}

template <class Change>
void refused(Change change) {
    Program program = sound();
    change(program);
    CHECK_THROWS_AS(check(program), std::logic_error);
}

}  // namespace

TEST_CASE("a sound program passes") {
    CHECK_NOTHROW(check(sound()));
    CHECK_NOTHROW(check(Program{}));
}

TEST_CASE("unsound programs do not") {
    refused([](Program& p) { p.events[4].id = 1; });                         // another kind of memory
    refused([](Program& p) { p.events.push_back({EventKind::free, 0}); });   // freed twice
    refused([](Program& p) { p.events.push_back({EventKind::alloc, 0}); });  // allocated twice
    refused([](Program& p) { p.events[0].id = 2; });                         // not in the list
    refused([](Program& p) { p.allocations[0].bytes = -1; });
    refused([](Program& p) { p.windows.clear(); });
    refused([](Program& p) { p.windows[0].first_event = 1; });
    refused([](Program& p) { p.windows[2].first_event = 6; });
    refused([](Program& p) { p.windows[1].first_event = 6; });
    refused([](Program& p) { p.marks[0].before_event = 6; });
    refused([](Program& p) { p.marks[1].before_event = 6; });
}
