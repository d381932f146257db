// Job files of LLaMA-Factory's preference training: padded rows, its own arguments, what is not its own.
#include <fmt/format.h>

#include "support/catch.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/spec/job.hpp"
#include "vramfit/spec/pair_rows.hpp"
#include "vramfit/spec/plan_check.hpp"

using namespace vramfit;

namespace {

Job factory_job(const char* kind, const std::string& training, const char* trl = R"("trainer": "llama-factory")") {
    return read_job(fmt::format(R"({{"schema": "vramfit.job/1", "model": "smollm2-135m", "stack": "llamafactory-0.9.5",
                                    "loop": {{"kind": "{}"}}, "trl": {{{}}}, "training": {},
                                    "batch": {{"prompt_length": 10, "completion_length": 31}}}})",
                                kind, trl, training),
                    "job.json", {});
}

std::string why_factory_stops(const char* kind, const std::string& training,
                              const char* trl = R"("trainer": "llama-factory")") {
    try {
        const Job job = factory_job(kind, training, trl);
        (void)PlanChecker(job.model, job.stack).check(job.plan);
    } catch (const Error& error) {
        return error.problems().front().where;
    }
    return "";
}

}  // namespace

TEST_CASE("rows are padded to a multiple: all are that much shorter than the longest") {
    BatchPlan batch;
    batch.sequence_length = 41;
    batch.pairs.rejected_shorter = {0, 3};
    pad_rows(batch, 8);
    CHECK(batch.sequence_length == 48);
    CHECK(batch.pairs.chosen_shorter == std::vector<std::int64_t>{7});
    CHECK(batch.pairs.rejected_shorter == std::vector<std::int64_t>{7, 10});
    pad_rows(batch, 8);
    CHECK(batch.sequence_length == 48);
}

TEST_CASE("jobs of LLaMA-Factory's trainers") {
    const TrainPlan dpo = factory_job("dpo", R"({"loss_type": "ipo", "pref_ftx": 0.1, "pref_beta": 0.2})").plan;
    CHECK(by_llama_factory(dpo));
    CHECK(dpo.batch.sequence_length == 48);
    CHECK(dpo.preference.adds_sft);
    CHECK(dpo.preference.loss_types == std::vector{PairLoss::ipo});
    CHECK_FALSE(dpo.trl_makes_adapters);
    CHECK(dpo.training.use_reentrant == true);
    CHECK_FALSE(factory_job("kto", R"({"pref_ftx": 0})").plan.preference.adds_sft);
    CHECK(factory_job("cpo", "{}").plan.preference.contrast_loss == ContrastLoss::simpo);
    const Job job = factory_job("dpo", R"({"loss_type": "hinge", "pref_ftx": 0.1})");
    const TrainPlan again = read_job(to_json_text(job), "job.json", {}).plan;
    CHECK(again == job.plan);
}

TEST_CASE("what LLaMA-Factory's trainers do not have") {
    CHECK(why_factory_stops("dpo", "{}").empty());
    CHECK(why_factory_stops("kto", R"({"per_device_train_batch_size": 2})").empty());
    CHECK(why_factory_stops("dpo", R"({"ld_alpha": 0.5})") == "job.json /training/ld_alpha");
    CHECK(why_factory_stops("dpo", R"({"pref_bco_weight": 1})") == "job.json /training/pref_bco_weight");
    CHECK(why_factory_stops("dpo", R"({"loss_type": "sppo_hard"})") == "job.json /training/loss_type");
    CHECK(why_factory_stops("cpo", R"({"loss_type": "hinge"})") == "job.json /training/loss_type");
    CHECK(why_factory_stops("dpo", R"({"precompute_ref_log_probs": true})") ==
          "job.json /training/precompute_ref_log_probs");
    CHECK(why_factory_stops("dpo", "{}", R"("trainer": "llama-factory", "peft_config": true)") ==
          "job.json /trl/peft_config");
}
