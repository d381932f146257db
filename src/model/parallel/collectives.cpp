// Buckets, broadcasts and gathers.
#include "model/parallel/collectives.hpp"

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

constexpr std::uint8_t kCollectives = 5;  // ProcessGroupNCCL's stream; methods count theirs from 1

/// A group that records its stream gives a tensor's memory back once the host knows that the collective is done.
void record_collective(const Tensor& t) {
    if (t.session().stack.collectives_record_streams()) t.session().streams.record(t, kCollectives);
}

/// ProcessGroupNCCL::collective on a tensor that computing has made.
void begin_collective(const Tensor& t) {
    if (t.session().stack.collectives_record_streams()) t.session().streams.work_on(t, kCollectives);
}

/// Work::wait: what is computed from now on comes behind it.
void finish_collective(Session& session) {
    if (session.stack.collectives_record_streams()) session.streams.wait(session.recorder.stream, kCollectives);
}

}  // namespace

void run_collective(Session& session) {
    const std::uint8_t current = session.recorder.stream;
    if (!session.stack.collectives_record_streams()) return session.streams.launch(current);
    session.streams.wait(kCollectives, current);
    session.streams.launch(kCollectives);
    finish_collective(session);
}

void all_reduce(const Tensor& t) {
    begin_collective(t);
    finish_collective(t.session());
}

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
    const auto finish_first = [&] {
        finish_collective(session);
        session.streams.launch(session.recorder.stream);  // the copies back
        in_flight.pop_front();
    };
    for (const auto& bucket : assign_buckets(tensors, std::span(&bucket_bytes, 1), true)) {
        if (in_flight.size() == kMostInFlight) finish_first();
        in_flight.push_back(flat_copy(session, tensors, bucket));
        begin_collective(in_flight.back());
    }
    while (!in_flight.empty()) finish_first();
}

void barrier(Session& session, Tensor& held) {
    held = empty(session, {1}, DType::uint8, Op::empty);
    const Tensor reduced = empty(session, {1}, DType::float32, Op::zeros);
}

Tensor gather_scalar(const Tensor& scalar, std::int64_t world) {
    const Tensor one = clone(scalar);
    return empty(scalar.session(), {world}, scalar.dtype(), Op::empty);
}

namespace {

/// ProcessGroupNCCL::allgather into a list, which may be parts of one tensor: one flat tensor first.
void all_gather(const Tensor& own, std::span<const Tensor> list, std::int64_t world) {
    const Tensor flat = empty(own.session(), {own.numel() * world}, own.dtype(), Op::empty);
    if (world == 1) return;  // a group of one has nobody to wait for
    begin_collective(own);
    for (const Tensor& t : list) record_collective(t);
    record_collective(flat);
    finish_collective(own.session());
}

}  // namespace

void sum_over_ranks(Session& session, std::int64_t world) {
    Tensor total;
    {
        const Tensor one = to_device(host_tensor(session, {1}, DType::float32));
        session.streams.host_waits(0);  // for that copy
        std::vector<Tensor> all;
        for (std::int64_t i = 0; i < world; ++i) all.push_back(clone(one));
        all_gather(one, all, world);
        total = empty(session, {world}, DType::float32, Op::cat);
    }
    const Tensor sum = sum_all(total);
    session.streams.host_waits(0);  // Tensor.item
}

void gather_object(Session& session, std::int64_t bytes, std::int64_t world) {
    const auto sent = [&](const Dims& sizes, DType dtype) {
        Tensor out = to_device(host_tensor(session, sizes, dtype));
        session.streams.host_waits(0);
        return out;
    };
    const Tensor object = sent({bytes}, DType::uint8);
    const Tensor size = sent({1}, DType::int64);
    const Tensor sizes = empty(session, {world}, DType::int64, Op::zeros);
    all_gather(size, std::span(&sizes, 1), world);
    for (std::int64_t i = 1; i < world; ++i) {  // max(object_size_list)
        const Tensor is_larger = empty(session, {1}, DType::boolean, Op::gt);
        session.streams.host_waits(0);
    }
    const Tensor all = empty(session, {bytes * world}, DType::uint8, Op::empty);
    all_gather(object, std::span(&all, 1), world);
    session.streams.host_waits(0);  // Tensor.cpu
}

void compare_shapes(Session& session, std::span<const Tensor> parameters, std::int64_t world) {
    const Tensor count = to_device(host_tensor(session, {1}, DType::int64));
    std::vector<Tensor> counts;
    for (std::int64_t i = 0; i < world; ++i) counts.push_back(empty(session, {1}, DType::int64, Op::empty));
    all_gather(count, counts, world);
    session.streams.host_waits(0);  // the counts are read
    std::int64_t numbers = 0;
    for (const Tensor& p : parameters) numbers += 2 * p.dim();
    const Tensor shapes = to_device(host_tensor(session, {numbers}, DType::int64));
    session.streams.host_waits(0);  // for that copy, then for the broadcast's
}

}  // namespace vramfit::model
