// Adapters: their dtype, what their forward takes, the hook on an adapted embedding, what is refused.
#include "model/adapters/adapters.hpp"

#include "engine/ops/copy.hpp"
#include "model/loading/load.hpp"
#include "model/loading/prepare.hpp"
#include "model/quantizers/quantized.hpp"
#include "model/record.hpp"
#include "recording.hpp"
#include "support/catch.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/spec/models.hpp"

using namespace recording;
using namespace vramfit::model;

namespace {

struct Adapted {
    explicit Adapted(const char* stack, LoraPlan lora, bool quantized = false, DType dtype = DType::bfloat16)
        : recording(stack), spec(load_model("qwen2.5-0.5b", {})) {
        spec.num_hidden_layers = 1;
        plan.load.dtype = dtype;
        if (quantized) {
            plan.load.quantization.emplace();
            plan.load.quantization->compute_dtype = DType::bfloat16;
        }
        plan.peft = std::move(lora);
    }
    Run run() { return {recording.session, spec, plan, recording.stack, sizes_of(plan)}; }
    Network adapted() {
        Network network = model::load(run());
        recording.events();
        add_adapters(run(), network);
        return network;
    }
    Recording recording;
    ModelSpec spec;
    TrainPlan plan;
};

LoraPlan on(std::vector<std::string> targets) {
    LoraPlan plan;
    plan.r = 4;
    plan.target_modules = std::move(targets);
    return plan;
}

}  // namespace

TEST_CASE("adapters are raised to float32 by peft 0.12 and later") {
    Adapted now("", on({"k_proj"}));
    // A and B in the weight's dtype, then each in float32
    const Network network = now.adapted();
    CHECK(now.recording.events() == Events{7168, 1024, 14336, -7168, 2048, -1024});
    CHECK(network.layers[0].k.lora->a.requires_grad());
    CHECK_FALSE(network.layers[0].k.weight.requires_grad());
    CHECK_FALSE(network.layers[0].q.lora);
    Adapted old("hf-2024-04", on({"k_proj"}));
    CHECK(old.adapted().layers[0].k.lora->a.dtype() == DType::bfloat16);
}

TEST_CASE("adapters of 4-bit layers start in the compute dtype from peft 0.19 on") {
    Adapted now("", on({"k_proj"}), true);
    const Network network = now.adapted();
    CHECK(now.recording.events() == Events{7168, 1024, 14336, -7168, 2048, -1024});
    Adapted old("hf-2024-04", on({"k_proj"}), true);
    const Network before = old.adapted();
    CHECK(old.recording.events() == Events{14336, 2048});
}

TEST_CASE("an adapter's forward: casts, down, up, scaled, added, cast back") {
    Adapted a("", on({"k_proj"}));
    const Network network = a.adapted();
    const Tensor x = empty(a.recording.session, {1, 64, 896}, DType::bfloat16);
    const GradMode no_grad(a.recording.session, false);
    lora_linear(network.layers[0].k, x);
    a.recording.events();
    lora_linear(network.layers[0].k, x);
    const std::int64_t base = 64 * 128 * 2, half = 64 * 896 * 2;
    // base; x in float32; A; B; scaled; sum; result
    CHECK(a.recording.events() == Events{base, half * 2, 1024, 2 * base, -1024, 2 * base, -2 * base, 2 * base, -base,
                                         -2 * base, base, -half * 2, -2 * base, -base});
}

TEST_CASE("preparation casts what is not packed, a shared weight once, and installs the hook") {
    Adapted a("", on({"embed_tokens"}), true);
    a.plan.prepare_kbit.emplace();
    Network network = model::load(a.run());
    prepare_for_kbit_training(a.run(), network, PreparePlan{});
    CHECK(network.embed.weight.dtype() == DType::float32);
    CHECK(network.head.weight == network.embed.weight);
    CHECK(network.layers[0].q.bias.dtype() == DType::float32);
    CHECK(network.checkpointing == Checkpointing::reentrant);
    CHECK(network.embed.output_requires_grad);
    add_adapters(a.run(), network);
    // the hook stays on the layer inside
    CHECK_FALSE(network.embed.output_requires_grad);
    CHECK(network.embed.base_output_requires_grad);
}

TEST_CASE("biases are trained where LoraConfig.bias says so") {
    const auto trained = [](LoraBias bias, bool of_target) {
        LoraPlan plan = on({"k_proj"});
        plan.bias = bias;
        Adapted a("", plan);
        const Network network = a.adapted();
        return (of_target ? network.layers[0].k : network.layers[0].q).bias.requires_grad();
    };
    CHECK_FALSE(trained(LoraBias::none, true));
    CHECK(trained(LoraBias::lora_only, true));
    CHECK_FALSE(trained(LoraBias::lora_only, false));
    CHECK(trained(LoraBias::all, false));
}

TEST_CASE("whole modules are copied, and a tied head stays with the original") {
    LoraPlan plan = on({"k_proj"});
    plan.modules_to_save = {"embed_tokens", "norm"};
    Adapted a("", plan);
    Network network = a.adapted();
    CHECK(network.embed.weight.requires_grad());
    CHECK_FALSE(network.embed.original->weight.requires_grad());
    CHECK(network.head.weight == network.embed.original->weight);
    CHECK(network.layers[0].input_norm.weight.requires_grad());  // "input_layernorm" ends with "norm"
}

TEST_CASE("a packed layer cannot be trained as a whole") {
    LoraPlan plan = on({"k_proj"});
    plan.modules_to_save = {"q_proj"};
    Adapted a("", plan, true);
    CHECK_THROWS_AS(a.adapted(), Error);
}

TEST_CASE("DoRA's magnitudes: the norm of weight and adapter, with the tape alive meanwhile") {
    LoraPlan plan = on({"k_proj"});
    plan.use_dora = true;
    Adapted a("", plan);
    const Network network = a.adapted();
    const std::int64_t weight = 128 * 896 * 2;
    // A, B; B A with the workspace, scaled, added to the weight, its norm; then A and B in float32, the norm too
    CHECK(a.recording.events() == Events{7168, 1024, weight, 8519680, weight, weight, -weight, 256, -weight, -weight,
                                         14336, -7168, 2048, -1024, 512, -256});
    CHECK(network.layers[0].k.lora->magnitude.requires_grad());
}

TEST_CASE("a bias of adapters: on B, not with DoRA") {
    LoraPlan plan = on({"k_proj"});
    plan.lora_bias = true;
    Adapted a("", plan);
    CHECK(a.adapted().layers[0].k.lora->bias.numel() == 128);
    plan.use_dora = true;
    Adapted both("", plan);
    CHECK_THROWS_AS(both.adapted(), Error);
}
