// A sweep's axes go on exactly as far as their smallest run may fit.
#include "vramfit/sweep/widen.hpp"

#include "support/catch.hpp"
#include "support/llama.hpp"
#include "vramfit/predict/predict.hpp"
#include "vramfit/spec/devices.hpp"
#include "vramfit/spec/models.hpp"
#include "vramfit/sweep/sweep.hpp"

using namespace vramfit;

namespace {

SweepQuestion question_on(const char* card) {
    const Job job = test::small_llama();
    SweepQuestion q{job.model, job.plan, job.stack, device_from(card), paper_space(job.model)};
    q.base.peft = LoraPlan{};
    q.model.max_position_embeddings = 3000;
    return q;
}

/// Whether the run of the first values of all axes but these requests what the card surely has.
bool may_fit(const SweepQuestion& q, std::int64_t batch, std::int64_t tokens) {
    SweepQuestion row = q;
    row.space = {{q.space.ranks.front()}, {batch}, {tokens}, {{"attention", {}}}};
    for (const TargetSet& set : q.space.targets)
        if (set.modules.size() == 1) row.space.targets = {set};
    const TrainPlan plan = plan_of(row.space, row.base, 0);
    return predict(q.model, plan, q.stack, q.device).peak.requested <= q.device.usable_low().count;
}

}  // namespace

TEST_CASE("lengths and batches are doubled while the smallest run of each may fit") {
    const auto* card = GENERATE("400MiB", "600MiB", "1GiB", "24GiB");
    CAPTURE(card);
    const SweepQuestion q = question_on(card);
    const SweepSpace wide = widened(q, {.length = true, .batch = true});
    const auto lengths = [&](std::size_t i) { return wide.lengths[q.space.lengths.size() + i]; };
    for (std::size_t i = 0; i < wide.lengths.size() - q.space.lengths.size(); ++i) CHECK(may_fit(q, 1, lengths(i)));
    if (const std::int64_t last = wide.lengths.back(); last < 3000)
        CHECK_FALSE(may_fit(q, 1, std::min<std::int64_t>(2 * last, 3000)));
    for (std::size_t i = q.space.batches.size(); i < wide.batches.size(); ++i) CHECK(may_fit(q, wide.batches[i], 128));
    if (const std::int64_t last = wide.batches.back(); last < 1024) CHECK_FALSE(may_fit(q, 2 * last, 128));
    CHECK(std::is_sorted(wide.lengths.begin(), wide.lengths.end()));
    CHECK(wide.lengths.back() <= 3000);
}

TEST_CASE("axes that are not to be widened stay as they are") {
    const SweepQuestion q = question_on("24GiB");
    CHECK(widened(q, {}).lengths == q.space.lengths);
    CHECK(widened(q, {.batch = true}).lengths == q.space.lengths);
    CHECK(widened(q, {.length = true}).batches == q.space.batches);
}

TEST_CASE("groups that share a module's name may stand together") {
    const ModelSpec gpt2 = load_model("gpt2", {});
    CHECK(target_set(gpt2, "attention+mlp").modules == std::vector<std::string>{"c_attn", "c_proj", "c_fc"});
    CHECK_THROWS(target_set(gpt2, "attention+attention"));
    CHECK_THROWS(target_set(gpt2, "attention+c_proj"));
    CHECK(paper_space(gpt2).targets.size() == 7);
}

TEST_CASE("where nothing fits, the nearest miss is the row that requests least") {
    SweepQuestion q = question_on("24GiB");
    q.space = {{8, 16}, {1, 2}, {128, 256}, {target_set(q.model, "attention")}};
    const SweepResult all = sweep(q, {});
    REQUIRE_FALSE(all.ranking.empty());
    CHECK_FALSE(all.nearest);
    q.device = device_from("tiny,8,0,108,1000000000,1000000");
    const SweepResult none = sweep(q, {});
    REQUIRE(none.ranking.empty());
    REQUIRE(none.nearest);
    CHECK(none.nearest->verdict == Verdict::too_large);
    const TrainPlan plan = plan_of(q.space, q.base, none.nearest->number);
    CHECK(plan.batch.sequence_length == 128);
    CHECK(plan.training.per_device_train_batch_size == 1);
    CHECK(plan.peft->r == 8);
    CHECK(none.nearest->missing == none.nearest->reserved - 1000000);
}
