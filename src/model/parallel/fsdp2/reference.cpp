// trl 1.16 models/utils.py prepare_fsdp: fully_shard(model) without a policy that wraps its layers.
#include "model/parallel/fsdp2/reference.hpp"

#include <utility>

#include "engine/ops/copy.hpp"
#include "engine/session.hpp"
#include "model/causal_lm/mixed_precision.hpp"
#include "model/parallel/fsdp2/parameters.hpp"

namespace vramfit::model {

using namespace engine;

Fsdp2Reference::Fsdp2Reference(const Run& run, Network& network)
    : comm_{run.session, run.plan.distributed->shard_size(),
            run.plan.distributed->rank % run.plan.distributed->shard_size(), mixed_dtype(run.plan.training)} {
    constexpr std::uint8_t kBehindPolicy = 4;  // whose streams are 1 to 3
    comm_.gather_stream = kBehindPolicy;
    const Scoped<Category> fresh(run.session.recorder.fresh, Category::weights);
    std::vector<Tensor> originals;  // until all are cut
    std::vector<ShardedParameter> shards;
    for (const ParameterPlaces& places : all_parameters(network)) {
        originals.push_back(*places[0]);
        shards.push_back({places, make_shard(comm_, *places[0], Op::new_empty)});
    }
    group_ = std::make_unique<Fsdp2Group>(comm_, shards,
                                          std::get<Fsdp2Plan>(run.plan.distributed->method).reshard_after_forward);
    for (Tensor& whole : originals) whole.reset();
}

void Fsdp2Reference::after_forward(std::span<Tensor* const> outputs) {
    group_->post_forward();
    const Tensor last = std::move(comm_.gathered);
    if (!comm_.compute_dtype) return;
    std::vector<Tensor> cast;
    for (const Tensor* t : outputs) cast.push_back(is_floating(t->dtype()) ? to(*t, *comm_.compute_dtype) : *t);
    for (std::size_t i = 0; i < cast.size(); ++i) *outputs[i] = cast[i];
}

}  // namespace vramfit::model
