// Adapters of other kinds than LoRA: what each makes of a linear layer.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "model/network/run.hpp"
#include "vramfit/spec/modules.hpp"

namespace vramfit::model {

/// BaseTunerLayer._move_adapter_to_device_of_base_layer: a tensor that was made in host memory.
inline Tensor moved_from_host(engine::Session& session, const engine::Dims& sizes, DType dtype) {
    return engine::empty(session, sizes, dtype, engine::Op::to_copy);
}

/// _get_base_layer_device_and_dtype: the weight's, or for 4-bit layers what the version makes of it.
DType adapter_dtype(const Stack& stack, const Linear& layer);

/// BaseTuner.inject_adapter of `run.plan.peft`, which is not LoRA. The parameters are those of the base, not trained.
void add_other_adapters(const Run& run, Network& network, const std::vector<LoraTarget>& targets);

/// A layer that gets an adapter.
struct NewAdapter {
    const Run& run;
    const Linear& layer;
    const LoraTarget& target;
    const std::vector<LoraTarget>& all;
    Size rank;
    DType dtype;
    OtherAdapter& adapter;

    const LoraPlan& plan() const { return *run.plan.peft; }
    /// The largest inputs and outputs of all layers that get one: what they share is as large.
    std::pair<std::int64_t, std::int64_t> largest_sides() const {
        std::int64_t in = 0, out = 0;
        for (const LoraTarget& other : all) {
            in = std::max(in, other.module.in);
            out = std::max(out, other.module.out);
        }
        return {in, out};
    }
    void add(std::string_view name, const engine::Dims& sizes) const {
        adapter.parameters.push_back({name, moved_from_host(run.session, sizes, dtype)});
    }
};

/// The layer inside of the adapter.
Tensor base_layer(const Linear& layer, const Tensor& x);
/// QuantizationBackend.maybe_clone_base_result: bitsandbytes' 4-bit layers.
Tensor base_layer_cloned(const Linear& layer, const Tensor& x);

void create_ia3(const NewAdapter& made);
Tensor ia3(const Linear& layer, const Tensor& x);
void create_loha(const NewAdapter& made);
Tensor loha(const Linear& layer, const Tensor& x);
void create_lokr(const NewAdapter& made);
Tensor lokr(const Linear& layer, const Tensor& x);
void create_vera(const NewAdapter& made);
Tensor vera(const Linear& layer, const Tensor& x);
void create_oft(const NewAdapter& made);
Tensor oft(const Linear& layer, const Tensor& x);
void create_miss(const NewAdapter& made);
Tensor miss(const Linear& layer, const Tensor& x);
void create_hra(const NewAdapter& made);
Tensor hra(const Linear& layer, const Tensor& x);

void create_road(const NewAdapter& made);
Tensor road(const Linear& layer, const Tensor& x);
void create_randlora(const NewAdapter& made);
Tensor randlora(const Linear& layer, const Tensor& x);
void create_vblora(const NewAdapter& made);
Tensor vblora(const Linear& layer, const Tensor& x);

void create_adalora(const NewAdapter& made);
Tensor adalora(const Linear& layer, const Tensor& x);

}  // namespace vramfit::model
