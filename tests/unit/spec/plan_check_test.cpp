// Plans against networks: which modules get adapters, and what cannot be.
#include "vramfit/spec/plan_check.hpp"

#include <functional>

#include "expect.hpp"
#include "spec/plan_check_parts.hpp"
#include "support/catch.hpp"
#include "vramfit/spec/models.hpp"
#include "vramfit/spec/modules.hpp"
#include "vramfit/spec/stacks.hpp"

using namespace vramfit;

namespace {

std::optional<Error> checked(const std::function<void(TrainPlan&)>& change, const char* model = "qwen2.5-0.5b",
                             const char* stack = "") {
    TrainPlan plan;
    change(plan);
    return error_of([&] { check_plan(load_model(model, {}), plan, stack_from(stack).stack); });
}

std::vector<LoraTarget> targets(const TargetModules& modules, const std::function<void(LoraPlan&)>& change = {}) {
    LoraPlan plan;
    plan.target_modules = modules;
    if (change) change(plan);
    return lora_targets(load_model("qwen2.5-0.5b", {}), plan);
}

using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("adapters are put where peft puts them") {
    CHECK(targets(Names{"q_proj", "v_proj"}).size() == 48);
    CHECK(targets("all-linear").size() == 168);
    CHECK(targets("ALL-LINEAR").size() == 168);
    CHECK(targets(Names{"lm_head", "embed_tokens"}).size() == 2);
    CHECK(targets(Names{"proj"}).empty());
    CHECK(targets(".*_proj").size() == 168);
    CHECK(targets("q_proj").empty());  // one text is a pattern for the whole name
    CHECK(targets(".*layers\\.[0-3]\\..*q_proj").size() == 4);
    CHECK(targets(Names{"model.layers.0.self_attn.q_proj"}).size() == 1);
    CHECK(targets(Names{"q_proj", "k_proj", "v_proj", "o_proj", "c_attn"}).size() == 96);
    CHECK(targets("all-linear", [](LoraPlan& plan) { plan.exclude_modules = Names{"down_proj"}; }).size() == 144);
    CHECK(targets(Names{"q_proj"}, [](LoraPlan& plan) {
              plan.layers_to_transform = std::vector<std::int64_t>{0, 5};
          }).size() == 2);
    CHECK(targets(Names{"q_proj", "lm_head"}, [](LoraPlan& plan) { plan.modules_to_save = {"lm_head"}; }).size() == 24);
    const auto ranked = targets(Names{"q_proj", "v_proj"}, [](LoraPlan& plan) {
        plan.rank_pattern = {{"layers.1.self_attn.q_proj", 4}, {"v_proj", 2}};
    });
    CHECK(ranked[0].r == 8);
    CHECK(ranked[1].r == 2);
    CHECK(ranked[2].r == 4);
    CHECK(ranked[0].module.name == "model.layers.0.self_attn.q_proj");
    CHECK(ranked[1].module.out == 128);
    CHECK(error_of([] { targets("("); }));
}

TEST_CASE("plans that cannot be") {
    CHECK_FALSE(checked([](TrainPlan&) {}));
    CHECK(says(checked([](TrainPlan& plan) { plan.peft.emplace().target_modules = Names{"no_such_module"}; }),
               "peft.target_modules", "the network has embed_tokens, q_proj"));
    CHECK(says(checked([](TrainPlan& plan) { plan.peft.emplace().target_modules = Names{"q_porj"}; }),
               "peft.target_modules", "did you mean 'q_proj'?"));
    CHECK(says(checked([](TrainPlan& plan) { plan.peft.emplace().target_modules = Names{"mlp"}; }),
               "peft.target_modules", "no linear layer"));
    CHECK(says(checked([](TrainPlan& plan) { plan.peft.emplace().r = 1000; }), "peft.r",
               "rank 1000 is above both sides"));
    CHECK(says(checked([](TrainPlan& plan) { plan.peft.emplace().layers_pattern = {"layers"}; }), "peft.layers_pattern",
               "layers_to_transform"));
    CHECK(says(checked([](TrainPlan& plan) { plan.training.per_device_train_batch_size = 0; }),
               "training.per_device_train_batch_size", "below 1"));
    CHECK(says(checked([](TrainPlan& plan) { plan.batch.sequence_length = -5; }), "batch.sequence_length", "below 1"));
    CHECK(says(checked([](TrainPlan& plan) {
                   plan.batch.sequence_length = plan.training.per_device_train_batch_size = std::int64_t{1} << 31;
               }),
               "batch.sequence_length", "63 bits"));
    CHECK(says(checked([](TrainPlan& plan) { plan.training.bf16 = plan.training.fp16 = true; }), "training.fp16",
               "exclude"));
    CHECK(says(checked([](TrainPlan& plan) { plan.load.quantization.emplace(); }), "load.quantization_config",
               "give peft"));
    CHECK(says(checked([](TrainPlan& plan) {
                   plan.loop.kind = LoopKind::sft;
                   plan.training.max_length = 64;
               }),
               "training.max_length", "cut to 64"));
}

TEST_CASE("FSDP1 cuts packed weights only in the dtype of their neighbours") {
    const auto qlora = [](const std::function<void(TrainPlan&)>& change) {
        return [change](TrainPlan& plan) {
            plan.training.bf16 = true;
            plan.peft.emplace();
            plan.load.quantization.emplace().storage = DType::bfloat16;
            plan.distributed.emplace().method = Fsdp1Plan{};
            change(plan);
        };
    };
    constexpr const char* kStorage = "load.quantization_config.bnb_4bit_quant_storage";
    CHECK_FALSE(checked(qlora([](TrainPlan&) {})));
    const auto stored_as = [&](DType storage) {
        return checked(qlora([storage](TrainPlan& plan) { plan.load.quantization->storage = storage; }));
    };
    CHECK(says(stored_as(DType::uint8), kStorage, "Cannot flatten integer dtype tensors"));
    CHECK(says(stored_as(DType::float32), kStorage, "Must flatten tensors with uniform dtype"));
    CHECK(says(checked(qlora([](TrainPlan& plan) { plan.load.quantization->method = QuantMethod::int8; })),
               "load.quantization_config.load_in_8bit", "Cannot flatten integer dtype tensors"));
    CHECK(says(checked(qlora([](TrainPlan& plan) { plan.prepare_kbit.emplace(); })), "prepare_kbit",
               "Must flatten tensors with uniform dtype"));
    CHECK(says(checked(qlora([](TrainPlan& plan) {
                   plan.distributed->method = Fsdp1Plan{.sharding_strategy = FsdpStrategy::shard_grad_op};
               })),
               "distributed.fsdp_config.sharding_strategy", "changing the parameters"));
    CHECK(says(checked(qlora([](TrainPlan& plan) {
                   plan.distributed.reset();
                   plan.load.cast_after_adapter = DType::float32;
               })),
               "load.cast_after_adapter", "destroys them"));
}

TEST_CASE("FSDP2 cuts packed weights in bfloat16 and leaves integers in 4 bits whole") {
    const auto qlora = [](const std::function<void(TrainPlan&)>& change) {
        return checked([change](TrainPlan& plan) {
            plan.training.bf16 = true;
            plan.peft.emplace();
            plan.load.quantization.emplace();
            plan.prepare_kbit.emplace();
            plan.distributed.emplace().method = Fsdp2Plan{};
            change(plan);
        });
    };
    const auto stored_as = [&](DType storage, bool bf16 = true) {
        return qlora([=](TrainPlan& plan) {
            plan.load.quantization->storage = storage;
            plan.training.bf16 = bf16;
        });
    };
    CHECK_FALSE(stored_as(DType::uint8));
    CHECK_FALSE(stored_as(DType::uint8, false));
    CHECK_FALSE(stored_as(DType::bfloat16));
    CHECK_FALSE(stored_as(DType::float32, false));
    CHECK(says(stored_as(DType::float32), "load.quantization_config.bnb_4bit_quant_storage", "destroys them"));
    CHECK(says(qlora([](TrainPlan& plan) { plan.load.quantization->method = QuantMethod::int8; }),
               "load.quantization_config.load_in_8bit", "only Tensors of floating point dtype can require gradients"));
    CHECK(says(qlora([](TrainPlan& plan) { plan.load.quantization->skip_modules_given = true; }),
               "load.quantization_config.llm_int8_skip_modules", "not supported with FSDP"));
}

TEST_CASE("optimizers that stop under FSDP are refused with the reason") {
    const auto with = [](const char* optim, bool fp16, DistributedMethod method) {
        return [=](TrainPlan& plan) {
            plan.training.optim = optim;
            plan.training.fp16 = fp16;
            plan.load.dtype = DType::float16;
            plan.distributed.emplace().method = method;
        };
    };
    const auto fsdp2 = [&](const char* optim) { return checked(with(optim, true, Fsdp2Plan{})); };
    for (const char* optim : {"adamw_torch", "adamw_torch_fused", "sgd", "rmsprop"}) CHECK_FALSE(fsdp2(optim));
    CHECK(says(fsdp2("adagrad"), "training.optim", "KeyError: 'sum'"));
    CHECK(says(fsdp2("adafactor"), "training.optim", "mixed torch.Tensor and DTensor"));
    for (const char* optim : {"adamw_8bit", "rmsprop_bnb", "paged_adamw_32bit", "lion_32bit", "ademamix"})
        CHECK(says(fsdp2(optim), "training.optim", "no sharding strategy"));

    const auto fsdp1 = [&](const char* optim, bool fp16, const char* stack = "hf-2026-11") {
        return checked(with(optim, fp16, Fsdp1Plan{}), "llama-3.1-8b", stack);
    };
    for (const char* optim : {"sgd", "adagrad", "adafactor", "paged_adamw_8bit", "lion_8bit", "rmsprop_bnb"})
        CHECK_FALSE(fsdp1(optim, false));
    CHECK_FALSE(fsdp1("adamw_torch", true));
    CHECK_FALSE(fsdp1("adamw_torch_fused", false));
    CHECK(says(fsdp1("adamw_torch_fused", true), "training.optim", "doesn't match the broadcast shape [1]"));
    CHECK(says(fsdp1("adamw_torch_fused", true, "hf-2025-01"), "training.optim", "broadcast shape"));
    CHECK_FALSE(fsdp1("adamw_torch_fused", true, "hf-2025-07"));  // transformers 4.53.3 does not unscale
}

TEST_CASE("float16 weights are not trained with loss scaling") {
    const auto lora = [](TrainPlan& plan) {
        plan.training.fp16 = true;
        plan.load.dtype = DType::float16;
        plan.peft.emplace();
    };
    const auto full = [&](TrainPlan& plan) {
        lora(plan);
        plan.peft.reset();
    };
    CHECK(says(checked(full), "training.fp16", "Attempting to unscale FP16 gradients"));
    CHECK_FALSE(checked(lora));
    CHECK(checked(lora, "llama-2-7b", "hf-2024-04"));
    CHECK(checked([&](TrainPlan& plan) {
        lora(plan);
        plan.peft->bias = LoraBias::all;
    }));
    CHECK_FALSE(checked(
        [&](TrainPlan& plan) {
            lora(plan);
            plan.peft->bias = LoraBias::all;
        },
        "llama-2-7b"));
    CHECK(checked([&](TrainPlan& plan) {
        lora(plan);
        plan.peft->modules_to_save = {"lm_head"};
    }));
    CHECK(checked([&](TrainPlan& plan) {
              lora(plan);
              plan.loop.kind = LoopKind::plain;
          })->kind() == ErrorKind::unsupported);
}

TEST_CASE("releases that do not know a network") {
    const auto nothing = [](TrainPlan&) {};
    CHECK(checked(nothing, "gemma-2-2b", "hf-2024-04")->kind() == ErrorKind::unsupported);
    CHECK(checked(nothing, "qwen3-8b", "hf-2025-01"));
    CHECK_FALSE(checked(nothing, "qwen3-8b", "hf-2025-07"));
    CHECK(checked(nothing, "llama-3.1-8b", "hf-2024-04"));
    CHECK_FALSE(checked(nothing, "gemma-2b", "hf-2024-04"));
}

TEST_CASE("a sequence beyond the model's positions is noted") {
    TrainPlan plan;
    plan.batch.sequence_length = 100'000;
    const Notes notes = check_plan(load_model("gemma-2b", {}), plan, stack_from("").stack);
    REQUIRE(notes.size() == 1);
    CHECK(notes[0].kind == NoteKind::sequence_beyond_model);
}

TEST_CASE("a recorded mixture's experts are not quantized, and a note says how much they take") {
    const ModelSpec model = load_model("glm-4.5-air", {});
    CHECK(unquantized_parameters(model) == 45LL * 128 * 3 * 4096 * 1408);
    CHECK(unquantized_parameters(load_model("olmo-3-1025-7b", {})) == 0);
}
