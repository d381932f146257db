// Pictures of sweeps: a map with rows that fit, rows that do not, a row that no run can have, and two panels.
#include "picture.hpp"
#include "support/catch.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/report/format.hpp"

using namespace vramfit;

namespace {

SweepReport example_sweep() {
    SweepReport report;
    SweepQuestion& q = report.questions.emplace_back();
    q.model.name = "tiny & small";
    q.base.peft = LoraPlan{};
    q.device.name = "a card";
    q.device.capacity_known = true;
    q.device.usable = Bytes{4 * kGiB};
    q.space = {{8, 64}, {1, 2, 4}, {512, 1024, 2048, 4096}, {{"attention", {"q_proj"}}}};
    const std::vector<const Peak*> peaks = peaks_in_order();
    report.result.first_rows = {0};
    for (std::size_t n = 0; n < row_count(q.space); ++n) {
        const Coordinates c = coordinates_of(q.space, n);
        SweepRow& row = report.result.rows.emplace_back();
        row.number = n;
        row.status = RowStatus::simulated;
        row.requested =
            q.space.batches[c.batch] * q.space.lengths[c.length] * (kMiB / 2) + q.space.ranks[c.rank] * kMiB;
        row.verdict = row.requested <= q.device.usable.count ? Verdict::fits : Verdict::too_large;
        row.peak = peaks[c.length < 2 ? 0 : c.batch == 0 ? 1 : 2];
        if (n == 5) row.status = RowStatus::invalid;
    }
    return report;
}

}  // namespace

TEST_CASE("a sweep as a map") {
    const Format& svg = *find_format("svg");
    const SweepReport report = example_sweep();
    test::check_picture("sweep.svg", svg.sweep(report, {}));
}

TEST_CASE("maps of axes that there are not, and of too many values") {
    const Format& svg = *find_format("svg");
    SweepReport report = example_sweep();
    report.map = {"seq", "optim"};
    CHECK_THROWS_AS(svg.sweep(report, {}), Error);
    report.map = {"rank", "targets"};
    CHECK(svg.sweep(report, {}).find("seq 4096, batch 4") != std::string::npos);
}
