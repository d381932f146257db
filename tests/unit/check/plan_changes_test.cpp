// Changes of flags and the largest run, each asked about again by predicting.
#include "vramfit/check/plan_changes.hpp"

#include "support/catch.hpp"
#include "vramfit/predict/predict.hpp"
#include "vramfit/spec/config.hpp"
#include "vramfit/spec/devices.hpp"
#include "vramfit/spec/environment.hpp"
#include "vramfit/spec/models.hpp"
#include "vramfit/spec/modules.hpp"
#include "vramfit/spec/stacks.hpp"

using namespace vramfit;

namespace {

Job lora_job(const char* model, const char* card) {
    Job job;
    job.model = load_model(model, Environment{});
    job.plan.peft.emplace().target_modules = default_targets(job.model);
    job.plan.batch.sequence_length = 1024;
    job.plan.training.per_device_train_batch_size = 4;
    job.stack = stack_from("").stack;
    job.device = device_from(card);
    return job;
}

/// The flags that this test's runs have.
Job changed(Job job, const FlagValues& values) {
    for (const auto& [flag, value] : values) {
        if (flag == "batch") job.plan.training.per_device_train_batch_size = std::stoll(value);
        if (flag == "accumulate") job.plan.training.gradient_accumulation_steps = std::stoll(value);
        if (flag == "seq") job.plan.batch.sequence_length = std::stoll(value);
        if (flag == "checkpointing") job.plan.set_checkpointing(true);
        if (flag == "checkpointing") job.plan.training.use_reentrant = false;
        if (flag == "use_liger_kernel") job.plan.training.use_liger_kernel = true;
        if (flag == "optim") job.plan.training.optim = value;
        if (flag == "alloc-conf") job.device.alloc_conf = value;
    }
    return job;
}

FlagValues values_of(const PlanChange& change) {
    FlagValues values;
    for (const FlagValue& flag : change.flags) values[flag.flag] = flag.value;
    return values;
}

}  // namespace

TEST_CASE("each change of flags fits when it is predicted") {
    const Job job = lora_job("llama-3.2-1b", "10GiB");
    REQUIRE(predict(job).verdict == Verdict::too_large);
    const PlanChanges found = plan_changes(job, [&](const FlagValues& values) { return changed(job, values); });
    REQUIRE(!found.changes.empty());
    CHECK(found.changes.size() <= 3);
    CHECK(!found.smallest);
    for (const PlanChange& change : found.changes) {
        const Prediction p = predict(changed(job, values_of(change)));
        CHECK(p.verdict == Verdict::fits);
        CHECK(p.peak.reserved == change.reserved);
        CHECK(change.titles.size() <= change.flags.size());
    }
}

TEST_CASE("a card that is too small for everything: the smallest run, and a card that holds it") {
    const Job job = lora_job("llama-3.2-1b", "2GiB");
    const JobWith with = [&](const FlagValues& values) { return changed(job, values); };
    const PlanChanges found = plan_changes(job, with);
    CHECK(found.changes.empty());
    REQUIRE(found.smallest);
    CHECK(found.smallest->spare < 0);
    CHECK(!found.tried.empty());
    REQUIRE(!found.holds_smallest.empty());
    Job held = with(values_of(*found.smallest));
    CHECK(predict(held).peak.reserved == found.smallest->reserved);
    held.device = device_from(found.holds_smallest);
    CHECK(predict(held).verdict == Verdict::fits);
}

TEST_CASE("the largest batch and length fit, and the next ones do not") {
    for (const char* card : {"16GiB", "24GiB"}) {
        Job job = lora_job("llama-3.2-1b", card);
        const LargestFit largest = largest_fit(job);
        REQUIRE(largest.batch > 0);
        REQUIRE(largest.seq > 0);
        const auto fits = [&](std::int64_t batch, std::int64_t seq) {
            Job other = job;
            other.plan.training.per_device_train_batch_size = batch;
            other.plan.batch.sequence_length = seq;
            return predict(other).verdict == Verdict::fits;
        };
        CHECK(fits(largest.batch, 1024));
        CHECK(!fits(largest.batch + 1, 1024));
        CHECK(fits(4, largest.seq));
        CHECK((largest.seq_is_all || !fits(4, largest.seq + 128)));
    }
}

TEST_CASE("flags are written as they are typed") {
    CHECK(text_of({{"batch", "2"}, {"accumulate", "8"}}) == "--batch 2 --accumulate 8");
}
