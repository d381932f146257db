// Names of what several modules share.
#include "model/network/shared_module.hpp"

#include <algorithm>
#include <set>
#include <string>

#include "engine/session.hpp"
#include "model/network/in_module.hpp"
#include "support/catch.hpp"
#include "support/llama.hpp"
#include "unit/model/recording.hpp"
#include "vramfit/predict/predict.hpp"

using namespace vramfit;
using namespace vramfit::engine;

namespace {

std::string around_all(std::initializer_list<const char*> names) {
    recording::Recording r;
    Recorder& recorder = r.session.recorder;
    std::vector<Module> modules;
    for (const char* name : names) modules.push_back(model::module_named(recorder, name));
    const Module found = model::around(recorder, modules);
    Allocation allocation;
    allocation.layer = found.layer;
    allocation.module = found.name & 4095u;
    return module_of(recorder.program(), allocation);
}

/// Modules of allocations of that category.
std::set<std::string> modules_of_all(const Program& program, Category category) {
    std::set<std::string> out;
    for (const Allocation& a : program.allocations)
        if (a.category == category) out.insert(module_of(program, a));
    return out;
}

}  // namespace

TEST_CASE("what several modules share belongs to the innermost one around them all") {
    CHECK(around_all({"layers.0.mlp.up_proj", "layers.0.mlp.down_proj"}) == "layers.0.mlp");
    CHECK(around_all({"layers.0.mlp.up_proj", "layers.0.self_attn.q_proj"}) == "layers.0");
    CHECK(around_all({"layers.0.mlp.up", "layers.0.mlp.up_proj"}) == "layers.0.mlp");
    CHECK(around_all({"model.norm", "model.norm"}) == "norm");
    CHECK(around_all({}).empty());
}

TEST_CASE("where that is the network it belongs to its parts from the first to the last") {
    CHECK(around_all({"layers.1.mlp.up_proj", "layers.10.self_attn.q_proj"}) == "layers.1..layers.10");
    CHECK(around_all({"model.embed_tokens", "model.layers.0.mlp.up_proj"}) == "embed_tokens..layers.0");
    CHECK(around_all({"layers.1.mlp.up_proj", "model.norm", "lm_head"}) == "layers.1..lm_head");
}

TEST_CASE("DDP's buckets and ZeRO's flat groups have modules, the bucket of ZeRO is DeepSpeed's") {
    Job job = test::small_llama();
    job.plan.distributed.emplace();
    job.plan.distributed->world_size = 2;
    job.plan.distributed->method = DdpPlan{};
    const auto buckets = modules_of_all(program_of(job), Category::gradients);
    CHECK(std::any_of(buckets.begin(), buckets.end(), [](const std::string& m) { return m.find("..") != m.npos; }));
    job.plan.training.max_grad_norm = 0;
    ZeroPlan zero;
    zero.stage = 2;
    job.plan.distributed->method = zero;
    const Program program = program_of(job);
    CHECK(modules_of_all(program, Category::gradients).contains("deepspeed.reduce_bucket"));
    CHECK(modules_of_all(program, Category::weights).contains("embed_tokens..lm_head"));
}
