// Runs a recorded network on the engine's tensors: what its own Python did, call by call.
#pragma once

#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "model/layers/kv_cache.hpp"
#include "model/recorded/model.hpp"

namespace vramfit::model {

/// The windows of a forward pass as whoever runs it names them.
struct RecordedWindows {
    std::function<void(std::int32_t layer, const Tensor& hidden)> layer;
    std::function<void(const Tensor& hidden)> head;
};

/// Named tensors: what a network is given, or gives back.
struct NamedTensor {
    std::string_view name;
    Tensor tensor;
};

/// Outputs of a program that it has made, by their names.
std::vector<NamedTensor> named_outputs(const network::Program& program, const std::vector<Tensor>& results);
/// One of them; null: there is none, or it is undefined.
const NamedTensor* named(const std::vector<NamedTensor>& all, std::string_view name);

/// What is asked of a network, by which its program is chosen.
struct RecordedQuestion {
    std::string_view attention;
    std::string_view mask;
    Size batch = 1;
    Size length = 1;
    bool labels = true;
    bool items = false;
    bool checkpointing = false;
    bool generates = false;  ///< `length`: of all tokens so far
};

/// The variant that answers a question. Throws Error (unsupported) where none was recorded, or not for all sizes.
const network::Variant& variant_for(const RecordedModel& model, const RecordedQuestion& question, DType weights,
                                    bool autocast);

/// The same without the head, for which labels make no difference.
const network::Variant& variant_for_base(const RecordedModel& model, RecordedQuestion question, DType weights,
                                         bool autocast);

/// One forward pass of a network that generates (with_generation), of the prompt or of one token: its logits.
Tensor run_generating(const Run& run, const Network& network, const RecordedModel& model, const Batch& batch,
                      const KvCachePointer& cache, DType weights, const RecordedWindows& windows);

/// One forward pass of the network: its outputs by their names. `logits_to_keep`: the head takes so many of the last
/// tokens; none: all. Throws Error (unsupported) where the sizes are none of those that the recording holds for, and
/// for functions that the engine does not know.
std::vector<NamedTensor> run_recorded(const Run& run, const Network& network, const RecordedModel& model,
                                      const network::Variant& variant, DType weights,
                                      const std::vector<NamedTensor>& given, const RecordedWindows& windows,
                                      std::optional<Size> logits_to_keep = {});

/// The same without the head, as trl's SFTTrainer calls it: the last hidden state. Throws Error (unsupported) where no
/// module is all but the head.
Tensor run_recorded_base(const Run& run, const Network& network, const RecordedModel& model,
                         const network::Variant& variant, DType weights, const std::vector<NamedTensor>& given,
                         const RecordedWindows& windows);

}  // namespace vramfit::model
