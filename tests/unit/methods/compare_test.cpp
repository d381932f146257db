// Methods for several cards: which rows there are, what they hold, how they are ranked, and what is sent.
#include <algorithm>

#include "methods/traffic.hpp"
#include "support/catch.hpp"
#include "support/llama.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/methods/compare.hpp"
#include "vramfit/predict/predict.hpp"
#include "vramfit/spec/deepspeed.hpp"
#include "vramfit/spec/devices.hpp"
#include "vramfit/spec/modules.hpp"

using namespace vramfit;

namespace {

MethodsQuestion asked_on(const char* card, std::int64_t cards = 4, std::int64_t layers = 1) {
    MethodsQuestion question;
    question.job = test::small_llama(layers);
    question.largest_batch = false;
    question.job.plan.training.bf16 = true;
    question.job.device = device_from(card);
    question.cards = cards;
    return question;
}

const MethodRow& row_called(const MethodsAnswer& answer, const std::string& id) {
    const auto found =
        std::find_if(answer.rows.begin(), answer.rows.end(), [&](const MethodRow& row) { return row.id == id; });
    REQUIRE(found != answer.rows.end());
    return *found;
}

Job run_job(DistributedMethod method, std::int64_t batches) {
    Job job = asked_on("24GiB").job;
    job.plan.training.gradient_accumulation_steps = batches;
    DistributedPlan& processes = job.plan.distributed.emplace();
    processes.world_size = 4;
    processes.method = std::move(method);
    return job;
}

Prediction run_of(DistributedMethod method, std::int64_t batches = 1) {
    return predict(run_job(std::move(method), batches));
}

Prediction checkpointed_run(DistributedMethod method) {
    Job job = run_job(std::move(method), 1);
    job.plan.set_checkpointing(true);
    job.plan.training.use_reentrant = false;
    return predict(job);
}

TEST_CASE("DeepSpeed sends gradients in float32 where precision is not mixed") {
    const auto sent = [](int stage) {
        Job job = run_job(zero_plan_of(stage), 1);
        job.plan.training.bf16 = false;
        return traffic_of(predict(job));
    };
    const std::int64_t parameters = run_of(DdpPlan{}).total_parameters;
    const std::int64_t in_16_bit = 2 * parameters / 4 * 3, in_32_bit = 4 * parameters / 4 * 3;
    CHECK(sent(2) == Traffic{.all_reduce = 2 * in_32_bit, .all_gather = in_16_bit});
    CHECK(sent(3) == Traffic{.all_gather = 2 * in_32_bit, .reduce_scatter = in_32_bit});
}

}  // namespace

TEST_CASE("a method's row is the prediction of its worst process") {
    const MethodsAnswer answer = compare_methods(asked_on("24GiB"));
    for (const MethodRow& row : answer.rows) {
        CAPTURE(row.id, row.refusal);
        if (!row.prediction) continue;
        for (const std::int64_t rank : row.processes) {
            Job job = row.job;
            if (job.plan.distributed) job.plan.distributed->rank = rank;
            const Prediction own = predict(job);
            CHECK(own.peak.reserved <= row.prediction->peak.reserved);
            CHECK(own.verdict == row.prediction->verdict);
        }
        CHECK(predict(row.job).peak.reserved == row.prediction->peak.reserved);
    }
}

TEST_CASE("the largest batch of a method fits, and one row more does not") {
    MethodsQuestion question = asked_on("1500MiB");
    question.job.device.assumptions.clear();
    question.largest_batch = true;
    const MethodsAnswer answer = compare_methods(question);
    for (const char* id : {"one_card", "ddp", "fsdp2"}) {
        const MethodRow& row = row_called(answer, id);
        REQUIRE(row.largest.value_or(0) > 0);
        CAPTURE(id, *row.largest);
        Job job = row.job;
        job.plan.training.per_device_train_batch_size = *row.largest;
        CHECK(predict(job).verdict == Verdict::fits);
        ++job.plan.training.per_device_train_batch_size;
        CHECK(predict(job).verdict != Verdict::fits);
    }
}

TEST_CASE("every method has the same rows in an optimizer step") {
    MethodsQuestion question = asked_on("24GiB");
    question.job.plan.training.gradient_accumulation_steps = 3;
    for (const MethodRow& row : compare_methods(question).rows) {
        if (!row.prediction) continue;
        const auto& processes = row.job.plan.distributed;
        const std::int64_t replicas = processes ? processes->replicas() : 1;
        CHECK(replicas * row.job.plan.training.gradient_accumulation_steps == 12);
    }
}

TEST_CASE("what fits goes first, what is refused last, and costs rise among equals") {
    const MethodsAnswer answer = compare_methods(asked_on("1500MiB"));
    const auto group = [](const MethodRow& row) { return row.fits() ? 0 : row.prediction ? 1 : 2; };
    for (std::size_t i = 1; i < answer.rows.size(); ++i) {
        const MethodRow& above = answer.rows[i - 1];
        const MethodRow& below = answer.rows[i];
        CHECK(group(above) <= group(below));
        const bool alike = group(above) == group(below) && group(above) < 2 && above.quantized == below.quantized &&
                           (above.traffic.with_host > 0) == (below.traffic.with_host > 0);
        if (alike) CHECK(above.cost <= below.cost);
    }
}

TEST_CASE("what a method cannot share is refused and goes last") {
    MethodsQuestion question = asked_on("24GiB");
    question.job.model.num_key_value_heads = 2;
    const MethodsAnswer answer = compare_methods(question);
    CHECK_FALSE(answer.rows.back().prediction);
    CHECK(row_called(answer, "tp").refusal.find("cannot be cut into 4 pieces") != std::string::npos);
}

TEST_CASE("tensor parallelism sends activations, and shares the work") {
    const Prediction run = run_of(TpPlan{}, 2);
    const std::int64_t tokens = run.plan.batch.sequence_length;
    const std::int64_t hidden = tokens * run.model.hidden_size * 2;
    const std::int64_t sums = 2 * hidden * 3 / 4;  // a ring of four
    const std::int64_t logits = tokens * run.model.vocab_size * 2 * 3 / 4;
    const Traffic once = traffic_of(run_of(TpPlan{}));
    CHECK(once == Traffic{.all_reduce = (run.model.num_hidden_layers * 7 + 1) * sums, .all_gather = logits});
    CHECK(traffic_of(run).between_cards() == 2 * once.between_cards());
    CHECK(traffic_of(checkpointed_run(TpPlan{})).all_reduce == once.all_reduce + run.model.num_hidden_layers * sums);
    const MethodsAnswer answer = compare_methods(asked_on("24GiB"));
    CHECK(row_called(answer, "tp").operations == row_called(answer, "ddp").operations);
}

TEST_CASE("a pipeline sends what layers give and its gradient, and waits while it fills and empties") {
    MethodsQuestion question = asked_on("24GiB", 4, 6);
    question.job.plan.training.gradient_accumulation_steps = 2;
    const MethodsAnswer answer = compare_methods(question);
    const MethodRow& row = row_called(answer, "pp");
    REQUIRE(row.prediction);
    const PipelinePlan& pipeline = *row.prediction->plan.distributed->as<PipelinePlan>();
    CHECK(pipeline.micro_batches == 8);
    CHECK(row.prediction->plan.training.gradient_accumulation_steps == 1);
    const std::int64_t hidden = question.job.plan.batch.sequence_length * question.job.model.hidden_size * 2;
    CHECK(row.traffic == Traffic{.send = 8 * 2 * hidden});
    CHECK(row.operations == row_called(answer, "ddp").operations);
    CHECK(row.cost == (row.operations + question.operations_per_byte * static_cast<double>(row.traffic.send)) * 11 / 8);
    CHECK(row.prediction->stages.size() == 4);
    for (const StageResult& stage : row.prediction->stages) CHECK(stage.peak.reserved <= row.prediction->peak.reserved);
    const Traffic two = traffic_of(*row_called(compare_methods(asked_on("24GiB", 2, 2)), "pp").prediction);
    CHECK(two == Traffic{.send = 2 * hidden});
}

TEST_CASE("context parallelism sends keys and values, and their gradients in float32") {
    Fsdp2Plan cut;
    cut.context.size = 4;
    const Prediction run = run_of(cut);
    const std::int64_t keys = 2 * run.plan.batch.sequence_length / 4 * run.model.num_key_value_heads *
                              run.model.head_dim * run.model.num_hidden_layers;
    const Traffic of_weights = traffic_of(run_of(Fsdp2Plan{}));
    const Traffic gathered = traffic_of(run);
    CHECK(gathered.all_gather == of_weights.all_gather + 2 * 3 * keys * 2);
    CHECK(gathered.reduce_scatter == of_weights.reduce_scatter);
    CHECK(gathered.send == 4 * keys * 4);
    cut.context.gathers = false;
    const Traffic passed = traffic_of(run_of(cut));
    CHECK(passed.all_gather == of_weights.all_gather);
    CHECK(passed.between_cards() == gathered.between_cards());
    CHECK(traffic_of(checkpointed_run(cut)).send == passed.send + 3 * keys * 2);
    const MethodsAnswer answer = compare_methods(asked_on("24GiB"));
    CHECK(row_called(answer, "fsdp2_cp").operations == row_called(answer, "fsdp2").operations);
}

TEST_CASE("FSDP is asked about packed weights in the dtype of the others") {
    MethodsQuestion question = asked_on("24GiB");
    question.job.plan.peft.emplace();
    question.quantized = question.job;
    question.quantized->plan.load.quantization.emplace();
    question.quantized->plan.prepare_kbit.emplace();
    const MethodsAnswer answer = compare_methods(question);
    const MethodRow& row = row_called(answer, "qlora_fsdp1");
    CAPTURE(row.refusal);
    REQUIRE(row.prediction);
    CHECK(row.job.plan.load.quantization->storage == DType::bfloat16);
    CHECK_FALSE(row.job.plan.prepare_kbit);
    const MethodRow& rows = row_called(answer, "qlora_fsdp2");
    CAPTURE(rows.refusal);
    REQUIRE(rows.prediction);
    CHECK(rows.job.plan.load.quantization->storage == DType::bfloat16);
    CHECK(rows.job.plan.prepare_kbit);
    const MethodRow& whole = row_called(answer, "fsdp1");
    REQUIRE(whole.prediction);
    CHECK(row.traffic.between_cards() < whole.traffic.between_cards());
    // Both gather twice; what is packed has a quarter of the bytes.
    std::int64_t packed = 0;
    for (const NamedModule& module : modules_of(row.prediction->model))
        if (module.layer >= 0 && module.kind == ModuleKind::linear) packed += module.in * module.out;
    CHECK(whole.traffic.all_gather - row.traffic.all_gather == 2 * (2 * packed - packed / 2) / 4 * 3);
    CHECK(rows.traffic.all_gather == row.traffic.all_gather);
    const MethodRow& pieces = row_called(answer, "qlora_zero3");
    CAPTURE(pieces.refusal);
    REQUIRE(pieces.prediction);
    CHECK(pieces.job.plan.load.quantization->storage == DType::uint8);
    CHECK(pieces.traffic.all_gather == rows.traffic.all_gather);
    Prediction in_bytes = *pieces.prediction;
    in_bytes.plan.load.quantization->method = QuantMethod::int8;
    CHECK(traffic_of(in_bytes).all_gather - pieces.traffic.all_gather == 2 * (packed / 2) / 4 * 3);
    Prediction whole_on_each = *rows.prediction;
    whole_on_each.plan.load.quantization->storage = DType::uint8;
    CHECK(rows.traffic.all_gather - traffic_of(whole_on_each).all_gather == 2 * (packed / 2) / 4 * 3);
}

TEST_CASE("a dearer byte puts methods that send less before those that compute less") {
    MethodsQuestion question = asked_on("24GiB");
    question.operations_per_byte = 0;
    const double computed = row_called(compare_methods(question), "fsdp2").cost;
    question.operations_per_byte = 10;
    const MethodsAnswer answer = compare_methods(question);
    const MethodRow& fsdp = row_called(answer, "fsdp2");
    CHECK(computed == fsdp.operations);
    CHECK(fsdp.cost == computed + 10 * static_cast<double>(fsdp.traffic.between_cards()));
}

TEST_CASE("checkpointing is taken where a run does not fit without it") {
    MethodsQuestion question = asked_on("24GiB", 4, 3);
    question.job.plan.batch.sequence_length = 1024;
    question.job.plan.training.per_device_train_batch_size = 8;
    CHECK_FALSE(row_called(compare_methods(question), "ddp").job.plan.training.gradient_checkpointing);
    question.job.device = device_from("5GiB");
    const MethodsAnswer tight = compare_methods(question);
    CHECK(row_called(tight, "ddp").job.plan.training.gradient_checkpointing);
    question.choose_checkpointing = false;
    CHECK_FALSE(row_called(compare_methods(question), "ddp").job.plan.training.gradient_checkpointing);
}

TEST_CASE("one card has no methods to share it") {
    const MethodsAnswer answer = compare_methods(asked_on("24GiB", 1));
    CHECK(answer.rows.size() == 1);
    CHECK(answer.rows.front().id == "one_card");
}

TEST_CASE("a run that makes no sense by itself is an error, not a refusal of every method") {
    MethodsQuestion question = asked_on("24GiB");
    question.job.plan.training.fp16 = true;  // beside bf16
    CHECK_THROWS_AS(compare_methods(question), Error);
}

TEST_CASE("what a process sends is what its collectives carry") {
    const std::int64_t parameters = run_of(DdpPlan{}).total_parameters;
    const std::int64_t around = 2 * parameters / 4 * 3;  // 16 bit, once around a ring of four
    CHECK(traffic_of(predict(asked_on("24GiB").job)) == Traffic{});
    CHECK(traffic_of(run_of(DdpPlan{})) == Traffic{.all_reduce = 2 * around});
    CHECK(traffic_of(run_of(DdpPlan{}, 3)) == Traffic{.all_reduce = 2 * around});
    CHECK(traffic_of(run_of(Fsdp2Plan{})) == Traffic{.all_gather = 2 * around, .reduce_scatter = around});
    CHECK(traffic_of(run_of(Fsdp2Plan{}, 3)) == Traffic{.all_gather = 6 * around, .reduce_scatter = around});
    CHECK(traffic_of(run_of(Fsdp2Plan{.reshard_after_forward = false})) ==
          Traffic{.all_gather = around, .reduce_scatter = around});
    CHECK(traffic_of(run_of(zero_plan_of(1), 3)) == Traffic{.all_reduce = 2 * around, .all_gather = around});
    CHECK(traffic_of(run_of(zero_plan_of(2), 3)) == Traffic{.all_reduce = 6 * around, .all_gather = around});
    ZeroPlan offloaded = zero_plan_of(2);
    offloaded.offload_optimizer = true;
    const Prediction run = run_of(offloaded);
    CHECK(traffic_of(run) ==
          Traffic{.all_reduce = 2 * around, .all_gather = around, .with_host = 2 * (2 * parameters / 4)});
    CHECK(host_bytes_of(run) == 16 * parameters);
    CHECK(host_bytes_of(run_of(zero_plan_of(2))) == 0);
}
