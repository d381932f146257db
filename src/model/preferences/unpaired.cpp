// trl 1.16 trainer/kto_trainer.py DataCollatorForUnpairedPreference, KTOTrainer._prepare_dataset.
#include "model/preferences/unpaired.hpp"

#include <algorithm>
#include <span>

#include "engine/ops/copy.hpp"
#include "model/preferences/rows.hpp"
#include "vramfit/spec/pair_rows.hpp"

namespace vramfit::model {

using namespace engine;

namespace {

/// How much longer than the longest row each of the KL term's rows is: at most 0 for most.
std::vector<std::int64_t> longer_kl_rows(const PairLengths& pairs) {
    const std::size_t rows = std::max(pairs.prompt.size(), pairs.chosen_shorter.size());
    std::vector<std::int64_t> out;
    for (std::size_t row = 0; row < rows; ++row) {
        const std::size_t before = (row + rows - 1) % rows;
        out.push_back(of_row(pairs.prompt, row) - of_row(pairs.prompt, before) - of_row(pairs.chosen_shorter, before));
    }
    return out;
}

}  // namespace

std::int64_t kl_rows_longer(const TrainPlan& plan) {
    const auto longer = longer_kl_rows(plan.batch.pairs);
    const std::int64_t most = *std::max_element(longer.begin(), longer.end());
    if (!by_llama_factory(plan)) return most;
    const std::int64_t beyond = (most % kFactoryMultiple + kFactoryMultiple) % kFactoryMultiple;
    return beyond == 0 ? most : most + kFactoryMultiple - beyond;  // its collator pads these rows too
}

RunSizes sizes_of_kl_rows(const Run& run) {
    return {run.sizes.batch, run.sizes.length + kl_rows_longer(run.plan), run.sizes.rank};
}

TrainPlan plan_of_kl_rows(const TrainPlan& plan) {
    TrainPlan out = plan;
    const auto longer = longer_kl_rows(plan.batch.pairs);
    const std::int64_t most = kl_rows_longer(plan);
    std::vector<std::int64_t>& shorter = out.batch.pairs.chosen_shorter;
    shorter.clear();
    for (const std::int64_t n : longer) shorter.push_back(most - n);
    const bool pads = std::any_of(shorter.begin(), shorter.end(), [](std::int64_t n) { return n > 0; });
    out.batch.attention_mask = pads ? AttentionMask::right_padded : AttentionMask::ones;
    return out;
}

namespace {

std::int64_t half_rounded_up(const void*, std::span<const std::int64_t> rows) { return (rows[0] + 1) / 2; }

/// Desirable rows of a batch.
Size desirable_count(const Run& run) {
    const std::vector<bool>& labels = run.plan.batch.pairs.desirable;
    if (labels.empty()) return apply({half_rounded_up, "half, rounded up"}, nullptr, {run.sizes.batch});
    const auto size = static_cast<std::int64_t>(labels.size());
    const std::int64_t rows = run.plan.training.per_device_train_batch_size;
    if (run.session.decide("labels divide the rows", run.sizes.batch % size == 0))
        return run.sizes.batch / size * std::count(labels.begin(), labels.end(), true);
    run.session.decide("rows of labels that do not divide them", run.sizes.batch == rows);
    std::int64_t count = 0;
    for (std::int64_t row = 0; row < rows; ++row) count += labels[static_cast<std::size_t>(row % size)] ? 1 : 0;
    return count;
}

}  // namespace

DesirableRows desirable_rows(const Run& run) {
    const PairLengths& pairs = run.plan.batch.pairs;
    DesirableRows out{desirable_count(run), 0};
    const std::size_t rows = std::max(pairs.prompt.size(), pairs.chosen_shorter.size());
    if (rows == 1) {
        out.tokens = out.rows * (run.sizes.length - (pairs.prompt.front() + pairs.chosen_shorter.front()));
        return out;
    }
    for (std::size_t row = 0; row < rows; ++row) {
        const bool desirable = pairs.desirable.empty() ? row % 2 == 0 : pairs.desirable[row % pairs.desirable.size()];
        if (desirable)
            out.tokens =
                out.tokens + run.sizes.length - (of_row(pairs.prompt, row) + of_row(pairs.chosen_shorter, row));
    }
    return out;
}

Batch fetch_unpaired(const Run& run, bool references) {
    const bool has_kl = run.plan.preference.unpaired_loss == UnpairedLoss::kto;
    const Dims rows{run.sizes.batch, run.sizes.length};
    Batch batch;
    for (Tensor* t : {&batch.input_ids, &batch.attention_mask, &batch.completion_mask})
        *t = moved(run, rows, DType::int64);
    if (has_kl) {
        const Dims kl_rows{run.sizes.batch, sizes_of_kl_rows(run).length};
        for (Tensor* t : {&batch.kl_input_ids, &batch.kl_attention_mask, &batch.kl_completion_mask})
            *t = moved(run, kl_rows, DType::int64);
    }
    if (references) {
        batch.reference = moved(run, {run.sizes.batch}, DType::float32);
        if (has_kl) batch.reference_kl = moved(run, {run.sizes.batch}, DType::float32);
    }
    batch.desirable = moved(run, {run.sizes.batch}, DType::boolean);
    return batch;
}

}  // namespace vramfit::model
