// Buckets, broadcasts and gathers.
#include "model/collectives.hpp"

#include <algorithm>
#include <deque>
#include <map>

#include "engine/ops/copy.hpp"
#include "engine/ops/reduce.hpp"
#include "engine/session.hpp"

namespace vramfit::model {

using namespace engine;

namespace {

Size bytes_of(const Tensor& t) { return t.numel() * element_size(t.dtype()); }

/// flatten_dense_tensors (utils/tensor_flatten.h): a view if there is only one.
Tensor flat_copy(Session& session, std::span<const Tensor> tensors, const std::vector<std::size_t>& bucket) {
    if (bucket.size() == 1) return tensors[bucket[0]];
    Size elements = 0;
    for (const std::size_t i : bucket) elements += tensors[i].numel();
    return empty(session, {elements}, tensors[bucket[0]].dtype(), Op::cat);
}

}  // namespace

std::vector<std::vector<std::size_t>> assign_buckets(std::span<const Tensor> tensors,
                                                     std::span<const std::int64_t> limits, bool by_place) {
    struct Open {
        std::vector<std::size_t> places;
        Size bytes = 0;
        std::size_t limit = 0;
    };
    std::vector<std::vector<std::size_t>> buckets;
    std::map<DType, Open> open;
    for (std::size_t i = 0; i < tensors.size(); ++i) {
        Open& bucket = open[tensors[i].dtype()];
        bucket.places.push_back(i);
        bucket.bytes += bytes_of(tensors[i]);
        if (bucket.bytes < Size(limits[bucket.limit])) continue;
        buckets.push_back(std::move(bucket.places));
        bucket.places.clear();
        bucket.bytes = 0;
        bucket.limit = std::min(bucket.limit + 1, limits.size() - 1);
    }
    for (auto& [dtype, bucket] : open)
        if (!bucket.places.empty()) buckets.push_back(std::move(bucket.places));
    if (by_place) std::sort(buckets.begin(), buckets.end());
    return buckets;
}

void broadcast_coalesced(Session& session, std::span<const Tensor> tensors, std::int64_t bucket_bytes) {
    constexpr std::size_t kMostInFlight = 2;
    std::deque<Tensor> in_flight;
    for (const auto& bucket : assign_buckets(tensors, std::span(&bucket_bytes, 1), true)) {
        if (in_flight.size() == kMostInFlight) in_flight.pop_front();
        in_flight.push_back(flat_copy(session, tensors, bucket));
    }
    while (!in_flight.empty()) in_flight.pop_front();
}

Tensor gather_scalar(const Tensor& scalar, std::int64_t world) {
    const Tensor one = clone(scalar);
    return empty(scalar.session(), {world}, scalar.dtype(), Op::empty);
}

namespace {

/// ProcessGroupNCCL::allgather into a list: one flat tensor first.
void all_gather(Session& session, std::int64_t world, DType dtype) {
    const Tensor flat = empty(session, {world}, dtype, Op::empty);
}

}  // namespace

void sum_over_ranks(Session& session, std::int64_t world) {
    Tensor total;
    {
        const Tensor one = to_device(host_tensor(session, {1}, DType::float32));
        std::vector<Tensor> all;
        for (std::int64_t i = 0; i < world; ++i) all.push_back(clone(one));
        all_gather(session, world, DType::float32);
        total = empty(session, {world}, DType::float32, Op::cat);
    }
    const Tensor sum = sum_all(total);
}

void compare_shapes(Session& session, std::span<const Tensor> parameters, std::int64_t world) {
    const Tensor count = to_device(host_tensor(session, {1}, DType::int64));
    std::vector<Tensor> counts;
    for (std::int64_t i = 0; i < world; ++i) counts.push_back(empty(session, {1}, DType::int64, Op::empty));
    all_gather(session, world, DType::int64);
    std::int64_t numbers = 0;
    for (const Tensor& p : parameters) numbers += 2 * p.dim();
    const Tensor shapes = to_device(host_tensor(session, {numbers}, DType::int64));
}

}  // namespace vramfit::model
