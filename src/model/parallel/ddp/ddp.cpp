// torch 2.11 nn/parallel/distributed.py DistributedDataParallel, csrc/distributed/c10d/reducer.cpp Reducer.
#include "model/parallel/ddp/ddp.hpp"

#include <algorithm>

#include "engine/ops/copy.hpp"
#include "engine/session.hpp"
#include "model/network/in_module.hpp"
#include "model/network/shared_module.hpp"
#include "model/parallel/collectives.hpp"
#include "vramfit/base/error.hpp"

namespace vramfit::model {

using namespace engine;

namespace {

constexpr std::int64_t kMiB = std::int64_t{1} << 20;
constexpr std::int64_t kBroadcastBytes = 250 * kMiB;  // broadcast_bucket_size
constexpr std::int64_t kFirstBucketBytes = kMiB;      // reducer.hpp kDefaultFirstBucketBytes
constexpr std::int64_t kBucketMiB = 25;               // bucket_cap_mb

const DdpPlan& ddp_plan(const TrainPlan& plan) { return std::get<DdpPlan>(plan.distributed->method); }

/// transformers 4.40 to 5.17 trainer.py _build_accelerator_args: PeftModel is no PreTrainedModel. unsloth 2026.10.7
/// models/_ddp_defaults.py: adapters of a decoder whose layers are checkpointed are all used.
bool finds_unused(const TrainPlan& plan) {
    const auto given = ddp_plan(plan).find_unused_parameters;
    if (given) return *given;
    if (plan.loop.kind == LoopKind::unsloth) return false;
    return plan.peft || !plan.checkpoints();
}

bool broadcasts_buffers(const TrainPlan& plan) { return ddp_plan(plan).broadcast_buffers.value_or(true); }

/// _DDPSink.backward.
void sink_backward(Node&, Grads& in, Grads& out) {
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = in[i];
}
constexpr NodeType kSink{"_DDPSinkBackward", sink_backward};

/// The limits by which gradients are put into buckets once their order is known.
std::vector<std::int64_t> bucket_limits(const DdpPlan& plan) {
    if (plan.bucket_cap_mb) return {*plan.bucket_cap_mb * kMiB};
    return {kFirstBucketBytes, kBucketMiB * kMiB};
}

std::vector<Tensor> module_buffers(const Network& network) {
    std::vector<Tensor> all;
    if (network.embed.scale.defined()) all.push_back(network.embed.scale);
    for (const auto* some : {&network.layer_buffers, &network.rotary_caches, &network.buffers})
        all.insert(all.end(), some->begin(), some->end());
    return all;
}

/// _sync_module_states: parameters, then buffers.
std::vector<Tensor> module_states(Network& network, bool with_buffers) {
    std::vector<Tensor> states;
    for (const NamedParameter& p : named_states(network)) states.push_back(*p.tensor);
    if (!with_buffers) return states;
    for (Tensor& buffer : module_buffers(network)) states.push_back(std::move(buffer));
    return states;
}

bool contains(const std::vector<Tensor>& tensors, const Tensor& t) {
    return std::find(tensors.begin(), tensors.end(), t) != tensors.end();
}

}  // namespace

bool rebuilds_buckets(const TrainPlan& plan) {
    return plan.distributed && plan.distributed->as<DdpPlan>() && (ddp_plan(plan).static_graph || !finds_unused(plan));
}

Ddp::Ddp(const Run& run, Network& network)
    : run_(run),
      network_(network),
      finds_unused_(finds_unused(run.plan)),
      static_(ddp_plan(run.plan).static_graph),
      rebuilds_(rebuilds_buckets(run.plan)) {
    // Reducer::mark_variable_ready: a recomputed layer's backward shows its parameters to the search once more.
    if (finds_unused_ && !static_ && network.checkpointing == Checkpointing::reentrant)
        throw Error(
            ErrorKind::invalid, "distributed.ddp.ddp_find_unused_parameters",
            "torch stops: \"Expected to mark a variable ready only once\" (a search for unused parameters does not "
            "go with reentrant checkpointing)",
            "set it to false, or gradient_checkpointing_kwargs to {\"use_reentrant\": false}");
    // Reducer::delay_all_reduce, which the first micro batch queues.
    if (static_ && run.plan.training.gradient_accumulation_steps > 1)
        throw Error(
            ErrorKind::invalid, "distributed.ddp.ddp_static_graph",
            "torch stops in the first backward: \"expect_autograd_hooks_ INTERNAL ASSERT FAILED\" (a static graph "
            "does not go with gradients that are accumulated)",
            "leave it out, or set gradient_accumulation_steps to 1");
    Session& session = run.session;
    const Scoped<Category> fresh(session.recorder.fresh, Category::gradients);
    for (const NamedParameter& p : trainable_parameters(network)) parameters_.push_back(*p.tensor);
    compare_shapes(session, parameters_, run.plan.distributed->world_size);
    {
        const Scoped<Category> sent(session.recorder.fresh, Category::weights);
        broadcast_coalesced(session, module_states(network, broadcasts_buffers(run.plan)), kBroadcastBytes);
    }
    buffers_ = module_buffers(network);
    // _ddp_init_helper: one bucket, if the first backward shows the order.
    constexpr std::int64_t kNoLimit = std::int64_t{1} << 61;
    const auto limits = rebuilds_ ? std::vector<std::int64_t>{kNoLimit} : bucket_limits(ddp_plan(run.plan));
    auto places = assign_buckets(parameters_, limits, true);
    std::reverse(places.begin(), places.end());
    make_buckets(places);
    // Reducer::initialize_local_used_map, once more in set_static_graph.
    for (const bool maps : {finds_unused_, static_})
        if (maps) used_ = empty(session, {static_cast<std::int64_t>(parameters_.size())}, DType::int32, Op::empty);
    session.after_accumulate = [this](const Tensor& leaf) { on_gradient(leaf); };
}

Ddp::~Ddp() { run_.session.after_accumulate = nullptr; }

// Reducer::initialize_buckets.
void Ddp::make_buckets(const std::vector<std::vector<std::size_t>>& places) {
    buckets_.clear();
    for (const auto& bucket : places) {
        Size elements = 0;
        for (const std::size_t place : bucket) elements += parameters_[place].numel();
        buckets_.push_back(empty(run_.session, {elements}, parameters_[bucket[0]].dtype(), Op::empty));
        Recorder& recorder = run_.session.recorder;
        belongs_to(buckets_.back(), around(recorder, bucket, [&](std::size_t place) {
                       return recorder.place_of(parameters_[place]->storage->id);
                   }));
    }
}

// Reducer::rebuild_buckets, sync_bucket_indices. The reductions of the first backward, which nobody waited for, have
// long ended by then: the broadcast of the places makes ProcessGroupNCCL give their buckets back (shelvesToUnstash_).
void Ddp::rebuild() {
    Session& session = run_.session;
    const Scoped<Category> fresh(session.recorder.fresh, Category::gradients);
    // Reducer::mark_variable_ready: a static graph's unused parameters come last.
    for (const Tensor& p : parameters_)
        if (static_ && !contains(ready_, p)) ready_.push_back(p);
    parameters_ = std::move(ready_);
    ready_.clear();
    rebuilds_ = false;
    const auto places = assign_buckets(parameters_, bucket_limits(ddp_plan(run_.plan)), false);
    {
        const auto numbers = static_cast<std::int64_t>(parameters_.size()) + 1;
        const Tensor indices = empty(session, {numbers}, DType::int32, Op::empty);
        const Tensor sizes = empty(session, {static_cast<std::int64_t>(places.size())}, DType::int32, Op::empty);
    }
    make_buckets(places);
}

void Ddp::before_forward(bool sync) {
    reductions_ += sync;
    if (rebuilds_ && !ready_.empty()) rebuild();  // in no_sync too
    if (syncs_buffers_ && broadcasts_buffers(run_.plan)) {
        buffers_ = module_buffers(network_);
        broadcast_coalesced(run_.session, buffers_, kBroadcastBytes);
    }
    syncs_buffers_ = sync;  // require_forward_param_sync
    expects_gradients_ = sync;
}

// _static_graph_delay_allreduce_enqueued: a static graph's first backward, reducing or not, queues what the sink is
// for.
bool Ddp::sinks() const { return static_ ? !ran_backward_ : finds_unused_; }

// Reducer::autograd_hook: in the first pass that reduces, a static graph only counts.
bool Ddp::shows_order() const { return rebuilds_ && expects_gradients_ && (!static_ || reductions_ > 1); }

// _post_forward: where unused parameters are looked for, outputs pass through _DDPSink, which clones them; those
// without a grad_fn are put back.
void Ddp::after_forward(std::span<Tensor* const> outputs) const {
    if (!sinks()) return;
    const Ref<Node> node = make_node(run_.session, kSink);
    std::vector<Tensor> copies;
    for (const Tensor* output : outputs) {
        if (!output->is_leaf()) add_edge(*node, *output);
        const GradMode no_grad(run_.session, false);
        copies.push_back(clone(*output));
    }
    for (std::size_t i = 0; i < copies.size(); ++i) {
        if (outputs[i]->is_leaf()) continue;
        *outputs[i] = copies[i];
        set_history(*outputs[i], node);
    }
}

// Reducer::autograd_hook. Gradients are copied into their bucket and back: nothing is allocated.
void Ddp::on_gradient(const Tensor& leaf) {
    ran_backward_ = true;
    if (!shows_order()) return;
    if (contains(parameters_, leaf)) ready_.push_back(leaf);  // a recomputed layer's input is a leaf too
}

}  // namespace vramfit::model
