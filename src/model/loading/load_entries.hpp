// What the loaders share: the tensors of a checkpoint, and how one of them comes onto the device.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "model/network/run.hpp"
#include "spec/network/model.hpp"

namespace vramfit::model {

engine::Dims dims_of(const std::vector<std::int64_t>& sizes);

/// One parameter and where it goes.
struct Entry {
    std::string name;  ///< in the checkpoint; of a recorded network, its own until name_as_published
    engine::Dims sizes;
    Tensor* place = nullptr;
    Linear* packed = nullptr;              ///< quantized on the way
    bool of_packed = false;                ///< the bias of a layer that is quantized
    DType dtype = DType::bfloat16;         ///< in memory
    std::vector<std::string> merged_from;  ///< the checkpoint has NAME.EXPERT.FILE of these files instead
    bool in_split_plan = false;  ///< tensor parallelism would split it, or has it in its plan and leaves it whole
    /// The checkpoint has tensors of these names instead, joined by their rows.
    std::vector<std::string> joined_from = {};
    bool has_own_dtype = false;  ///< the class says the dtype, whatever the weights have
    /// Other entries that are parts of the same tensor of the checkpoint, which is cut by its rows.
    std::vector<std::size_t> cut_with = {};
    bool is_cut_from_other = false;  ///< named there
};

/// Names of a recorded network that stay in float32 where it is loaded in `dtype`. modeling_utils.py _get_dtype_plan:
/// _keep_in_fp32_modules count for float16 only.
bool stays_float32(const network::Document& recording, DType dtype, std::string_view name);

/// The tensors in the order of the modules. Throws Error (unsupported) for a quantizer that is not known here.
std::vector<Entry> checkpoint_entries(const Run& run, Network& network);

/// A recorded network's buffer, which `op` makes on the device. `cast`: what floating-point buffers were cast to.
Tensor recorded_buffer(const Run& run, const network::Buffer& buffer, engine::Op op, std::optional<DType> cast = {});

/// Moves a recorded network that was loaded in host memory, module by module.
void move_recorded(const Run& run, Network& network, std::optional<DType> buffer_dtype);

/// Takes a tensor that has come onto the device to its place, through bitsandbytes where it has taken the layer's.
void place_entry(const Run& run, const Entry& entry, Tensor value);

/// Copies a tensor to the device, and quantizes it there where bitsandbytes has taken the layer's place.
void load_entry(const Run& run, const Entry& entry);

/// The loaders by release: transformers 5.x, and 4.x with accelerate.
Network load_sorted(const Run& run);
Network load_by_module(const Run& run);

/// Loaded in host memory; what is quantized goes to the device for it and comes back, without its state.
Network load_packed_on_host(const Run& run);

/// Loaded in host memory.
Network load_on_host(const Run& run);

/// from_pretrained inside of zero.Init: each module is cut as soon as it is made, then the checkpoint is read into it.
Network load_partitioned(const Run& run);

/// Moves the buffers of the next layer's rotary embedding from host memory to the device.
void move_layer_buffers(const Run& run, Network& network, std::optional<DType> dtype);

/// How many buffers of frequencies the decoder has.
int rotary_buffers(const Run& run);

/// Whether the embedding has a scale of its own.
bool embedding_scales_itself(const Run& run);

/// core_model_loading.py convert_and_load_state_dict_in_model.
void load_converted(const Run& run, const std::vector<Entry>& entries);

}  // namespace vramfit::model
