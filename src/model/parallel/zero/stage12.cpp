// Construction, backward and step.
#include "model/parallel/zero/stage12.hpp"

#include <numeric>

#include "engine/backward.hpp"
#include "engine/ops/copy.hpp"
#include "engine/ops/pointwise.hpp"
#include "engine/session.hpp"
#include "model/losses/loss.hpp"
#include "model/parallel/zero/norms.hpp"
#include "vramfit/base/error.hpp"

namespace vramfit::model {

using namespace engine;

namespace {

/// What the allocator may have reserved more than tensors asked for when a network has just been loaded: rounding of
/// each tensor and the rests of its last segments.
constexpr std::int64_t kRounding = std::int64_t{2} << 20;
constexpr std::int64_t kRests = std::int64_t{64} << 20;

/// __init__: weights are flattened on the card if it has room for a second copy. What is free is known up to the
/// allocator's rounding; between the bounds there is no answer.
bool flattens_on_card(const Run& run, const Network& network, std::int64_t flat_bytes) {
    if (run.stack.zero2_flattens_in_host_memory()) return false;
    const Device& device = run.session.device;
    if (!device.capacity_known) return true;
    std::int64_t least = 0, most = kRests;
    for (const NamedParameter& p : named_parameters(const_cast<Network&>(network))) {
        const std::int64_t bytes = count_of(*p.tensor) * element_size(p.tensor->dtype());
        least += bytes;
        most += bytes + (bytes > kRounding / 2 ? kRounding : 0);
    }
    if (flat_bytes <= device.usable.count - most) return true;
    if (flat_bytes > device.total.count - least) return false;
    throw Error(ErrorKind::unsupported, "--gpu",
                "whether DeepSpeed flattens the weights on this GPU or in host memory depends on what else is on it",
                "a GPU with a few GiB more or less");
}

}  // namespace

Zero12::Zero12(const Run& run, Network& network)
    : run_(run),
      optimizer_(run, network),
      masters_(optimizer_.groups().size()),
      groups_(make_groups()),
      buckets_(run, groups_) {
    Session& session = run.session;
    const GradMode no_grad(session, false);
    for (std::size_t g = 0; g < groups_.size(); ++g) {
        ZeroGroup& group = groups_[g];
        const bool on_card = flattens_on_card(run, network, group.padded * element_size(group.dtype));
        if (!run.stack.zero2_flattens_in_host_memory()) session.recorder.empty_cache();
        if (!on_card) {  // param.data = torch.empty(1).to(param.device); the shape is kept in meta tensors
            for (const ZeroParameter& p : group.parameters)
                set_data(p.tensor, alias(empty(session, {1}, DType::float32), p.tensor.sizes(), p.tensor.strides()));
            session.recorder.empty_cache();
        }
        flatten(group, on_card);
        const Scoped<Category> fresh(session.recorder.fresh, Category::optimizer_states);
        const Scoped<Module> module(session.recorder.module, group.own_module);
        const bool offloads = zero_of(run.plan)->offload_optimizer;
        if (offloads && run.stack.zero2_updates_offloaded_on_device()) continue;
        const Tensor partition = empty(session, {group.partition}, group.dtype, Op::clone);
        if (!offloads) masters_[g] = to(partition, DType::float32);
    }
    const Scoped<Category> fresh(session.recorder.fresh, Category::gradients);
    if (zero_of(run.plan)->offload_optimizer) {
        transfer_ = zeros(session, {buckets_.largest()}, groups_[0].dtype);
    } else {
        std::vector<Tensor> gradients;  // initialize_optimizer_states
        for (const ZeroGroup& group : groups_) gradients.push_back(zeros(session, {group.partition}, DType::float32));
        std::vector<std::size_t> own(groups_.size());
        std::iota(own.begin(), own.end(), std::size_t{0});
        optimizer_.take(masters_, own);
    }
    session.hook_gets_gradient = run.stack.deepspeed_hooks_nodes();
    session.after_accumulate = [this](const Tensor& leaf) { buckets_.on_gradient(leaf); };
}

Zero12::~Zero12() {
    run_.session.after_accumulate = nullptr;
    run_.session.hook_gets_gradient = true;
}

std::vector<ZeroGroup> Zero12::make_groups() {
    const DistributedPlan& plan = *run_.plan.distributed;
    std::vector<ZeroGroup> groups;
    for (const ParameterGroup& group : optimizer_.groups())
        groups.push_back(make_group(group.parameters, plan.world_size, plan.rank));
    return groups;
}

// flatten_dense_tensors_aligned, _update_model_bit16_weights.
void Zero12::flatten(ZeroGroup& group, bool on_card) {
    const Scoped<Category> fresh(run_.session.recorder.fresh, run_.plan.peft ? Category::adapters : Category::weights);
    const Scoped<Module> module(run_.session.recorder.module, group.module);
    {
        Tensor padding;
        if (on_card && group.padded > group.elements)
            padding = zeros(run_.session, {group.padded - group.elements}, group.dtype);
        group.flat = empty(run_.session, {group.padded}, group.dtype, Op::cat);
    }
    for (const ZeroParameter& p : group.parameters)
        set_data(p.tensor, alias(group.flat, p.tensor.sizes(), contiguous_strides(p.tensor.sizes())));
}

void Zero12::backward(const Tensor& whole, bool boundary) {
    if (run_.stack.deepspeed_keeps_losses()) losses_ = mean_of_loss(whole);
    const bool first = run_.stack.zero2_fills_bucket_from_start();
    if (first) buckets_.begin_backward();
    Tensor loss = mul(whole, 1.0);  // scale_if_loss; 0.14: LossScalerBase.backward
    refuse_without_gradient(loss);
    buckets_.set_boundary(boundary);
    engine::backward(loss);
    if (first) loss.reset();
    buckets_.epilogue();
}

void Zero12::step() {
    Session& session = run_.session;
    const GradMode no_grad(session, false);
    buckets_.begin_accumulation();
    if (zero_of(run_.plan)->offload_optimizer) return step_offloaded();
    if (checks_overflow(run_)) {
        std::vector<Tensor> all;
        for (std::size_t g = 0; g < groups_.size(); ++g)
            all.insert(all.end(), buckets_.averaged(g).begin(), buckets_.averaged(g).end());
        check_overflow(session, all);
    }
    Tensor norm;
    {
        std::vector<Tensor> norms;
        for (std::size_t g = 0; g < groups_.size(); ++g)
            norms.push_back(grad_norm(session, buckets_.averaged_parameters(g)));
        norm = combine_norms(session, norms);
    }
    if (checks_overflow(run_) || groups_[0].dtype != DType::bfloat16) look_at_norm(norm);
    optimizer_norm_ = div(norm, 1.0);
    for (std::size_t g = 0; g < groups_.size(); ++g) step_group(g, norm);
    norm.reset();
    engine_norm_ = optimizer_norm_;
}

// The flat gradient, its float32 copy, the clipping, the optimizer.
void Zero12::step_group(std::size_t g, const Tensor& norm) {
    Session& session = run_.session;
    const Scoped<Category> fresh(session.recorder.fresh, Category::gradients);
    Tensor gradient;
    {
        const Scoped<Module> module(session.recorder.module, groups_[g].own_module);
        buckets_.free_gradients(g);
        std::vector<Tensor>& pieces = buckets_.averaged(g);
        Tensor flat = pieces[0];
        if (pieces.size() > 1 && flat.dtype() == groups_[g].dtype)
            flat = empty(session, {groups_[g].partition}, groups_[g].dtype, Op::cat);
        else if (flat.dtype() != groups_[g].dtype)  // pieces of one float32 tensor
            flat = alias(flat, {groups_[g].partition}, {1});
        gradient = to(flat, DType::float32);
        flat.reset();
        pieces.clear();
    }
    buckets_.let_go();
    masters_[g]->grad = gradient.ref();
    gradient.reset();
    if (clip_of(run_) > 0) clip_factor(norm);
    optimizer_.step(session, g);
    masters_[g]->grad.reset();
}

// Norms and overflow were looked at in backward; the optimizer runs on the host.
void Zero12::step_offloaded() {
    Session& session = run_.session;
    if (checks_overflow(run_)) {
        { const Tensor overflow = to_device(host_tensor(session, {1}, DType::uint8)); }
        session.streams.host_waits(0);
    }
    for (std::size_t g = 0; g < groups_.size(); ++g) {
        const Tensor total = to_device(host_tensor(session, {1}, DType::float32));
        session.streams.host_waits(0);
    }
    if (run_.stack.zero2_updates_offloaded_on_device()) {
        const Scoped<Category> fresh(session.recorder.fresh, Category::weights);
        for (const ZeroGroup& group : groups_)
            const Tensor updated = to_device(host_tensor(session, {group.partition}, DType::float32));
    }
    for (std::size_t g = 0; g < groups_.size(); ++g) {
        buckets_.free_gradients(g);
        buckets_.averaged(g).clear();
    }
    buckets_.drop_norms();
    losses_.reset();
}

}  // namespace vramfit::model
