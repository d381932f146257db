// Adapters of other kinds than LoRA: what each makes of a linear layer.
#pragma once

#include <algorithm>
#include <initializer_list>
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
    void add(std::string_view name, const engine::Dims& sizes, int module = 0) const {
        adapter.parameters.push_back({name, moved_from_host(run.session, sizes, dtype), module});
    }
    void add_buffer(const Tensor& buffer) const {
        label(buffer, Category::adapters);
        adapter.buffers.push_back(buffer);
    }
    /// What all layers share: the first one moves it, a later one of another dtype casts it
    /// (_move_adapter_to_device_of_base_layer).
    void share(std::initializer_list<engine::Dims> sizes) const;
    /// A parameter that will be another layer's too.
    void tie(std::string_view name, const engine::Dims& sizes) const {
        adapter.tied.push_back({name, adapter.shared->size()});
        adapter.shared->push_back(moved_from_host(run.session, sizes, dtype));
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

void create_delora(const NewAdapter& made);
Tensor delora(const Linear& layer, const Tensor& x);
void create_gralora(const NewAdapter& made);
Tensor gralora(const Linear& layer, const Tensor& x);
void create_pvera(const NewAdapter& made);
Tensor pvera(const Linear& layer, const Tensor& x);
void create_unilora(const NewAdapter& made);
Tensor unilora(const Linear& layer, const Tensor& x);
void finish_unilora(const std::vector<NewAdapter>& all);
void create_lily(const NewAdapter& made);
Tensor lily(const Linear& layer, const Tensor& x);
void finish_lily(const std::vector<NewAdapter>& all);
void create_glora(const NewAdapter& made);
Tensor glora(const Linear& layer, const Tensor& x);
void create_deft(const NewAdapter& made);
Tensor deft(const Linear& layer, const Tensor& x);
void create_supertuning(const NewAdapter& made);
Tensor supertuning(const Linear& layer, const Tensor& x);
void create_beft(const NewAdapter& made);
Tensor beft(const Linear& layer, const Tensor& x);
void create_hira(const NewAdapter& made);
Tensor hira(const Linear& layer, const Tensor& x);
void create_peanut(const NewAdapter& made);
Tensor peanut(const Linear& layer, const Tensor& x);

void create_tinylora(const NewAdapter& made);
Tensor tinylora(const Linear& layer, const Tensor& x);
void create_psoft(const NewAdapter& made);
Tensor psoft(const Linear& layer, const Tensor& x);
void create_osf(const NewAdapter& made);
Tensor osf(const Linear& layer, const Tensor& x);
void create_bdlora(const NewAdapter& made);
Tensor bdlora(const Linear& layer, const Tensor& x);
void create_kasa(const NewAdapter& made);
Tensor kasa(const Linear& layer, const Tensor& x);

void create_adalora(const NewAdapter& made);
Tensor adalora(const Linear& layer, const Tensor& x);

}  // namespace vramfit::model
