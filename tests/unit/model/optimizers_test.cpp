// Optimizers: what the first step of each leaves behind.
#include "model/step/optimizer.hpp"

#include "recording.hpp"
#include "support/catch.hpp"
#include "vramfit/base/error.hpp"

using namespace recording;
using namespace vramfit::model;

namespace {

/// Bytes in the states after a step on one matrix of 100 x 400.
std::int64_t states_of(const char* name, const char* arguments = "", DType dtype = DType::bfloat16) {
    Recording r;
    Tensor weight = empty(r.session, {100, 400}, dtype);
    weight.set_requires_grad(true);
    weight->grad = empty(r.session, {100, 400}, dtype).ref();
    TrainingPlan plan;
    plan.optim = name;
    plan.optim_args = arguments;
    r.events();
    Optimizer optimizer = make_optimizer(r.session, plan, {{{{"", {}, "weight", &weight}}, true}});
    optimizer.type->step(r.session, optimizer);
    std::int64_t left = 0;
    for (const std::int64_t bytes : r.events()) left += bytes;
    return left;
}

}  // namespace

TEST_CASE("states of the optimizers") {
    const std::int64_t n = 40000, blocks = 157 * 4, book = 1024;
    CHECK(states_of("adamw_torch") == 2 * 2 * n);
    CHECK(states_of("adamw_bnb_8bit") == 2 * (n + blocks + book));
    CHECK(states_of("lion_32bit") == 4 * n);
    CHECK(states_of("lion_8bit") == n + blocks + book);
    CHECK(states_of("ademamix") == 3 * 4 * n);
    CHECK(states_of("ademamix_8bit") == 3 * (n + blocks) + 2 * book);
    CHECK(states_of("rmsprop_bnb", "", DType::float16) == 4 * n);
    CHECK_THROWS_AS(states_of("rmsprop_bnb"), Error);  // no kernel for bfloat16
    CHECK(states_of("rmsprop_bnb_8bit") == n + blocks + book);
    CHECK(states_of("adagrad") == 2 * n);
    CHECK(states_of("rmsprop") == 2 * n);
    CHECK(states_of("rmsprop", "momentum=0.9,centered=true") == 3 * 2 * n);
    CHECK(states_of("adafactor") == (100 + 400 + 1) * 4);
}
