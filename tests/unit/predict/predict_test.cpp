// Predictions: shares that sum to their peak, verdicts, quantities.
#include "vramfit/predict/predict.hpp"

#include <algorithm>
#include <numeric>

#include "support/catch.hpp"
#include "support/llama.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/spec/devices.hpp"

using namespace vramfit;
using test::small_llama;

namespace {

/// A card with exactly that much for the allocator.
Device card_with(std::int64_t usable) {
    Device device = device_from("test,8,0,108,85000000000,84000000000");
    device.context = device.total - Bytes{usable};
    device.usable = Bytes{usable};
    return device;
}

/// What is true of every prediction.
Prediction checked(const Job& job) {
    Prediction p = predict(job);
    std::int64_t most = 0;
    for (const PeakResult& peak : p.peaks) {
        CAPTURE(peak.name, peak.window);
        CHECK(std::accumulate(peak.shares.begin(), peak.shares.end(), std::int64_t{0}) == peak.requested);
        for (const std::int64_t share : peak.shares) CHECK(share >= 0);
        CHECK(peak.requested <= peak.allocated);
        CHECK(peak.allocated <= peak.reserved);
        CHECK(peak.process == peak.reserved + p.device.context.count);
        most = std::max(most, peak.requested);
    }
    CHECK(most == p.peak.requested);
    const auto highest =
        std::find_if(p.peaks.begin(), p.peaks.end(), [&](const PeakResult& peak) { return peak.name == p.highest; });
    REQUIRE(highest != p.peaks.end());
    CHECK(highest->requested == most);
    CHECK(p.quantities.at("phase.load") <= p.quantities.at("reserved_peak"));
    return p;
}

}  // namespace

TEST_CASE("the shares of every peak sum to it, and no window is left out") {
    Job job = small_llama(GENERATE(1, 3));
    job.plan.training.gradient_accumulation_steps = GENERATE(1, 2);
    const Prediction p = checked(job);
    const Timeline t = timeline(job);
    CHECK(p.peak == t.peak);
    CHECK(p.verdict == Verdict::not_asked);
    CHECK(p.total_parameters == p.trainable_parameters);
}

TEST_CASE("the verdict is that of a replay on the card") {
    Job job = small_llama();
    const Prediction unlimited = checked(job);

    job.device = card_with(unlimited.peak.reserved);
    const Prediction exact = checked(job);
    CHECK(exact.verdict == Verdict::fits);
    CHECK(exact.retries == 0);
    CHECK(exact.quantities.at("process_peak") == exact.peak.reserved + exact.device.context.count);

    job.device = card_with(unlimited.peak.allocated / 2);
    const Prediction small = checked(job);
    CHECK(small.verdict == Verdict::too_large);
    REQUIRE(small.out_of_memory);
    CHECK_FALSE(small.out_of_memory_window.empty());
    CHECK(small.out_of_memory_levels.reserved <= small.device.usable.count);
    CHECK(small.peak == unlimited.peak);
    CHECK(timeline(job).windows.size() == small.out_of_memory->window + 1);
}

TEST_CASE("a reserved peak above the card need not be too large: the allocator gives its cache back") {
    Job job = small_llama();
    const Prediction unlimited = checked(job);
    job.device = card_with(unlimited.peak.allocated + (unlimited.peak.reserved - unlimited.peak.allocated) / 2);
    const Prediction p = checked(job);
    if (p.verdict == Verdict::fits) CHECK(p.retries > 0);
    CHECK(p.peak.requested == unlimited.peak.requested);
}

TEST_CASE("the next larger batch and length, and how far each is from not fitting") {
    Job job = small_llama();
    CHECK(predict_with_next_larger(job).next_larger.empty());
    const std::int64_t reserved = predict(job).peak.reserved;
    job.device = card_with(reserved);
    const auto next = predict_with_next_larger(job).next_larger;
    REQUIRE(next.size() == 2);
    CHECK(next[0].flag == "--batch");
    CHECK(next[0].value == job.plan.training.per_device_train_batch_size + 1);
    CHECK(next[1].flag == "--seq");
    CHECK(next[1].value > job.plan.batch.sequence_length);
    CHECK(next[1].value % 128 == 0);
    for (const Neighbour& larger : next) {
        CHECK(larger.left == reserved - larger.peak.reserved);
        CHECK((larger.verdict == Verdict::too_large) == (larger.left < 0));
    }
    job.device = card_with(4 * reserved);
    for (const Neighbour& larger : predict_with_next_larger(job).next_larger) CHECK(larger.verdict == Verdict::fits);
}

TEST_CASE("the next larger batch and length are predicted as by themselves") {
    for (const std::int64_t batch : {1, 2}) {
        Job job = small_llama();
        job.plan.training.per_device_train_batch_size = batch;
        job.device = card_with(std::int64_t{8} << 30);
        const Prediction shared = predict_with_next_larger(job);
        const Prediction own = predict(job);
        CHECK(shared.peak == own.peak);
        CHECK(shared.end == own.end);
        REQUIRE(shared.peaks.size() == own.peaks.size());
        for (std::size_t i = 0; i < own.peaks.size(); ++i) CHECK(shared.peaks[i].shares == own.peaks[i].shares);
        REQUIRE(shared.next_larger.size() == 2);
        Job larger = job;
        larger.plan.training.per_device_train_batch_size = shared.next_larger[0].value;
        CHECK(shared.next_larger[0].peak == predict(larger).peak);
        Job longer = job;
        longer.plan.batch.sequence_length = shared.next_larger[1].value;
        CHECK(shared.next_larger[1].peak == predict(longer).peak);
    }
}

TEST_CASE("quantities are named as in job files") {
    Job job = small_llama();
    job.device = card_with(std::int64_t{40} << 30);
    const Prediction p = checked(job);
    for (const char* name : {"requested_peak",    "allocated_peak",     "active_peak",         "reserved_peak",
                             "managed_peak",      "after_load",         "after_load.reserved", "after_load.peak",
                             "after_adapter",     "resident",           "step1.after_forward", "step2.after_optimizer",
                             "allocated_end",     "phase.load",         "phase.forward",       "phase.backward",
                             "phase.optimizer",   "phase.loss_forward", "phase.loss_backward", "phase.layer_backward",
                             "outside_allocator", "process_peak"}) {
        CAPTURE(name);
        CHECK(p.quantities.contains(name));
    }
    CHECK(p.quantities.at("allocated_peak") == p.peak.allocated);
    CHECK(p.quantities.at("after_load") == p.after_load.allocated);
    CHECK(p.quantities.at("resident") == p.resident.allocated);
}

TEST_CASE("the peak window chooses what the peak quantities cover") {
    Job job = small_llama();
    const auto peak_in = [&](PeakWindow window) {
        job.plan.loop.peak_window = std::move(window);
        return predict(job).quantities.at("requested_peak");
    };
    const std::int64_t process = peak_in({PeakWindow::Kind::process, {}});
    const std::int64_t first = peak_in({PeakWindow::Kind::steps, {1}});
    const std::int64_t both = peak_in({PeakWindow::Kind::steps, {1, 2}});
    CHECK(first <= both);
    CHECK(both == peak_in({PeakWindow::Kind::train, {}}));
    CHECK(both <= process);
    job.plan.loop.peak_window = {PeakWindow::Kind::steps, {9}};
    CHECK_FALSE(predict(job).quantities.contains("requested_peak"));
}

TEST_CASE("notes of stack, card and plan come together") {
    Job job = small_llama();
    job.plan.batch.sequence_length = 2049;
    job.notes.push_back({NoteKind::version_unknown, "a", "b"});
    const Prediction p = predict(job);
    REQUIRE(p.notes.size() == 3);
    CHECK(p.notes[0].kind == NoteKind::version_unknown);
    CHECK(p.notes[1].kind == NoteKind::assumed_card);
    CHECK(p.notes[2].kind == NoteKind::sequence_beyond_model);
}

TEST_CASE("allocator settings are those that the stack's torch knows") {
    Job job = small_llama();
    job.device.alloc_conf = "expandable_segments:True";
    CHECK(checked(job).peak.requested > 0);
    job.device.alloc_conf = "large_segment_size_mb:40";
    CHECK_NOTHROW(predict(job));
    job.stack.torch = {2, 6, 0};
    CHECK_THROWS_AS(predict(job), Error);
}
