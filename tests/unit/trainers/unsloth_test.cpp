// Unsloth's files: what is read as its own step, and what bars it.
#include <string>

#include <fmt/format.h>

#include "support/catch.hpp"
#include "unit/trainers/asked.hpp"
#include "vramfit/spec/stacks.hpp"
#include "vramfit/trainers/reading.hpp"

using namespace vramfit;
using test::asked_of;

namespace {

struct Parts {
    std::string model = "unsloth/mistral-7b-v0.3";
    std::string loading = "load_in_4bit = True";
    std::string adapters = "r = 16";
    std::string trainer = "tokenizer = tokenizer";
    std::string arguments = "optim = \"adamw_8bit\"";
    std::string loader = "FastLanguageModel";
    std::string trainer_class = "SFTTrainer";
};

Reading read(const Parts& parts, bool bf16_card = true) {
    TrainerQuestion question = asked_of(
        {{"train.py", fmt::format("from unsloth import {0}\nfrom trl import {6}, SFTConfig\n"
                                  "model, tokenizer = {0}.from_pretrained(model_name = \"{1}\", max_seq_length = 512, "
                                  "{2})\nmodel = {0}.get_peft_model(model, {3})\n"
                                  "trainer = {6}(model = model, {4}, train_dataset = dataset, args = SFTConfig({5}))\n"
                                  "trainer.train()\n",
                                  parts.loader, parts.model, parts.loading, parts.adapters, parts.trainer,
                                  parts.arguments, parts.trainer_class)}});
    question.bf16_card = bf16_card;
    question.stack = stack_from("unsloth-2026.10").stack;
    return read_trainer_files(question);
}

/// Why the script is not read as Unsloth's own step; empty: it is.
std::string bar_of(const Parts& parts) {
    const Reading reading = read(parts);
    const ReadingNote* const bound = reading.upper_bound();
    CHECK((reading.job.plan.loop.kind == LoopKind::unsloth) == !bound);
    return bound ? bound->text : "";
}

bool bars(const Parts& parts, const char* word) { return bar_of(parts).find(word) != std::string::npos; }

}  // namespace

TEST_CASE("a notebook's script is Unsloth's own step, on every card in the card's precision") {
    for (const bool bf16_card : {true, false}) {
        const TrainPlan plan = read({}, bf16_card).job.plan;
        CHECK(plan.loop.kind == LoopKind::unsloth);
        CHECK(plan.load.dtype == (bf16_card ? DType::bfloat16 : DType::float16));
        CHECK(plan.training.fp16 == !bf16_card);
        CHECK(plan.unsloth.checkpointing == UnslothCheckpointing::offloaded);
        CHECK(plan.unsloth.max_seq_length == 512);
        CHECK(plan.unsloth.padding_free);
        CHECK(plan.checkpoints());
    }
    CHECK(bar_of({.loading = "load_in_4bit = False"}) == "");
    CHECK(bar_of({.adapters = "r = 16, lora_dropout = 0.1"}) == "");
    CHECK(bar_of({.adapters = "r = 16, target_modules = [\"q_proj\", \"v_proj\"]"}) == "");
    CHECK(read({.adapters = "r = 16, use_gradient_checkpointing = True"}).job.plan.unsloth.checkpointing ==
          UnslothCheckpointing::plain);
}

TEST_CASE("Liger's kernels beside Unsloth's are refused: plain transformers with them is no bound") {
    const Reading reading = read({.arguments = "use_liger_kernel = True"});
    REQUIRE(reading.refusals.size() == 1);
    CHECK(reading.refusals[0].key == "use_liger_kernel");
    CHECK(read({.arguments = "use_liger_kernel = False"}).refusals.empty());
}

TEST_CASE("rows are padded where the script says so or brings a collator") {
    for (const Parts& parts : {Parts{.trainer = "data_collator = DataCollatorForSeq2Seq(tokenizer = tokenizer)"},
                               Parts{.arguments = "padding_free = False"}}) {
        CHECK(bar_of(parts) == "");
        CHECK_FALSE(read(parts).job.plan.unsloth.padding_free);
    }
    CHECK(bars({.trainer = "data_collator = make_collator()[0]"}, "another collator"));
    CHECK(bars({.trainer = "data_collator = DataCollatorForSeq2Seq(tokenizer, pad_to_multiple_of = 8)"}, "collator"));
}

TEST_CASE("of copies with layers in 16 bits those are known that runs have printed") {
    using Modules = std::vector<std::string>;
    const auto plan_of = [](const Parts& parts) {
        CHECK(bar_of(parts) == "");
        return read(parts).job.plan.unsloth;
    };
    for (const char* model : {"unsloth/Meta-Llama-3.1-8B", "meta-llama/Llama-3.2-3B-Instruct", "Qwen/Qwen2.5-7B",
                              "unsloth/Qwen3-8B-unsloth-bnb-4bit"}) {
        CHECK(plan_of({.model = model}).layers_unknown);
        CHECK(plan_of({.model = model}).skip_modules.empty());
        CHECK_FALSE(plan_of({.model = model, .loading = "load_in_4bit = False"}).layers_unknown);
    }
    CHECK_FALSE(plan_of({.model = "Qwen/Qwen2.5-7B", .loading = "use_exact_model_name = True"}).layers_unknown);
    for (const char* model : {"unsloth/Meta-Llama-3.1-8B-Instruct", "meta-llama/Meta-Llama-3.1-8B-Instruct",
                              "unsloth/Meta-Llama-3.1-8B-Instruct-unsloth-bnb-4bit"}) {
        const UnslothPlan plan = plan_of({.model = model});
        CHECK_FALSE(plan.layers_unknown);
        CHECK(plan.skip_modules == Modules{"model.layers.1.mlp"});
    }
    CHECK(plan_of({.model = "unsloth/Meta-Llama-3.1-8B-Instruct-bnb-4bit"}).skip_modules.empty());
    CHECK(plan_of({.model = "Qwen/Qwen2.5-0.5B-Instruct"}).skip_modules.size() == 5);
    CHECK(plan_of({.model = "unsloth/mistral-7b-v0.3"}).skip_modules.empty());
    const Reading copy = read({.model = "unsloth/Meta-Llama-3.1-8B-bnb-4bit"});
    CHECK_FALSE(copy.upper_bound());
    CHECK(copy.job.plan.unsloth.packed_checkpoint);
    CHECK(copy.job.model.hidden_size == 4096);
    CHECK(copy.job.model.num_hidden_layers == 32);
}

TEST_CASE("what Unsloth's step was not compared with bars the exact answer by name") {
    CHECK(bars({.loader = "FastModel"}, "FastModel"));
    CHECK(bars({.adapters = "r = 16, lora_dropout = 0.1, target_modules = [\"q_proj\"]"}, "dropout"));
    CHECK(bars({.adapters = "r = 16, lora_dropout = 0.1", .arguments = "padding_free = False"}, "padded rows"));
    CHECK(bars({.adapters = "r = 16, use_gradient_checkpointing = False"}, "without checkpointing"));
    CHECK(bars({.adapters = "r = 16, target_modules = [\"q_proj\", \"up_proj\"]"}, "part of the MLP"));
    CHECK(bars({.adapters = "r = 16, target_modules = [\"q_proj\", \"router\"]"}, "other modules"));
    CHECK(bars({.arguments = "packing = True, padding_free = False"}, "packing"));
    CHECK(bars({.arguments = "eval_strategy = \"steps\""}, "evaluation"));
    CHECK(bars({.trainer = "compute_metrics = measure"}, "logits"));
    CHECK(bars({.model = "google/gemma-2-2b"}, "gemma2"));
}

// unsloth 2026.10.7 models/_utils.py _redirect_embedding_targets, trainer.py UnslothTrainer.
TEST_CASE("an embedding and a head among the targets are trained whole, of which no bound is known") {
    const std::string targets = "r = 16, target_modules = [\"q_proj\", \"v_proj\", \"embed_tokens\", \"lm_head\"]";
    const Reading reading = read({.adapters = targets,
                                  .arguments = "optim = \"adamw_8bit\", embedding_learning_rate = 1e-5",
                                  .trainer_class = "UnslothTrainer"});
    const TrainPlan& plan = reading.job.plan;
    CHECK(plan.loop.kind == LoopKind::unsloth);
    REQUIRE(plan.peft);
    CHECK(plan.peft->modules_to_save == std::vector<std::string>{"embed_tokens", "lm_head"});
    CHECK(plan.unsloth.embedding_learning_rate == 1e-5);
    const Reading bound = read({.adapters = targets, .loader = "FastModel"});
    REQUIRE(bound.refusals.size() == 1);
    CHECK(bound.refusals.front().key == "modules_to_save");
}

TEST_CASE("inputs of layers that stay on the GPU are proposed to wait in host memory") {
    const auto proposes = [](const Parts& parts) {
        for (const Proposal& proposal : read(parts).proposals)
            if (proposal.id == "checkpointing")
                return proposal.edits ==
                       std::vector<TrainerEdit>{{"get_peft_model.use_gradient_checkpointing", "unsloth"}};
        return false;
    };
    CHECK(proposes({.adapters = "r = 16, use_gradient_checkpointing = True"}));
    CHECK_FALSE(proposes({}));
}
