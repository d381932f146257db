// Tensor parallelism: what layers that are cut allocate, what they refuse, and that their sums are those of whole ones.
#include "model/parallel/tensor/tensor_parallel.hpp"

#include <algorithm>
#include <functional>

#include "engine/session.hpp"
#include "model/network/modules.hpp"
#include "model/record.hpp"
#include "support/catch.hpp"
#include "support/llama.hpp"
#include "unit/engine/session_bench.hpp"
#include "vramfit/base/error.hpp"

namespace vramfit::test {

using namespace model;
using engine::Tensor;

namespace {

using Sizes = std::vector<std::int64_t>;

/// A layer of eight inputs and outputs in float32, cut into two pieces.
struct CutBench : SessionBench {
    Linear layer;

    explicit CutBench(Cut cut) {
        layer.cut = cut;
        layer.pieces = 2;
        const bool rows = cut == Cut::rows;
        layer.weight = engine::empty(session, {rows ? 8 : 4, rows ? 4 : 8}, DType::float32, engine::Op::parameter);
        layer.weight.set_requires_grad(true);
    }
    Tensor input(std::int64_t width) {
        const Tensor x = engine::empty(session, {2, 3, width}, DType::float32, engine::Op::empty);
        x.set_requires_grad(true);
        return x;
    }
    /// Sizes that `code` allocates, but for workspaces.
    template <class Code>
    Sizes taken(Code code) {
        Sizes out = allocated_by(code);
        std::erase_if(out, [](std::int64_t bytes) { return bytes >= 4096; });
        return out;
    }
};

Job cut_llama(std::int64_t processes) {
    Job job = small_llama(2);
    DistributedPlan& plan = job.plan.distributed.emplace();
    plan.world_size = processes;
    plan.method = TpPlan{};
    return job;
}

Program recorded(const Job& job) { return record(job.model, job.plan, job.stack, job.device); }

/// What recording stops with.
std::string stop_of(const Job& job) {
    try {
        (void)recorded(job);
    } catch (const Error& error) {
        return error.what();
    }
    return {};
}

}  // namespace

TEST_CASE("columns: what the layer gives stays, the input's gradient is summed in a copy") {
    CutBench bench(Cut::columns);
    const Tensor x = bench.input(8);
    Tensor y;
    CHECK(bench.taken([&] { y = forward(bench.layer, x); }) == Sizes{96});
    CHECK(y.size(-1) == 4);
}

TEST_CASE("rows: what the layer gives is summed in a copy, and in place without a graph") {
    CutBench bench(Cut::rows);
    const Tensor x = bench.input(4);
    CHECK(bench.taken([&] { (void)forward(bench.layer, x); }) == Sizes{192, 192});
    const engine::GradMode off(bench.session, false);
    CHECK(bench.taken([&] { (void)forward(bench.layer, x); }) == Sizes{192});
}

TEST_CASE("gathered columns: a stack of all pieces, then one tensor of them") {
    CutBench bench(Cut::columns_gathered);
    const Tensor x = bench.input(8);
    Tensor y;
    CHECK(bench.taken([&] { y = forward(bench.layer, x); }) == Sizes{96, 192, 192});
    CHECK(y.size(-1) == 8);
}

TEST_CASE("a full backward hook holds the output's gradient until the input's is there") {
    CutBench bench(Cut::columns);
    const Tensor x = bench.input(8);
    const Tensor y = with_full_backward_hook(x, [](const Tensor& given) { return given; });
    CHECK(y->storage.get() == x->storage.get());
    CHECK(y.requires_grad());
}

TEST_CASE("adapters are cut with their layer, and counted whole") {
    Job whole = small_llama(2);
    whole.plan.peft.emplace().target_modules = std::vector<std::string>{"q_proj", "down_proj"};
    Job cut = cut_llama(2);
    cut.plan.peft = whole.plan.peft;
    const Program of_cut = recorded(cut);
    CHECK(of_cut.trainable_parameters == recorded(whole).trainable_parameters);
    // Of down_proj, A of 8 x 1376 in bfloat16: made whole, then cut.
    const auto taken = [&of_cut](std::int64_t bytes) {
        return std::count_if(of_cut.allocations.begin(), of_cut.allocations.end(),
                             [bytes](const Allocation& a) { return a.bytes == bytes; });
    };
    CHECK(taken(8 * 1376 * 2) > 0);
    CHECK(taken(8 * 688 * 2) > 0);
}

TEST_CASE("pieces count as what they are pieces of") {
    const Program whole = recorded(small_llama(2));
    const Program cut = recorded(cut_llama(2));
    CHECK(cut.total_parameters == whole.total_parameters);
    CHECK(cut.trainable_parameters == whole.trainable_parameters);
}

TEST_CASE("a network that does not divide is refused with the library's reason") {
    const auto stop_with = [](std::int64_t processes, const std::function<void(Job&)>& change) {
        Job job = cut_llama(processes);
        change(job);
        return stop_of(job);
    };
    const auto has = [](const std::string& text, const char* part) { return text.find(part) != std::string::npos; };
    CHECK(has(stop_with(2, [](Job& job) { job.model.num_key_value_heads = 1; }), "cannot be cut into 2 pieces"));
    CHECK(has(stop_with(2, [](Job& job) { job.model.vocab_size += 1; }),
              "must be divisible by the tensor parallel size (2)"));
    CHECK(has(stop_with(2, [](Job& job) { job.model.intermediate_size += 1; }), "equal pieces"));
    CHECK(has(stop_with(3,
                        [](Job& job) {
                            job.model.model_type = "phi3";
                            job.model.vocab_size = 96;
                        }),
              "`model.layers.0.self_attn.qkv_proj`"));
}

TEST_CASE("a head that is cut shares no table that is whole") {
    Job job = cut_llama(2);
    job.model.model_type = "gpt_neox";
    job.model.tie_word_embeddings = true;
    CHECK(stop_of(job).find("the table that it shares is not") != std::string::npos);
}

TEST_CASE("where the network is loaded does not matter: it is loaded in pieces") {
    Job job = cut_llama(2);
    const Program usual = recorded(job);
    job.plan.load.on_device = false;
    CHECK(recorded(job).allocations.size() == usual.allocations.size());
}

TEST_CASE("models without a plan are whole on each process") {
    Job job = cut_llama(2);
    job.model.model_type = "nemotron";
    Job alone = job;
    alone.plan.distributed.reset();
    const auto of_weights = [](const Program& program) {
        Sizes out;
        for (const Allocation& a : program.allocations)
            if (a.category == Category::weights) out.push_back(a.bytes);
        return out;
    };
    const Program program = recorded(job);
    CHECK(of_weights(program) == of_weights(recorded(alone)));
    CHECK(program.collectives.all_reduced == 0);
    CHECK(program.collectives.all_gathered == 0);
}

TEST_CASE("what is summed and gathered is counted") {
    // Of one step, of two layers and the head: what two cut projections give, and the gradients of the inputs of q, k,
    // v, gate, up and the head.
    const Job job = cut_llama(2);
    const Program program = recorded(job);
    constexpr std::int64_t positions = 128;
    const std::int64_t hidden = positions * job.model.hidden_size * 2;
    CHECK(program.collectives.all_reduced == hidden * (2 * 7 + 1));
    CHECK(program.collectives.all_gathered == positions * job.model.vocab_size * 2);
}

TEST_CASE("weights in pieces beside whole ones: what torch's kernels over many do not take") {
    Job job = cut_llama(2);
    job.plan.training.optim = "sgd";
    CHECK(stop_of(job).find("sgd finds weights in pieces beside whole ones") != std::string::npos);
    job = cut_llama(2);
    job.plan.training.fp16 = true;
    CHECK(stop_of(job).find("the scaler finds gradients in pieces beside whole ones") != std::string::npos);
}

TEST_CASE("copies of what is cut, and adapters of a table that is cut, are refused") {
    Job job = cut_llama(2);
    job.plan.peft.emplace().modules_to_save = {"lm_head"};
    CHECK(stop_of(job).find("a copy of 'lm_head'") != std::string::npos);
    job = cut_llama(2);
    job.plan.peft.emplace().use_dora = true;
    CHECK(stop_of(job).find("DoRA adds whole adapters") != std::string::npos);
}

}  // namespace vramfit::test
