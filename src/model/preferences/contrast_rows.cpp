// trl 1.9 and 1.16 experimental/utils.py DPODataCollatorWithPadding, pad_to_length; CPOTrainer.concatenated_inputs.
#include "model/preferences/contrast_rows.hpp"

#include <algorithm>
#include <array>

#include "engine/ops/copy.hpp"
#include "engine/ops/pointwise.hpp"
#include "engine/ops/view.hpp"
#include "model/preferences/rows.hpp"

namespace vramfit::model {

using namespace engine;

namespace {

std::int64_t least_of(const std::vector<std::int64_t>& list) { return *std::min_element(list.begin(), list.end()); }

constexpr std::size_t kRowParts = 3;  // ids, mask, labels

/// torch.cat([t, pad_value * torch.ones(...)], dim=-1), or the tensor itself.
Tensor padded_on_device(const Tensor& t, const Size& length) {
    Session& session = t.session();
    if (!session.decide("rows are padded on the device", t.size(1) < length)) return t;
    const Tensor padding = [&] {
        const Tensor ones = empty(session, {t.size(0), length - t.size(1)}, DType::int64);
        return mul(ones, 1);
    }();
    const Tensor parts[] = {t, padding};
    return cat(parts, 1);
}

}  // namespace

Batch fetch_apart(const Run& run) {
    const PairLengths& pairs = run.plan.batch.pairs;
    const Size rows = pairs_of(run), length = run.sizes.length;
    Batch batch;
    for (const std::int64_t shorter : {least_of(pairs.chosen_shorter), least_of(pairs.rejected_shorter)})
        for (std::size_t part = 0; part < kRowParts; ++part)
            batch.apart.push_back(moved(run, {rows, length - shorter}, DType::int64));
    const std::int64_t prompt = *std::max_element(pairs.prompt.begin(), pairs.prompt.end());
    for (int part = 0; part < 2; ++part) batch.apart.push_back(moved(run, {rows, prompt}, DType::int64));
    return batch;
}

PutTogether put_together(const Run& run, const Batch& batch) {
    std::array<Tensor, kRowParts> chosen;
    for (std::size_t part = 0; part < kRowParts; ++part)
        chosen[part] = padded_on_device(batch.apart[part], run.sizes.length);
    for (std::size_t part = 0; part < kRowParts; ++part) {
        const Tensor halves[] = {chosen[part], padded_on_device(batch.apart[kRowParts + part], run.sizes.length)};
        chosen[part] = cat(halves, 0);
    }
    return {chosen[0], chosen[1], chosen[2]};
}

}  // namespace vramfit::model
