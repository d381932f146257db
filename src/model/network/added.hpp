// What peft adds to a network's modules: adapters, trained tokens, and what they keep of the originals.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "engine/tensor.hpp"
#include "vramfit/spec/train_plan.hpp"

namespace vramfit::model {

using engine::Tensor;

/// peft.tuners.lora.layer.LoraLayer of a linear layer: A -- [r, in], B -- [out, r].
struct LoraAdapter {
    Tensor a;
    Tensor b;
    Tensor bias;       ///< [out], of B; undefined without lora_bias
    Tensor magnitude;  ///< [out], DoRA's; undefined without
    double dropout = 0.0;
    bool off = false;  ///< peft's disable_adapters
};

/// The same of an embedding: A -- [r, V], B -- [H, r], magnitude -- [H].
struct LoraEmbeddingAdapter {
    Tensor a;
    Tensor b;
    Tensor magnitude;
    bool off = false;  ///< as of a linear layer
};

/// A tensor that peft adds to a module, with its name inside of the wrapper.
struct AddedTensor {
    std::string_view name;  ///< "ia3_l.default"
    Tensor tensor;
    int module = 0;  ///< that holds it: those of one number, one behind the other, stand in one module; 0: in none
};

/// A tensor that several adapters have: one of those that all share.
struct TiedTensor {
    std::string_view name;
    std::size_t place = 0;  ///< in `OtherAdapter::shared`
    bool first = true;      ///< whose name it has
};

struct Linear;

/// What an adapter of another kind than LoRA's adds to a linear layer.
struct OtherAdapter {
    Tensor (*forward)(const Linear& layer, const Tensor& x) = nullptr;
    std::vector<TiedTensor> tied;                 ///< trained, in front of the parameters
    std::vector<AddedTensor> parameters;          ///< trained, in order of registration
    std::vector<Tensor> buffers;                  ///< of this layer alone
    bool buffers_first = false;                   ///< they stand in front of the parameters
    bool raises_buffers = true;                   ///< they stand in a BufferDict, which cast_adapter_dtype casts
    std::shared_ptr<std::vector<Tensor>> shared;  ///< of all layers
    std::string_view shared_name = {};            ///< of the first of those, if it is trained
    const LoraPlan* plan = nullptr;               ///< lives as long as the network
    bool scales_input = false;                    ///< IA3
    double dropout = 0.0;

    const Tensor& operator[](std::size_t i) const { return parameters[i].tensor; }
};

/// PeftModel.prompt_encoder: what makes virtual tokens in front of each row.
struct PromptEncoder {
    std::vector<AddedTensor> parameters;  ///< of the table first, then weight and bias of each linear layer
    std::int64_t tokens = 0;
    bool has_frozen = false;  ///< the first of them is not trained

    const Tensor& operator[](std::size_t i) const { return parameters[i].tensor; }
};

/// peft's ModulesToSaveWrapper, or LNTuningLayer: what the original module keeps, while the module's own tensors are
/// the trained copy.
struct OriginalModule {
    std::string_view place = ".original_module";  ///< behind the module's name
    std::string_view place_of_copy = ".modules_to_save.default";
    Tensor weight;
    Tensor bias;
    Tensor scale;
};

/// peft's TrainableTokensLayer: rows of a table that are trained.
struct TokenAdapter {
    Tensor delta;     ///< [N, H]
    Tensor original;  ///< the same
};

/// peft's ParamWrapper of one parameter: A -- [r * E, in], B -- [out, r * E] for E experts.
struct ParameterAdapter {
    Tensor a;
    Tensor b;
    double scaling = 1.0;
};

}  // namespace vramfit::model
