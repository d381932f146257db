// Scripts in the style of public notebooks: each is read as it would run, or refused or asked about at its place.
#include <fstream>
#include <sstream>

#include <fmt/format.h>

#include "support/catch.hpp"
#include "trainers/read_text.hpp"
#include "unit/trainers/asked.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/spec/plan_names.hpp"
#include "vramfit/spec/stacks.hpp"
#include "vramfit/trainers/reading.hpp"

using namespace vramfit;
using test::asked_of;

namespace {

struct Script {
    std::string name;
    std::string expected;
    std::string text;
};

std::vector<Script> scripts_of(const std::string& file) {
    std::ifstream stream(std::string(VRAMFIT_TEST_DATA_DIR) + "/scripts/" + file);
    std::vector<Script> out;
    for (std::string line; std::getline(stream, line);) {
        if (line.starts_with("=== "))
            out.push_back({line.substr(4), {}, {}});
        else if (line.starts_with("> "))
            out.back().expected = line.substr(2);
        else
            out.back().text += line + "\n";
    }
    return out;
}

std::string targets_of(const LoraPlan& lora) {
    const auto* names = std::get_if<std::vector<std::string>>(&lora.target_modules);
    return names ? std::to_string(names->size()) : std::get<std::string>(lora.target_modules);
}

/// The plan in the words of the expectations.
std::string word_of(const Job& job, const std::string& key) {
    const TrainPlan& plan = job.plan;
    const TrainingPlan& training = plan.training;
    const auto& quantization = plan.load.quantization;
    const auto flag = [&](bool on, const char* name) { return on ? std::string(name) : fmt::format("not {}", name); };
    if (key == "model") return "model=" + job.model.name;
    if (key == "batch") return fmt::format("batch={}", training.per_device_train_batch_size);
    if (key == "steps") return fmt::format("steps={}", training.gradient_accumulation_steps);
    if (key == "optim") return "optim=" + training.optim;
    if (key == "seq") return fmt::format("seq={}", plan.batch.sequence_length);
    if (key == "dtype") return fmt::format("dtype={}", name_of(plan.load.dtype));
    if (key == "attention") return fmt::format("attention={}", name_of(plan.load.attention));
    if (key == "r") return fmt::format("r={}", plan.peft ? plan.peft->r : 0);
    if (key == "kind") return fmt::format("kind={}", plan.peft ? facts_of(plan.peft->kind).name : "none");
    if (key == "targets") return "targets=" + targets_of(plan.peft.value());
    if (key == "saved") return fmt::format("saved={}", plan.peft.value().modules_to_save.size());
    if (key == "loop") return plan.loop.kind == LoopKind::sft ? "loop=sft" : "loop=trainer";
    if (key == "compute")
        return fmt::format("compute={}", name_of(quantization.value().compute_dtype.value_or(DType::float32)));
    if (key == "quant") {
        const char* names[] = {"nf4", "fp4", "int8"};
        return fmt::format("quant={}", quantization ? names[static_cast<int>(quantization->method)] : "none");
    }
    if (key == "double") return flag(quantization.value().double_quant, "double");
    if (key == "bf16") return flag(training.bf16, "bf16");
    if (key == "nobf16") return flag(!training.bf16, "nobf16");
    if (key == "fp16") return flag(training.fp16, "fp16");
    if (key == "gc") return flag(training.gradient_checkpointing, "gc");
    if (key == "nogc") return flag(!training.gradient_checkpointing, "nogc");
    if (key == "lgc") return flag(plan.load.gradient_checkpointing, "lgc");
    if (key == "prepared") return flag(plan.prepare_kbit.has_value(), "prepared");
    if (key == "device") return flag(plan.load.on_device, "device");
    if (key == "host") return flag(!plan.load.on_device, "host");
    if (key == "by_trainer") return flag(plan.load.moved_by_trainer, "by_trainer");
    return "unknown word";
}

/// What the script becomes, in the words that are expected: the plan, a refusal, or what is asked for.
std::string outcome_of(const Script& script, TrainerQuestion question) {
    std::istringstream words(script.expected);
    std::string out;
    std::string want;
    try {
        const Reading reading = read_trainer_files(question);
        if (!reading.refusals.empty()) {
            const Refusal& first = reading.refusals.front();
            out = fmt::format("refused={}:{}:{}", first.place.at.line, first.place.at.column, first.key);
        }
        while (reading.refusals.empty() && words >> want) {
            const std::string key = want.substr(0, want.find('='));
            const bool condition = key == "card" || key == "length" || key == "set" || key == "stack";
            out += (out.empty() ? "" : " ") +
                   (condition         ? want
                    : key == "packed" ? (reading.rows.fixed ? std::string("packed") : std::string("not packed"))
                                      : word_of(reading.job, key));
        }
    } catch (const Error& error) {
        std::string where = error.problems().front().where;  // "train.py:4:5 key"
        where = where.substr(std::min(where.size(), where.find(':') + 1));
        const std::size_t blank = where.find(' ');
        if (blank != where.npos) where[blank] = ':';
        out = "asked=" + where;
    }
    return out;
}

TrainerQuestion question_of(const Script& script) {
    TrainerQuestion question = asked_of({{"train.py", script.text}});
    std::istringstream words(script.expected);
    for (std::string word; words >> word;) {
        const std::string value = word.substr(word.find('=') + 1);
        if (word.starts_with("card=")) question.bf16_card = false;
        if (word.starts_with("length=")) question.seq = std::stoll(value);
        if (word.starts_with("stack=")) question.stack = stack_from(value).stack;
        if (word.starts_with("set="))
            question.edits = {{value.substr(0, value.find('=')), value.substr(value.find('=') + 1)}};
    }
    return question;
}

}  // namespace

TEST_CASE("scripts of notebooks are read fully, or refused or asked about at the place", "[scripts]") {
    int count = 0;
    for (const char* file : {"unsloth.txt", "trl.txt", "transformers.txt"})
        for (const Script& script : scripts_of(file)) {
            INFO(file << ": " << script.name);
            CHECK(outcome_of(script, question_of(script)) == script.expected);
            ++count;
        }
    CHECK(count >= 60);
}
