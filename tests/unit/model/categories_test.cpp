// Categories say what a tensor is, whatever order a run makes it in.
#include <algorithm>
#include <set>

#include "predict/held.hpp"
#include "support/catch.hpp"
#include "support/llama.hpp"
#include "vramfit/predict/predict.hpp"

using namespace vramfit;
using test::small_llama;

namespace {

/// The allocations that windows of this kind make.
std::vector<Allocation> made_in(const Program& program, PhaseKind kind) {
    std::vector<Allocation> out;
    for (std::size_t w = 0; w + 1 < program.windows.size(); ++w) {
        if (program.windows[w].phase.kind != kind) continue;
        for (std::size_t i = program.windows[w].first_event; i < program.windows[w + 1].first_event; ++i)
            if (program.events[i].kind == EventKind::alloc) out.push_back(program.allocations[program.events[i].id]);
    }
    return out;
}

std::set<Category> categories_of(const std::vector<Allocation>& allocations) {
    std::set<Category> out;
    for (const Allocation& a : allocations) out.insert(a.category);
    return out;
}

Job checkpointed(bool reentrant) {
    Job job = small_llama();
    job.plan.training.gradient_checkpointing = true;
    job.plan.training.use_reentrant = reentrant;
    return job;
}

}  // namespace

TEST_CASE("what the backward pass of a layer makes is none of the logits") {
    const Program program = program_of(small_llama());
    const auto found = categories_of(made_in(program, PhaseKind::backward_layer));
    CHECK(found == std::set{Category::gradients, Category::activation_gradients});
    CHECK(categories_of(made_in(program, PhaseKind::backward_loss)).contains(Category::logits_and_loss));
}

TEST_CASE("what a checkpointed layer saves again is recomputed, and only that") {
    const Program program = program_of(checkpointed(GENERATE(false, true)));
    const auto backward = categories_of(made_in(program, PhaseKind::backward_layer));
    CHECK(backward == std::set{Category::gradients, Category::activation_gradients, Category::recomputed_activations,
                               Category::temporaries});
    const auto forward = categories_of(made_in(program, PhaseKind::forward_layer));
    CHECK(!forward.contains(Category::recomputed_activations));
    CHECK(forward.contains(Category::stored_activations));
}

TEST_CASE("parameters and the optimizer's states belong to the module of the parameter") {
    const Program program = program_of(small_llama());
    std::set<std::string> weights, states;
    for (const Allocation& a : program.allocations) {
        if (a.category == Category::weights) weights.insert(module_of(program, a));
        if (a.category == Category::optimizer_states) states.insert(module_of(program, a));
    }
    for (const char* module : {"embed_tokens", "layers.1.self_attn.q_proj", "layers.2.input_layernorm", "norm"}) {
        CHECK(weights.contains(module));
        CHECK(states.contains(module));
    }
}

TEST_CASE("what making adapters takes is no adapter") {
    Job job = small_llama();
    job.plan.peft.emplace();
    job.plan.peft->use_dora = true;
    const auto found = categories_of(made_in(program_of(job), PhaseKind::adapters));
    CHECK(found.contains(Category::adapters));
    CHECK(found.contains(Category::temporaries));
}

TEST_CASE("a weight that embedding and head share has gradients of a parameter from both") {
    Job job = small_llama();
    job.model.tie_word_embeddings = true;
    const std::int64_t table = job.model.vocab_size * job.model.hidden_size;
    for (const Allocation& a : made_in(program_of(job), PhaseKind::backward_embedding))
        if (a.bytes >= table) CHECK(a.category == Category::gradients);
}

TEST_CASE("the gradient of a weight that embedding and head share is the embedding's, as the weight is") {
    Job job = small_llama();
    job.model.tie_word_embeddings = true;
    const std::int64_t table = job.model.vocab_size * job.model.hidden_size;
    const Program program = program_of(job);
    Held held(program);
    std::set<std::string> modules;
    for (const Window& window : program.windows) {
        if (window.phase.kind != PhaseKind::optimizer) continue;
        for (std::size_t i = 0; i < window.first_event; ++i) held.apply(program.events[i]);
        break;
    }
    for (std::uint32_t id = 0; id < program.allocations.size(); ++id) {
        const Allocation& a = program.allocations[id];
        if (held.holds(id) && a.category == Category::gradients && a.bytes >= table)
            modules.insert(module_of(program, a));
    }
    CHECK(modules == std::set<std::string>{"embed_tokens"});
}

TEST_CASE("nodes of the backward pass belong to the layer that made them") {
    const Program program = program_of(small_llama());
    std::set<std::string> modules;
    for (const Allocation& a : made_in(program, PhaseKind::backward_layer)) modules.insert(module_of(program, a));
    CHECK(modules.contains("layers.0.mlp.down_proj"));
    CHECK(modules.contains("layers.0.input_layernorm"));
    CHECK(!modules.contains("loss"));
}
