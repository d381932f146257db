// Evaluation behind the last step, and the class that a checkpoint of text and images is loaded with, by trainer.
#include "support/catch.hpp"
#include "unit/trainers/asked.hpp"
#include "vramfit/spec/config.hpp"
#include "vramfit/spec/stacks.hpp"
#include "vramfit/trainers/reading.hpp"

using namespace vramfit;
using test::asked_of;

namespace {

Reading answer(std::string name, std::string text) {
    TrainerQuestion question = asked_of({{std::move(name), std::move(text)}});
    question.seq = 256;
    return read_trainer_files(question);
}

bool evaluates(std::string name, std::string text) {
    return answer(std::move(name), std::move(text)).job.plan.evaluation.has_value();
}

/// What is said of the checkpoint's tower; empty: the text part is predicted.
std::string about_tower(std::string name, std::string text) {
    const Reading reading = answer(std::move(name), std::move(text));
    for (const Refusal& each : reading.refusals)
        if (each.what.find("takes images") != std::string::npos) return each.what;
    REQUIRE(reading.job.plan.load.text_part.value_or(false));
    return {};
}

const std::string kFactory =
    "stage: sft\ndo_train: true\nfinetuning_type: lora\ntemplate: x\nper_device_eval_batch_size: 16\n"
    "model_name_or_path: ";
const std::string kScript =
    "from transformers import AutoModelForCausalLM, Gemma3ForCausalLM, Trainer, TrainingArguments\n"
    "args = TrainingArguments(output_dir='o', per_device_eval_batch_size=16, do_eval=True)\n";
const std::string kTrain = "trainer = Trainer(model=model, args=args, train_dataset=d)\ntrainer.train()\n";
const std::string kLlama = "model = AutoModelForCausalLM.from_pretrained('llama-3.2-1b')\n";

}  // namespace

TEST_CASE("do_eval evaluates behind the last step where the trainer's own script does so") {
    CHECK(evaluates("f.yaml", kFactory + "llama-3.2-1b\ndo_eval: true\n"));
    CHECK_FALSE(evaluates("f.yaml", kFactory + "llama-3.2-1b\n"));
    const std::string run_clm = R"({"model_name_or_path": "llama-3.2-1b", "output_dir": "o", "do_train": true,)"
                                R"( "per_device_train_batch_size": 1, "block_size": 256, "do_eval": )";
    CHECK(evaluates("a.json", run_clm + "true}"));
    CHECK_FALSE(evaluates("a.json", run_clm + "false}"));
    CHECK_FALSE(evaluates("f.yaml", "model_name_or_path: llama-3.2-1b\nmax_length: 256\ndo_eval: true\n"));  // trl
}

TEST_CASE("a Python script evaluates where it calls trainer.evaluate(), whatever do_eval says") {
    CHECK_FALSE(evaluates("s.py", kScript + kLlama + kTrain));
    CHECK(evaluates("s.py", kScript + kLlama + kTrain + "trainer.evaluate()\n"));
    const Reading reading = answer("s.py", kScript + kLlama + kTrain + "trainer.evaluate()\n");
    CHECK(reading.job.plan.evaluation->per_device_eval_batch_size == 16);
}

TEST_CASE("a checkpoint with a vision tower is refused with the class that the trainer loads") {
    const std::string whole = "Gemma3ForConditionalGeneration";
    const std::string factory = about_tower("f.yaml", kFactory + "gemma-3-4b-it\n");
    CHECK(factory.find("LLaMA-Factory loads " + whole) != std::string::npos);
    CHECK(about_tower("f.yaml", "model: gemma-3-4b-it\ntrain_type: lora\nmax_length: 256\n").find("ms-swift") !=
          std::string::npos);
}

TEST_CASE("trainers that leave the tower as it is loaded are predicted with it, where its type was recorded") {
    const auto loads_tower = [](std::string name, std::string text) {
        return has_towers(answer(std::move(name), std::move(text)).job.model);
    };
    const std::string axolotl = "base_model: gemma-3-4b-it\ndatasets: []\nadapter: lora\nlora_r: 8\n";
    CHECK(loads_tower("f.yaml", axolotl));
    CHECK_FALSE(loads_tower("f.yaml", axolotl + "type_of_model: Gemma3ForCausalLM\n"));
    CHECK(loads_tower("f.yaml", axolotl + "type_of_model: Gemma3ForCausalLM\ntrust_remote_code: true\n"));
    CHECK(loads_tower("f.yaml", "model_name_or_path: gemma-3-4b-it\nmax_length: 256\n"));
    const std::string script = "model = AutoModelForCausalLM.from_pretrained('gemma-3-4b-it')\n";
    CHECK(loads_tower("s.py", kScript + script + kTrain));
    CHECK(answer("f.yaml", axolotl + "lora_target_linear: true\n").refusals.empty());
}

TEST_CASE("Qwen3.5, Gemma 4 and Mistral Small 3 are predicted whole where the trainer loads them whole", "[long]") {
    const auto loads_tower = [](std::string name, std::string text) {
        return has_towers(answer(std::move(name), std::move(text)).job.model);
    };
    const auto axolotl = [](const std::string& model, const std::string& more = "") {
        return fmt::format("base_model: {}\ndatasets: []\nadapter: lora\nlora_r: 8\n{}", model, more);
    };
    CHECK(loads_tower("f.yaml", axolotl("Qwen/Qwen3.5-4B")));
    CHECK(loads_tower("f.yaml", axolotl("google/gemma-4-31B")));
    CHECK(loads_tower("f.yaml", axolotl("ministral-3-8b", "lora_target_linear: true\n")));
    CHECK(loads_tower("f.yaml", "model_name_or_path: Qwen/Qwen3.5-4B\nmax_length: 256\n"));
    const Reading linear = answer("f.yaml", axolotl("Qwen/Qwen3.5-4B", "lora_target_linear: true\n"));
    CHECK(std::any_of(linear.refusals.begin(), linear.refusals.end(),
                      [](const Refusal& each) { return each.key == "lora_target_linear"; }));
    const auto script = [](const std::string& loader, const std::string& model) {
        return fmt::format("{}model = {}.from_pretrained('{}')\n{}", kScript, loader, model, kTrain);
    };
    CHECK_FALSE(loads_tower("s.py", script("AutoModelForCausalLM", "Qwen/Qwen3.5-4B")));
    CHECK(loads_tower("s.py", script("AutoModelForImageTextToText", "Qwen/Qwen3.5-4B")));
    CHECK(loads_tower("s.py", script("Qwen3_5ForConditionalGeneration", "Qwen/Qwen3.5-4B")));
    CHECK(loads_tower("s.py", script("AutoModelForCausalLM", "google/gemma-4-31B")));
    // The job that is written down loads what the file loads.
    CHECK(answer("s.py", script("AutoModelForImageTextToText", "Qwen/Qwen3.5-4B")).job.plan.load.text_part == false);
    CHECK(about_tower("s.py", script("AutoModelForCausalLM", "ministral-3-8b")).find("does not load") !=
          std::string::npos);
    CHECK(loads_tower("s.py", script("AutoModelForImageTextToText", "ministral-3-8b")));
    CHECK_FALSE(about_tower("f.yaml", kFactory + "ministral-3-8b\n").empty());
}

TEST_CASE("where the file itself loads the text part that is predicted") {
    const std::string axolotl = "base_model: gemma-3-4b-it\ndatasets: []\nadapter: lora\nlora_r: 8\n";
    CHECK(about_tower("f.yaml", axolotl + "type_of_model: Gemma3ForCausalLM\n").empty());
    CHECK(
        about_tower("s.py", kScript + "model = Gemma3ForCausalLM.from_pretrained('gemma-3-4b-it')\n" + kTrain).empty());
    const std::string unsloth =
        "from unsloth import FastModel\nfrom trl import SFTTrainer, SFTConfig\n"
        "model, tokenizer = FastModel.from_pretrained('gemma-3-4b-it', max_seq_length=256, load_in_4bit=True{})\n"
        "model = FastModel.get_peft_model(model, r=8)\n"
        "trainer = SFTTrainer(model=model, train_dataset=d, args=SFTConfig(per_device_train_batch_size=2))\n"
        "trainer.train()\n";
    const auto with = [&](const char* more) {
        std::string text = unsloth;
        return text.replace(text.find("{}"), 2, more);
    };
    CHECK(about_tower("s.py", with(", text_only=True")).empty());
    CHECK(about_tower("s.py", with("")).find("Unsloth loads") != std::string::npos);
}

TEST_CASE("of Qwen3.5 AutoModelForCausalLM loads the text part, and trainers the whole", "[long]") {
    const std::string factory = about_tower("f.yaml", kFactory + "qwen3.5-9b\n");
    CHECK(factory.find("LLaMA-Factory loads Qwen3_5ForConditionalGeneration") != std::string::npos);
    CHECK(
        about_tower("s.py", kScript + "model = AutoModelForCausalLM.from_pretrained('qwen3.5-9b')\n" + kTrain).empty());
    const std::string axolotl = "base_model: qwen3.5-9b\ndatasets: []\nadapter: lora\nlora_r: 8\n";
    CHECK(has_towers(answer("f.yaml", axolotl + "type_of_model: Gemma3ForCausalLM\n").job.model));
    CHECK(about_tower("f.yaml", axolotl + "type_of_model: Qwen3_5ForCausalLM\n").empty());
}
