// Sequences that are classified under Trainer.
#include "model/record.hpp"
#include "support/catch.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/predict/predict.hpp"
#include "vramfit/spec/job.hpp"

using namespace vramfit;

namespace {

Job classifier_job(const std::string& more = "", const std::string& labels = "3", const std::string& type = "llama") {
    return read_job(R"({"schema": "vramfit.job/1", "model": {"model_type": ")" + type +
                        R"(", "hidden_size": 128, "intermediate_size": 256, "num_hidden_layers": 2,
        "num_attention_heads": 4, "num_key_value_heads": 4, "vocab_size": 512, "tie_word_embeddings": false},
        "load": {"dtype": "float32", "num_labels": )" +
                        labels + R"(}, "training": {"per_device_train_batch_size": 4},
        "batch": {"sequence_length": 64})" +
                        more + "}",
                    "job.json", {});
}

std::string refused_classifier(const Job& job) {
    try {
        (void)program_of(job);
    } catch (const Error& error) {
        CHECK(error.kind() == ErrorKind::unsupported);
        return error.problems().front().where;
    }
    return {};
}

}  // namespace

TEST_CASE("a classifier has a head of its labels, and no logits of the vocabulary") {
    const Job job = classifier_job();
    Job language = job;
    language.plan.load.num_labels = 0;
    const Program program = program_of(job), other = program_of(language);
    CHECK(other.total_parameters - program.total_parameters == 128 * (512 - 3));
    const auto has = [](const Program& of, std::int64_t bytes) {
        return std::any_of(of.allocations.begin(), of.allocations.end(),
                           [bytes](const Allocation& made) { return made.bytes == bytes; });
    };
    CHECK(has(other, 4 * 64 * 512 * 4));
    CHECK_FALSE(has(program, 4 * 64 * 512 * 4));
    CHECK(has(program, 4 * 64 * 3 * 4));  // of all tokens
    CHECK(has(program, 4 * 3 * 4));       // of the last ones
    CHECK(read_job(to_json_text(job), "job.json", {}).plan == job.plan);
}

TEST_CASE("peft trains a copy of a classifier's head") {
    const Job job = classifier_job(R"(, "peft": {"r": 4, "target_modules": ["q_proj"]})");
    CHECK(program_of(job).trainable_parameters == 2 * 2 * 4 * 128 + 128 * 3);
}

TEST_CASE("tokens that are classified have a head with a bias, and scores of all tokens in float32") {
    const auto tokens = [](const std::string& more = "", const std::string& type = "llama") {
        return classifier_job(more, R"(3, "task_type": "TOKEN_CLS")", type);
    };
    const Program program = program_of(tokens()), rows = program_of(classifier_job());
    CHECK(program.total_parameters - rows.total_parameters == 3);
    CHECK(read_job(to_json_text(tokens()), "job.json", {}).plan == tokens().plan);
    const Job adapted = tokens(R"(, "peft": {"r": 4, "target_modules": ["q_proj"]})");
    CHECK(program_of(adapted).trainable_parameters == 2 * 2 * 4 * 128 + 128 * 3 + 3);
    CHECK(refused_classifier(tokens("", "gpt_neox")) == "load.task_type");
    CHECK_THROWS_AS(program_of(tokens(R"(, "peft": {"r": 4, "target_modules": "all-linear"})")), Error);
}

TEST_CASE("the numbers of a regression are float32") {
    CHECK(refused_classifier(classifier_job("", "1")).empty());
    CHECK(program_of(classifier_job("", "1")).total_parameters + 2 * 128 ==
          program_of(classifier_job()).total_parameters);
    Job job = classifier_job("", "1");
    job.plan.load.dtype = DType::bfloat16;
    CHECK_THROWS_AS(program_of(job), Error);
    job.plan.training.bf16 = true;
    CHECK_NOTHROW(program_of(job));
}

TEST_CASE("what classifiers were not compared with is refused") {
    CHECK(refused_classifier(classifier_job()).empty());
    CHECK(refused_classifier(classifier_job(R"(, "loop": {"kind": "plain"})")) == "load.num_labels");
    CHECK(refused_classifier(classifier_job(R"(, "loop": {"kind": "sft"})")) == "load.num_labels");
    CHECK(refused_classifier(classifier_job(R"(, "distributed": {"kind": "ddp", "world_size": 2})")) == "distributed");
    CHECK(refused_classifier(classifier_job("", "3", "granite")) == "load.num_labels");
    CHECK_THROWS_AS(classifier_job("", "0"), Error);
}
