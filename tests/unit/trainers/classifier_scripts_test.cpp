// Scripts with transformers' Trainer that classify sequences.
#include <string>

#include "support/catch.hpp"
#include "unit/trainers/asked.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/trainers/reading.hpp"

using namespace vramfit;
using test::asked_of;

namespace {

std::string classifier_script(const std::string& arguments, const std::string& adapters = "",
                              const std::string& loader = "AutoModelForSequenceClassification") {
    std::string text =
        "from transformers import " + loader +
        ", Trainer, TrainingArguments\nfrom peft import LoraConfig, TaskType, get_peft_model\nmodel = " + loader +
        ".from_pretrained('meta-llama/Llama-3.2-1B'" + arguments + ")\n";
    if (!adapters.empty()) text += "model = get_peft_model(model, LoraConfig(r=8" + adapters + "))\n";
    return text +
           "args = TrainingArguments('o', per_device_train_batch_size=8)\n"
           "Trainer(model=model, args=args, train_dataset=d).train()\n";
}

/// Of a script that is read fully; what stops it otherwise.
std::string labels_or_stop(const std::string& text) {
    TrainerQuestion question = asked_of({{"a.py", text}});
    question.seq = 128;
    try {
        const Reading reading = read_trainer_files(question);
        if (!reading.refusals.empty()) return "refused " + reading.refusals.front().key;
        return std::to_string(reading.job.plan.load.num_labels);
    } catch (const Error& error) {
        return "invalid " + error.problems().front().where;
    }
}

}  // namespace

TEST_CASE("a script's classifier has the labels that it asks for, or two") {
    CHECK(labels_or_stop(classifier_script(", num_labels=5")) == "5");
    CHECK(labels_or_stop(classifier_script("")) == "2");
    CHECK(labels_or_stop(classifier_script(", num_labels=3, id2label=names, label2id=ids")) == "3");
    CHECK(labels_or_stop(classifier_script("", "", "AutoModelForCausalLM")) == "0");
    CHECK(labels_or_stop(classifier_script(", num_labels=1")) == "1");
    CHECK(labels_or_stop(classifier_script(", id2label=names")) == "refused from_pretrained.num_labels");
    CHECK(labels_or_stop(classifier_script(", num_labels=3, problem_type='multi_label_classification'")) ==
          "refused from_pretrained.problem_type");
    CHECK(labels_or_stop(classifier_script(", num_labels=3", "", "AutoModelForCausalLM")) ==
          "refused from_pretrained.num_labels");
    CHECK(labels_or_stop(classifier_script(", num_labels=3", "", "AutoModelForTokenClassification")) == "3");
}

TEST_CASE("adapters of a classifier are told that it classifies") {
    CHECK(labels_or_stop(classifier_script(", num_labels=3", ", task_type=TaskType.SEQ_CLS")) == "3");
    CHECK(labels_or_stop(classifier_script(", num_labels=3", ", task_type='SEQ_CLS'")) == "3");
    CHECK(labels_or_stop(classifier_script(", num_labels=3", ", task_type='CAUSAL_LM'")).starts_with("invalid"));
    CHECK(labels_or_stop(classifier_script(", num_labels=3", ", lora_alpha=16")) == "refused peft_config.task_type");
    CHECK(labels_or_stop(classifier_script("", ", task_type='SEQ_CLS'", "AutoModelForCausalLM")) ==
          "refused peft_config.task_type");
}
