// The trace, the fetches and the releases.
#include "model/parallel/zero/coordinator.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include "engine/ops/copy.hpp"
#include "engine/session.hpp"
#include "model/network/in_module.hpp"

namespace vramfit::model {

using namespace engine;

namespace {

constexpr std::uint8_t kCollectiveStream = 3;  // NCCL's own, of collectives that are waited for later

}  // namespace

Coordinator::Coordinator(Session& session, Partitions& partitions, const ZeroPlan& plan, std::int64_t prefetch,
                         std::uint8_t stream)
    : session_(session),
      partitions_(partitions),
      stream_(plan.overlap_comm.value_or(true) ? stream : std::uint8_t{0}),
      prefetch_(prefetch),
      most_live_(plan.max_live_parameters),
      most_reuse_(plan.max_reuse_distance),
      mode_(session.stack.zero3_records_first_pass() ? Mode::record : Mode::invalid) {}

std::size_t Coordinator::module_at(const ModuleKey& key) {
    const auto [place, is_new] = by_key_.try_emplace(key, modules_.size());
    if (is_new) modules_.emplace_back();
    return place->second;
}

void Coordinator::set_parameters(const ModuleKey& key, std::vector<std::size_t> ids) {
    modules_[module_at(key)].parameters = std::move(ids);
}

void Coordinator::read(const std::vector<std::size_t>& running, const Tensor& parameter) {
    const std::size_t* const found = partitions_.find(parameter);
    if (!found || partitions_[*found].status != Status::not_available) return;  // a cast is no parameter
    const std::size_t id = *found;
    std::vector<std::size_t>& ids = modules_[running.back()].parameters;
    if (std::find(ids.begin(), ids.end(), id) == ids.end()) ids.push_back(id);
    const Scoped<Category> fresh(session_.recorder.fresh, Category::weights);
    partitions_.gather({&id, 1});
}

// _clean_inflight_param_registry.
void Coordinator::drop_in_flight() {
    for (auto& [id, handle] : in_flight_) {
        wait(*handle);
        release_parameter(id);
    }
    in_flight_.clear();
}

// zero/utils.py assert_ints_same_as_other_ranks: how many, then which; the host reads both.
void Coordinator::compare_with_other_ranks(std::size_t count) {
    if (session_.stack.zero3_compares_lengths()) {
        { const Tensor length = to_device(host_tensor(session_, {}, DType::int64)); }
        session_.streams.host_waits(0);
    }
    if (count > 0)
        const Tensor ints = to_device(host_tensor(session_, {static_cast<std::int64_t>(count)}, DType::int64));
    session_.streams.host_waits(0);
}

void Coordinator::reset_step() {
    drop_in_flight();
    if (mode_ != Mode::complete) {
        compare_with_other_ranks(order_.size());
        if (mode_ == Mode::record) {
            for (std::size_t step = 0; step < order_.size(); ++step) {
                std::vector<std::size_t> ids = modules_[order_[step]].parameters;
                std::sort(ids.begin(), ids.end());
                for (const std::size_t id : ids) uses_.push_back({id, static_cast<std::int64_t>(step)});
            }
            compare_with_other_ranks(uses_.size());
            compare_with_other_ranks(uses_.size());
            mode_ = Mode::complete;
        } else {
            mode_ = Mode::record;
        }
    }
    queue_.assign(uses_.begin(), uses_.end());
    fetched_for_.clear();
    step_ = 0;
    live_ = 0;
}

// trace_prologue.
void Coordinator::check_trace(std::size_t module) {
    if (mode_ != Mode::complete) return;
    const auto step = static_cast<std::size_t>(step_);
    if (step < order_.size() && order_[step] == module) return;
    invalidate();
}

void Coordinator::invalidate() {
    if (mode_ == Mode::invalid) return;
    mode_ = Mode::invalid;
    order_.clear();
    uses_.clear();
    fetched_for_.clear();
    queue_.clear();
    drop_in_flight();
}

// __all_gather_params_, all_gather_coalesced: one parameter comes into its own memory, several into one flat tensor.
void Coordinator::gather(const std::vector<std::size_t>& given) {
    auto handle = std::make_shared<Handle>();
    for (const std::size_t id : given)
        if (partitions_[id].status == Status::not_available) handle->ids.push_back(id);
    if (handle->ids.empty()) return;
    std::sort(handle->ids.begin(), handle->ids.end());
    const OnStream on(session_.recorder, stream_);
    const Scoped<Category> fresh(session_.recorder.fresh, Category::weights);
    const bool alone = partitions_.world() == 1;                    // _no_gather_coalesced: the piece is the parameter
    std::map<std::string_view, std::vector<std::size_t>> by_dtype;  // sort_dtypes: by name
    for (const std::size_t id : handle->ids) {
        if (alone)
            partitions_.take(id, partitions_.piece_on_device(id));
        else
            by_dtype[name_of(partitions_[id].piece.dtype())].push_back(id);
        live_ += partitions_[id].elements;
        partitions_[id].status = Status::in_flight;
    }
    for (const auto& [name, ids] : by_dtype) {
        std::int64_t elements = 0;
        for (const std::size_t id : ids) elements += partitions_[id].in_piece;
        const DType dtype = partitions_[ids[0]].piece.dtype();
        const Tensor flat = empty(session_, {elements * partitions_.world()}, dtype);
        std::vector<Tensor> pieces;
        for (const std::size_t id : ids) pieces.push_back(partitions_.piece_on_device(id));
        if (handle->ids.size() == 1) {
            handle->pieces = std::move(pieces);
            partitions_.take(ids[0], flat);
        } else {
            belongs_to(flat, partitions_.around(ids));
            handle->flats.emplace_back(ids, flat);
        }
    }
    if (!alone) {
        session_.streams.launch(stream_);  // the copy of the pieces
        session_.streams.wait(kCollectiveStream, stream_);
        session_.streams.launch(kCollectiveStream);
        handle->done = session_.streams.now(kCollectiveStream);
    }
    for (const std::size_t id : handle->ids) in_flight_.emplace_back(id, handle);
}

// AllGatherCoalescedHandle.wait.
void Coordinator::wait(Handle& handle) {
    if (handle.complete) return;
    handle.complete = true;
    handle.pieces.clear();
    session_.streams.wait(session_.recorder.stream, handle.done);
    const Scoped<Category> fresh(session_.recorder.fresh, Category::weights);
    for (const auto& [ids, flat] : handle.flats) {
        for (const std::size_t id : ids) {
            const PartitionedParameter& p = partitions_[id];
            partitions_.take(id, empty(session_, {p.elements}, p.piece.dtype(), Op::cat));
        }
    }
    for (const std::size_t id : handle.ids) partitions_[id].status = Status::available;
}

std::shared_ptr<Coordinator::Handle> Coordinator::in_flight(std::size_t id) const {
    for (const auto& [fetched, handle] : in_flight_)
        if (fetched == id) return handle;
    return nullptr;
}

void Coordinator::finish(std::size_t id) {
    const std::shared_ptr<Handle> handle = in_flight(id);
    if (!handle) return;
    std::erase_if(in_flight_, [id](const auto& fetched) { return fetched.first == id; });
    wait(*handle);
}

void Coordinator::wait_for(std::size_t id) {
    if (!in_flight(id)) return;
    const OnStream on(session_.recorder, stream_);
    fetches_.make_room(session_.streams);
    finish(id);
    fetches_.add(session_.streams.now(stream_));
}

// A Python set of parameters, in the order of their addresses: what a leaf needs comes out of several gathers, whose
// flat tensors go with the last parameter that is waited for. Taken is an order that needs the most: first one of each
// gather that has others left, then those that are the last of theirs.
std::vector<std::size_t> Coordinator::in_order_of_waiting(std::vector<std::size_t> ids) const {
    std::map<const Handle*, int> left;
    for (const auto& [id, handle] : in_flight_) ++left[handle.get()];
    std::map<std::size_t, int> turn;
    std::set<const Handle*> opened;
    std::sort(ids.begin(), ids.end());
    for (const std::size_t id : ids) {
        const Handle* const handle = in_flight(id).get();
        const bool last = handle && left[handle] == 1;
        const bool opens = !last && handle && opened.insert(handle).second;
        turn[id] = opens ? 0 : last ? 1 : 2;
    }
    std::stable_sort(ids.begin(), ids.end(), [&](std::size_t a, std::size_t b) { return turn[a] < turn[b]; });
    return ids;
}

// _fetch_sub_module_impl.
void Coordinator::fetch(std::size_t module, bool forward) {
    check_trace(module);
    if (mode_ == Mode::record) order_.push_back(module);
    if (!forward && std::find(in_backward_.begin(), in_backward_.end(), module) == in_backward_.end())
        in_backward_.push_back(module);
    const std::vector<std::size_t> wanted = modules_[module].parameters;
    gather(wanted);
    for (const std::size_t id : in_order_of_waiting(wanted)) {
        PartitionedParameter& p = partitions_[id];
        p.used.insert(module);
        if (forward && session_.recomputing && !in_backward_.empty() && !p.tensor.requires_grad()) {
            modules_[in_backward_.back()].recomputed.insert(id);  // update_recompute_parameters
            p.used.insert(in_backward_.back());
        }
        wait_for(id);
    }
    session_.streams.wait(session_.recorder.stream, stream_);
    if (mode_ == Mode::complete) {
        take_from_queue(wanted);
        if (prefetch_ > 0) prefetch();
    }
    ++step_;
}

// What this module needs is not gathered ahead later.
void Coordinator::take_from_queue(const std::vector<std::size_t>& wanted) {
    std::set<std::size_t> not_fetched, discarded;
    for (const std::size_t id : wanted) {
        const auto fetched = fetched_for_.find(id);
        if (fetched == fetched_for_.end() || fetched->second < step_) not_fetched.insert(id);
    }
    while (!queue_.empty() && discarded.size() < not_fetched.size()) {
        const Use use = queue_.front();
        queue_.pop_front();
        fetched_for_[use.parameter] = use.step;
        discarded.insert(use.parameter);
    }
}

void Coordinator::prefetch() {
    const std::int64_t most = std::min(most_live_ - live_, prefetch_);
    std::vector<std::size_t> ids;
    std::int64_t elements = 0;
    while (!queue_.empty() && elements < most) {
        const Use use = queue_.front();
        queue_.pop_front();
        const PartitionedParameter& p = partitions_[use.parameter];
        const bool wanted =
            p.status == Status::not_available && std::find(ids.begin(), ids.end(), use.parameter) == ids.end();
        const auto [fetched, is_new] = fetched_for_.try_emplace(use.parameter, use.step);
        if (!is_new) fetched->second = std::max(fetched->second, use.step);
        if (!wanted) continue;
        ids.push_back(use.parameter);
        elements += p.elements;
    }
    if (elements > 0) gather(ids);
}

// iter_params(module, recurse=z3_leaf_module(submodule_to_release)): a leaf looks into the modules around leaves, other
// modules do not look into leaves, which have no parameters of their own.
const std::vector<std::size_t>& Coordinator::seen_from(const Module& released, const Module& next) {
    static const std::vector<std::size_t> kNone;
    if (released.is_leaf) return next.inside.empty() ? next.parameters : next.inside;
    return next.is_leaf ? kNone : next.parameters;
}

// __params_to_release: not what is used again before max_reuse_distance elements have passed.
std::set<std::size_t>& Coordinator::to_release(std::size_t module) {
    const auto [place, is_new] = releases_.try_emplace({module, step_});
    std::set<std::size_t>& ids = place->second;
    if (!is_new) return ids;
    for (const std::size_t id : modules_[module].parameters) {
        const auto fetched = fetched_for_.find(id);
        const bool skipped = fetched != fetched_for_.end() && fetched->second > step_;
        if (!partitions_[id].persists && !skipped) ids.insert(id);
    }
    std::int64_t passed = 0;
    for (auto i = static_cast<std::size_t>(step_); i < order_.size() && passed < most_reuse_; ++i) {
        for (const std::size_t id : seen_from(modules_[module], modules_[order_[i]])) {
            ids.erase(id);
            passed += partitions_[id].elements;
        }
    }
    return ids;
}

void Coordinator::release(std::size_t module, bool forward) {
    Module& m = modules_[module];
    std::set<std::size_t> all(m.parameters.begin(), m.parameters.end());
    std::set<std::size_t> own = all;
    std::set<std::size_t>& ids = mode_ == Mode::complete ? to_release(module) : own;
    if (!forward) {
        for (const std::size_t id : m.recomputed)
            if (!partitions_[id].persists) ids.insert(id);
        all.insert(m.recomputed.begin(), m.recomputed.end());
        m.recomputed.clear();
        std::erase(in_backward_, module);
    }
    for (const std::size_t id : all) {
        partitions_[id].used.erase(module);
        if (ids.count(id)) release_parameter(id);
    }
}

void Coordinator::release_leftovers() {
    while (!in_backward_.empty()) {
        const std::size_t module = in_backward_.back();
        in_backward_.pop_back();
        Module& m = modules_[module];
        std::set<std::size_t> all(m.parameters.begin(), m.parameters.end());
        all.insert(m.recomputed.begin(), m.recomputed.end());
        m.recomputed.clear();
        for (const std::size_t id : all) {
            partitions_[id].used.erase(module);
            if (!partitions_[id].persists) release_parameter(id);
        }
    }
}

void Coordinator::release_all(const std::vector<std::size_t>& ids) {
    for (const std::size_t id : ids) {
        finish(id);
        partitions_[id].used.clear();
        release_parameter(id);
    }
}

void Coordinator::release_parameter(std::size_t id) {
    PartitionedParameter& p = partitions_[id];
    if (p.status != Status::available || !p.used.empty()) return;
    partitions_.partition(id);
    live_ -= p.elements;
}

}  // namespace vramfit::model
