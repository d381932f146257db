// Initialisation and the step.
#include "model/parallel/zero/stage3.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "engine/backward.hpp"
#include "engine/ops/copy.hpp"
#include "engine/ops/pointwise.hpp"
#include "engine/ops/reduce.hpp"
#include "engine/session.hpp"
#include "model/loading/load_entries.hpp"
#include "model/losses/loss.hpp"
#include "model/network/called.hpp"
#include "model/network/in_module.hpp"
#include "model/network/shared_module.hpp"
#include "model/parallel/collectives.hpp"
#include "model/parallel/zero/norms.hpp"
#include "model/parallel/zero/stage3_modules.hpp"
#include "vramfit/base/error.hpp"

namespace vramfit::model {

using namespace engine;

namespace {

void refuse_mixture(DType first, DType other) {
    if (other == first) return;
    throw Error(ErrorKind::invalid, "peft",
                fmt::format("DeepSpeed stops: trained parameters of ZeRO-3 are {} and {}, their pieces one flat tensor "
                            "(AssertionError in defragment)",
                            name_of(first), name_of(other)),
                "load.dtype float32 without bf16, ZeRO-2, or no modules_to_save and no bias");
}

}  // namespace

Zero3::Zero3(const Run& run, Network& network)
    : run_(run),
      network_(network),
      partitions_(*network.partitions),
      optimizer_(run, network),
      coordinator_(run.session, partitions_, *zero_of(run.plan),
                   sizes_of(*zero_of(run.plan), run.spec.hidden_size).prefetch),
      gradients_(run, partitions_),
      root_(key_of(&network, run.plan.peft ? Part::adapted : Part::whole)) {
    Session& session = run.session;
    const GradMode no_grad(session, false);
    convert_rest();
    list_modules();
    const bool offloads = zero_of(run.plan)->offload_optimizer;
    {
        const Scoped<Category> fresh(session.recorder.fresh, Category::optimizer_states);
        if (!offloads) overflow_ = zeros(session, {1}, DType::boolean);
    }
    make_groups();
    wait_for_ranks();  // _create_fp16_partitions_with_defragmentation
    defragment();
    {
        const Scoped<Category> fresh(session.recorder.fresh, Category::optimizer_states);
        std::int64_t largest = 0;
        Tensor converted;
        for (std::size_t g = 0; g < groups_.size() && !offloads; ++g) {
            const Scoped<Module> module(session.recorder.module, partitions_.around(groups_[g]));
            std::int64_t elements = 0;
            for (const std::size_t id : groups_[g]) elements += partitions_[id].in_piece;
            largest = std::max(largest, elements);
            const Tensor flat = alias(weights_, {elements}, {1});
            if (run.stack.zero3_clones_before_cast()) {
                const Tensor cloned = clone(flat);
                masters_.push_back(to(cloned, DType::float32));
                continue;
            }
            converted = to(flat, DType::float32);
            label(converted, Category::temporaries);
            belongs_to(converted, Module{});
            masters_.push_back(clone(converted));
        }
        converted.reset();
        wait_for_ranks();  // _setup_for_real_optimizer, here and behind the next tensor
        if (!offloads) label(zeros(session, {largest}, DType::float32), Category::gradients);
        wait_for_ranks();
        optimizer_.take(masters_, group_of_);
    }
    std::vector<std::size_t> trained;
    for (const auto& group : groups_) trained.insert(trained.end(), group.begin(), group.end());
    gradients_.set_up(trained);
    for (const std::size_t id : trained) {  // create_reduce_and_remove_grad_hooks
        const Scoped<Category> fresh(session.recorder.fresh, Category::weights);
        partitions_.gather({&id, 1});
        partitions_.partition(id);
        if (const auto leaf = leaf_of_.find(id); leaf != leaf_of_.end()) leaves_[leaf->second].push_back(id);
    }
    session.hook_gets_gradient = run.stack.deepspeed_hooks_nodes();
    session.after_accumulate = [this](const Tensor& leaf) {
        const std::size_t* id = partitions_.find(leaf);
        if (!id || leaf_of_.contains(*id)) return;
        ran_epilogue_ = true;
        gradients_.on_gradient(*id);
    };
    session.module_hooks = this;
}

Zero3::~Zero3() {
    run_.session.after_accumulate = nullptr;
    run_.session.hook_gets_gradient = true;
    run_.session.module_hooks = nullptr;
}

// dist.barrier. A group that has a backend of the host as well, as all but those of rollouts were traced with, waits
// there.
void Zero3::wait_for_ranks() {
    network_.held_by_group.reset();
    if (generates_rows(run_.plan.loop.kind)) barrier(run_.session, network_.held_by_group);
}

// _convert_to_zero_parameters: what was made outside of zero.Init. bitsandbytes 0.50.2 nn/modules.py Int8Params.CB and
// MatmulLtState.CB hold the whole 8-bit weight beside the parameter.
void Zero3::convert_rest() {
    for (Linear* l : linears(network_))
        if (l->in_8bit && l->in_8bit->packed.defined())
            l->in_8bit->whole = alias(l->in_8bit->packed, l->in_8bit->packed.sizes(), l->in_8bit->packed.strides());
    for (const NamedParameter& p : named_states(network_)) {
        if (partitions_.find(*p.tensor)) continue;
        const Scoped<Category> fresh(run_.session.recorder.fresh,
                                     p.tensor->requires_grad() ? Category::adapters : Category::weights);
        partitions_.partition(partitions_.convert(*p.tensor));
    }
}

// mark_persistent_parameters, and which module has which parameters.
void Zero3::list_modules() {
    for (const NamedParameter& p : named_states(network_)) in_order_.push_back(*partitions_.find(*p.tensor));
    const std::int64_t threshold = sizes_of(*zero_of(run_.plan), run_.spec.hidden_size).persistence;
    persistent_ = mark_persistent_parameters(run_.session, network_, partitions_, threshold);
    list_own_parameters(network_, partitions_, coordinator_);
    list_mixtures();
}

// _create_fp16_sub_groups.
void Zero3::make_groups() {
    const std::int64_t most = zero_of(run_.plan)->sub_group_size;
    for (std::size_t g = 0; g < optimizer_.groups().size(); ++g) {
        std::vector<std::size_t> open;
        std::int64_t elements = 0, all = 0;
        const auto& parameters = optimizer_.groups()[g].parameters;
        const auto close = [&] {
            groups_.push_back(std::exchange(open, {}));
            group_of_.push_back(g);
            elements = 0;
        };
        for (const NamedParameter& p : parameters) all += partitions_[*partitions_.find(*p.tensor)].in_piece;
        for (const NamedParameter& p : parameters) {
            open.push_back(*partitions_.find(*p.tensor));
            elements += partitions_[open.back()].in_piece;
            if (elements >= most && most < all) close();
        }
        if (!open.empty()) close();
    }
}

// zero/utils.py defragment: through host memory into one flat buffer.
void Zero3::defragment() {
    if (zero_of(run_.plan)->offload_param) return;
    Session& session = run_.session;
    std::int64_t elements = 0;
    const DType dtype = partitions_[groups_[0][0]].piece.dtype();
    for (const auto& group : groups_) {
        for (const std::size_t id : group) {
            refuse_mixture(dtype, partitions_[id].piece.dtype());
            elements += partitions_[id].in_piece;
            partitions_[id].piece.reset();
        }
    }
    session.streams.host_waits(0);
    session.recorder.empty_cache();
    const Scoped<Category> fresh(session.recorder.fresh, run_.plan.peft ? Category::adapters : Category::weights);
    weights_ = empty(session, {elements}, dtype, Op::to_copy);
    std::vector<std::size_t> all;
    for (const auto& group : groups_) all.insert(all.end(), group.begin(), group.end());
    belongs_to(weights_, partitions_.around(all));
    for (const auto& group : groups_)
        for (const std::size_t id : group) partitions_[id].piece = alias(weights_, {partitions_[id].in_piece}, {1});
}

void Zero3::backward(const Tensor& whole, bool boundary) {
    if (run_.stack.deepspeed_keeps_losses()) losses_ = mean_of_loss(whole);
    Tensor loss = mul(whole, 1.0);  // scale_if_loss; 0.14: LossScalerBase.backward
    refuse_without_gradient(loss);
    gradients_.set_boundary(boundary);
    engine::backward(loss);
    const GradMode no_grad(run_.session, false);  // DeepSpeedEngine._backward_epilogue
    if (!run_.stack.zero3_records_first_pass()) {
        gradients_.epilogue();
        coordinator_.release_leftovers();
        return;
    }
    loss.reset();
    coordinator_.reset_step();
    gradients_.epilogue();
}

// get_grad_norm_direct of a sub-group.
Tensor Zero3::norm_of(std::size_t group) {
    Session& session = run_.session;
    std::vector<Tensor> norms;
    for (const std::size_t id : groups_[group]) norms.push_back(double_norm(gradients_.averaged(id)));
    Tensor squared_sum;
    {
        Tensor squares;
        {
            const Tensor stacked = empty(session, {static_cast<std::int64_t>(norms.size())}, DType::float64, Op::cat);
            squares = pointwise_result(stacked, DType::float64, Op::pow);
        }
        squared_sum = reduce(squares, 1, false, DType::float64, Op::sum);
    }
    Tensor total = pointwise_result(squared_sum, DType::float64, Op::pow);
    Tensor infinite;
    {
        const Tensor magnitude = pointwise_result(total, DType::float64, Op::abs);
        infinite = compare(Op::eq, magnitude);
    }
    const Tensor not_a_number = compare(Op::ne, total);
    const Tensor either = pointwise_result(not_a_number, DType::boolean, Op::logical_or);
    const Tensor minus_one = to_device(host_tensor(session, {}, DType::float32));
    session.streams.host_waits(0);  // for the copy
    if (!run_.stack.zero3_norm_is_selected()) return masked_sum(either, minus_one, total);
    const Tensor wide = to(minus_one, DType::float64);
    total = where(either, wide, total);
    return total;
}

void Zero3::step() {
    Session& session = run_.session;
    const GradMode no_grad(session, false);
    gradients_.begin_step();
    ran_epilogue_ = false;
    coordinator_.release_all(in_order_);
    std::vector<Tensor> norms;
    Tensor norm;
    if (zero_of(run_.plan)->offload_optimizer) {
        for (std::size_t g = 0; g < groups_.size(); ++g) offloaded_norm(g);
        gradients_.drop_norms();
    } else {
        if (partitions_[groups_[0][0]].piece.dtype() == DType::float16) gradients_.check_overflow();
        for (std::size_t g = 0; g < groups_.size(); ++g) norms.push_back(norm_of(g));
        if (run_.stack.zero3_norm_is_selected()) {
            norm = combine_norms(session, norms);
            look_at_norm(norm);
        } else {  // torch.norm(torch.stack(norm_groups))
            const Tensor stacked = empty(session, {static_cast<std::int64_t>(norms.size())}, DType::float64, Op::cat);
            norm = reduce(stacked, 1, false, DType::float64, Op::linalg_vector_norm);
        }
        optimizer_norm_ = div(norm, 1.0);
        for (const NamedParameter& p : named_parameters(network_)) (*p.tensor)->grad.reset();
        for (std::size_t g = 0; g < groups_.size(); ++g) step_group(g, norm);
    }
    const Scoped<Category> fresh(session.recorder.fresh, Category::weights);
    partitions_.gather(persistent_);  // _post_step
    engine_norm_ = optimizer_norm_;
    losses_.reset();
}

// _prepare_fp32_grad_for_sub_group, unscale_and_clip_grads, _optimizer_step.
void Zero3::step_group(std::size_t g, const Tensor& norm) {
    Session& session = run_.session;
    const Scoped<Category> fresh(session.recorder.fresh, Category::gradients);
    {
        const Scoped<Module> module(session.recorder.module, partitions_.around(groups_[g]));
        Tensor flat = gradients_.averaged(groups_[g][0]);
        if (groups_[g].size() > 1) flat = empty(session, {masters_[g].numel()}, zero_dtype(run_), Op::cat);
        const Tensor gradient = to(flat, DType::float32);
        masters_[g]->grad = gradient.ref();
    }
    if (clip_of(run_) > 0) scale_to_clip(norm);
    optimizer_.step(session, g);
    masters_[g]->grad.reset();
}

// complete_grad_norm_calculation_for_cpu_offload: the sum comes to the host and back, the result stays there.
void Zero3::offloaded_norm(std::size_t group) {
    Session& session = run_.session;
    Tensor sum;
    for (const std::size_t id : groups_[group]) {
        const Tensor& norm = gradients_.norms()[id];
        if (!norm.defined()) continue;
        const Tensor square = pointwise_result(norm, DType::float64, Op::pow);
        if (!sum.defined()) sum = add(square, 0.0);
    }
    session.streams.host_waits(0);
    const Tensor total = to_device(host_tensor(session, {1}, DType::float32));
    const Tensor root = pointwise_result(total, DType::float32, Op::pow);
    sum.reset();
    mask_invalid(root);
    session.streams.host_waits(0);
}

}  // namespace vramfit::model
