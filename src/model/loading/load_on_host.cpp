// A network that is loaded in host memory and then moved: torch/nn/modules/module.py Module.to, module by module.
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "engine/ops/copy.hpp"
#include "engine/session.hpp"
#include "model/layers/family.hpp"
#include "model/loading/adapter_buffers.hpp"
#include "model/loading/load_entries.hpp"
#include "model/network/in_module.hpp"

namespace vramfit::model {

using namespace engine;

namespace {

/// Moves the buffers of rotary embeddings: an attention's follow its parameters, a decoder's its norm.
class HostBuffers {
  public:
    HostBuffers(const Run& run, Network& network, std::optional<DType> dtype)
        : run_(run),
          network_(network),
          dtype_(dtype),
          rotary_(family_of(run.spec.model_type).rotary_modules(run.stack)) {}

    void move_layer() { move_layer_buffers(run_, network_, dtype_); }
    void move_decoder() {
        if (!rotary_.decoder) return;
        for (int i = 0; i < rotary_buffers(run_); ++i) network_.buffers.push_back(frequencies());
    }
    Tensor moved(const Dims& sizes, DType dtype) const { return empty(run_.session, sizes, dtype, Op::to_copy); }

  private:
    Tensor frequencies() const { return moved({(run_.spec.rotary_dim() + 1) / 2}, dtype_.value_or(DType::float32)); }

    const Run& run_;
    Network& network_;
    std::optional<DType> dtype_;
    RotaryModules rotary_;
};

/// Module._apply: modules inside go before the parameters of the one around them (an attention with sinks).
std::vector<NamedParameter> in_order_of_moving(std::vector<NamedParameter> all) {
    for (auto first = all.begin(); first != all.end(); ++first) {
        const std::string inner = std::string(first->module) + ".";
        const auto is_own = [&](const NamedParameter& p) { return p.module == first->module; };
        const auto end_of_own = std::find_if_not(first, all.end(), is_own);
        const auto is_inner = [&](const NamedParameter& p) { return p.module.starts_with(inner); };
        const auto end = std::find_if_not(end_of_own, all.end(), is_inner);
        std::rotate(first, end_of_own, end);
    }
    return all;
}

bool is_in_attention(std::string_view name) { return name.find(".self_attn.") != std::string_view::npos; }

}  // namespace

void move_layer_buffers(const Run& run, Network& network, std::optional<DType> dtype) {
    const RotaryModules rotary = family_of(run.spec.model_type).rotary_modules(run.stack);
    const auto moved = [&](const Dims& sizes, DType type) { return empty(run.session, sizes, type, Op::to_copy); };
    if (rotary.layers && !rotary.late)
        network.layer_buffers.push_back(moved({(run.spec.rotary_dim() + 1) / 2}, dtype.value_or(DType::float32)));
    for (int table = 0; rotary.caches && table < 2; ++table)
        network.rotary_caches.push_back(
            moved({run.spec.max_position_embeddings, run.spec.head_dim}, dtype.value_or(run.plan.load.dtype)));
}

Network load_on_host(const Run& run) {
    const Scoped<bool> on_host(run.session.on_host, true);
    Network network = make_network(run.spec);
    for (const Entry& e : checkpoint_entries(run, network))
        *e.place = empty(run.session, e.sizes, e.dtype, Op::to_copy);
    tie_head(network);
    return network;
}

void move_to_device(const Run& run, Network& network, std::optional<DType> buffer_dtype) {
    if (run.spec.recording) return move_recorded(run, network, buffer_dtype);
    HostBuffers buffers(run, network, buffer_dtype);
    const bool before_norm = family_of(run.spec.model_type).rotary_before_norm;
    const AdapterBuffers adapter_buffers(network);
    bool in_attention = false;
    bool decoder_is_moved = false;
    for (const NamedParameter& p : in_order_of_moving(named_parameters(network))) {
        const Scoped<Category> fresh(run.session.recorder.fresh, p.tensor->requires_grad() && run.plan.peft
                                                                     ? Category::adapters
                                                                     : Category::weights);
        const Scoped<Module> module(run.session.recorder.module, module_named(run.session.recorder, p.module));
        if (in_attention && !is_in_attention(p.name())) buffers.move_layer();
        in_attention = is_in_attention(p.name());
        const std::string& behind = before_norm ? network.norm.name : network.head.name;
        if (!decoder_is_moved && p.module.starts_with(behind)) {
            buffers.move_decoder();
            decoder_is_moved = true;
        }
        set_data(*p.tensor, to_device(*p.tensor));
        adapter_buffers.move_behind(p.tensor);
        if (p.tensor == &network.embed.weight && embedding_scales_itself(run))
            network.embed.scale = buffers.moved({}, buffer_dtype.value_or(run.plan.load.dtype));
    }
    if (!decoder_is_moved) buffers.move_decoder();
}

}  // namespace vramfit::model
