// How a network is loaded and prepared: from_pretrained, bitsandbytes, peft's preparation.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "vramfit/base/bytes.hpp"
#include "vramfit/base/dtype.hpp"

namespace vramfit {

enum class AttentionImplementation : std::uint8_t { eager, sdpa, flash_attention_2 };
enum class SdpaKernel : std::uint8_t { flash, efficient, cudnn, math };
enum class QuantMethod : std::uint8_t { nf4, fp4, int8 };

/// `transformers.BitsAndBytesConfig`.
struct QuantizationPlan {
    QuantMethod method = QuantMethod::nf4;
    bool double_quant = false;              ///< bnb_4bit_use_double_quant
    std::optional<DType> compute_dtype;     ///< bnb_4bit_compute_dtype; absent: float32
    DType storage = DType::uint8;           ///< bnb_4bit_quant_storage, of the packed weights
    std::vector<std::string> skip_modules;  ///< llm_int8_skip_modules
    bool skip_modules_given = false;
    double int8_threshold = 6.0;  ///< llm_int8_threshold

    friend bool operator==(const QuantizationPlan&, const QuantizationPlan&) = default;
};

/// Parts of a loaded model that axolotl casts to float32 (loaders/model.py _configure_embedding_dtypes).
enum class UpcastParts : std::uint8_t { norms, norms_and_embeddings };

/// `from_pretrained` and what is called right after it.
struct LoadPlan {
    DType dtype = DType::bfloat16;
    AttentionImplementation attention = AttentionImplementation::sdpa;
    std::optional<SdpaKernel> sdpa_kernel;  ///< absent: what PyTorch chooses on the card
    bool sdpa_expand_kv = false;            ///< "repeat_interleave"
    bool on_device = true;                  ///< device_map {"": 0}; false: loaded in host memory, moved afterwards
    bool moved_by_trainer = false;          ///< what was loaded in host memory; false: by the script, at once
    std::optional<QuantizationPlan> quantization;
    std::optional<Bytes> shard_size;  ///< absent: 5 GB, tensors in order of modules
    std::optional<std::int64_t> resize_token_embeddings;
    std::int64_t num_labels = 0;  ///< AutoModelForSequenceClassification with so many; 0: a language model
    bool labels_tokens = false;   ///< AutoModelForTokenClassification in its place
    bool gradient_checkpointing = false;
    /// Of a model of text and images: whether by the class that has no images. Where nothing is said, what
    /// AutoModelForCausalLM loads.
    std::optional<bool> text_part;
    std::optional<UpcastParts> upcast;  ///< in float32 around prepare_kbit, then in `dtype`; routers stay in float32
    bool upcast_stays = false;          ///< ... and nothing is cast back
    std::optional<DType> cast_after_adapter;
    bool without_threads = false;  ///< HF_DEACTIVATE_ASYNC_LOAD (transformers 5): a tensor is read when it is placed

    friend bool operator==(const LoadPlan&, const LoadPlan&) = default;
};

/// `peft.prepare_model_for_kbit_training`.
struct PreparePlan {
    bool use_gradient_checkpointing = true;
    std::optional<bool> use_reentrant;
    bool auto_clear_cache = true;  ///< peft 0.21: torch.cuda.empty_cache() after the upcast

    friend bool operator==(const PreparePlan&, const PreparePlan&) = default;
};

}  // namespace vramfit
