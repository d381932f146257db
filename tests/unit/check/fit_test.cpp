// Whether a run fits, decided with few replays, against the verdict of a whole prediction.
#include "check/fit.hpp"

#include <string>

#include "support/catch.hpp"
#include "vramfit/check/plan_changes.hpp"
#include "vramfit/predict/predict.hpp"
#include "vramfit/spec/config.hpp"
#include "vramfit/spec/devices.hpp"
#include "vramfit/spec/environment.hpp"
#include "vramfit/spec/models.hpp"
#include "vramfit/spec/modules.hpp"
#include "vramfit/spec/stacks.hpp"

using namespace vramfit;

namespace {

Job lora_job(bool quantized) {
    Job job;
    job.model = load_model("qwen2.5-0.5b", Environment{});
    job.plan.peft.emplace().target_modules = default_targets(job.model);
    if (quantized) job.plan.load.quantization.emplace();
    job.plan.batch.sequence_length = 512;
    job.plan.training.per_device_train_batch_size = 2;
    job.stack = stack_from("").stack;
    return job;
}

/// What a run fits on, by twentieths of a card on which it surely does.
void compare(Job job, std::int64_t most) {
    int fitting = 0, others = 0;
    for (std::int64_t mib = most / 4; mib <= most; mib += most / 20) {
        job.device = device_from(std::to_string(mib) + "MiB");
        for (const char* conf :
             {"", "expandable_segments:True", "max_split_size_mb:64", "garbage_collection_threshold:0.6"}) {
            job.device.alloc_conf = conf;
            const Prediction p = predict(job);
            const auto fit = fit_of(job);
            INFO(mib << " MiB " << conf);
            REQUIRE(fit.has_value() == (p.verdict == Verdict::fits));
            ++(fit ? fitting : others);
            if (!fit) continue;
            CHECK(fit->reserved == p.peak.reserved);
            CHECK(fit->spare == p.device.usable.count - p.peak.reserved);
        }
    }
    CHECK(fitting > 4);
    CHECK(others > 4);
}

}  // namespace

TEST_CASE("a run fits where its prediction says so, and reserves as much", "[long]") {
    compare(lora_job(false), 6144);
    compare(lora_job(true), 6144);
}

TEST_CASE("runs that are judged one after the other are judged as each alone") {
    Job job = lora_job(false);
    job.device = device_from("4GiB");
    Fits fits;
    for (const std::int64_t batch : {8, 1, 4, 1, 8})
        for (const char* conf : {"", "expandable_segments:True"}) {
            job.plan.training.per_device_train_batch_size = batch;
            job.device.alloc_conf = conf;
            const auto known = fits(job), alone = fit_of(job);
            REQUIRE(known.has_value() == alone.has_value());
            if (known) CHECK(known->reserved == alone->reserved);
            CHECK(fits.requested(job).value_or(0) > 0);
        }
}

TEST_CASE("a prediction with the largest fit is what both say apart") {
    for (const std::int64_t batch : {1, 2})
        for (const char* card : {"3GiB", "8GiB"}) {
            Job job = lora_job(false);
            job.plan.training.per_device_train_batch_size = batch;
            job.device = device_from(card);
            const Prediction together = predict_with_largest_fit(job), apart = predict_with_next_larger(job);
            CHECK(together.peak == apart.peak);
            CHECK(together.verdict == apart.verdict);
            REQUIRE(together.next_larger.size() == apart.next_larger.size());
            for (std::size_t i = 0; i < apart.next_larger.size(); ++i) {
                CHECK(together.next_larger[i].peak == apart.next_larger[i].peak);
                CHECK(together.next_larger[i].verdict == apart.next_larger[i].verdict);
                CHECK(together.next_larger[i].left == apart.next_larger[i].left);
            }
            REQUIRE(together.largest.has_value() == (apart.verdict == Verdict::fits));
            if (!together.largest) continue;
            const LargestFit largest = largest_fit(job);
            CHECK(together.largest->batch == largest.batch);
            CHECK(together.largest->seq == largest.seq);
        }
}
