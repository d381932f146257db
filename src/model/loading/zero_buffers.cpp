// deepspeed 0.19.8 runtime/zero/partition_parameters.py zero_wrapper_for_fp_tensor_constructor: torch's constructors
// give tensors on the device, floating-point ones in DeepSpeed's dtype.
#include "model/loading/zero_buffers.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "engine/ops/copy.hpp"
#include "engine/ops/pointwise.hpp"
#include "engine/ops/reduce.hpp"
#include "engine/session.hpp"
#include "model/loading/load_entries.hpp"
#include "model/parallel/zero_plan.hpp"
#include "spec/listed.hpp"
#include "vramfit/base/error.hpp"

namespace vramfit::model {

using namespace engine;

namespace {

/// 1 / base^exponents.
Tensor inverse_powers(Tensor exponents) {
    const DType dtype = exponents.dtype();
    exponents = div(exponents, 1);
    const Tensor powers = pointwise_result(exponents, dtype, Op::pow);
    { const Tensor base = empty(exponents.session(), {}, DType::float64, Op::scalar_tensor); }
    exponents.reset();
    Tensor inverse = reciprocal(powers);
    inverse = mul(inverse, 1.0);
    return inverse;
}

/// LlamaRotaryEmbedding.compute_default_rope_parameters: zero.Init's torch.arange gives floats of the default dtype.
Tensor default_frequencies(Session& session, Size count, DType dtype) {
    Tensor exponents;
    {
        const Tensor places = empty(session, {count}, DType::float32, Op::arange);
        exponents = to(places, dtype);
    }
    return inverse_powers(std::move(exponents));
}

/// modeling_rope_utils.py _compute_llama3_parameters: float32, as it says.
Tensor llama3_frequencies(Session& session, Size count) {
    Tensor exponents;
    {
        const Tensor places = empty(session, {count}, DType::int64, Op::arange);
        exponents = to(places, DType::float32);
    }
    const Tensor inverse = inverse_powers(std::move(exponents));
    Tensor length = reciprocal(inverse);
    length = mul(length, 1.0);
    Tensor scaled;
    {
        const Tensor is_long = compare(Op::gt, length);
        const Tensor slower = div(inverse, 1.0);
        scaled = where(is_long, slower, inverse);
    }
    Tensor smooth = reciprocal(length);
    smooth = mul(smooth, 1);
    smooth = sub(smooth, 1.0);
    smooth = div(smooth, 1.0);
    Tensor smoothed;
    {
        Tensor rest = pointwise_result(smooth, DType::float32, Op::sub);
        rest = mul(rest, scaled);
        rest = div(rest, 1.0);
        const Tensor part = mul(smooth, scaled);
        smoothed = add(rest, part);
    }
    Tensor is_medium;
    {
        Tensor not_short = compare(Op::lt, length);
        not_short = pointwise_result(not_short, DType::boolean, Op::bitwise_not);
        Tensor not_long = compare(Op::gt, length);
        not_long = pointwise_result(not_long, DType::boolean, Op::bitwise_not);
        is_medium = pointwise_result(not_short, DType::boolean, Op::mul);
    }
    scaled = where(is_medium, smoothed, scaled);
    return scaled;
}

/// modeling_rope_utils.py _compute_yarn_parameters: float32 but for the ramp, which torch.arange makes.
Tensor yarn_frequencies(Session& session, Size count, DType dtype) {
    Tensor powers;
    {
        Tensor exponents;
        {
            const Tensor places = empty(session, {count}, DType::int64, Op::arange);
            exponents = to(places, DType::float32);
        }
        exponents = div(exponents, 1.0);
        powers = pointwise_result(exponents, DType::float32, Op::pow);
        const Tensor base = empty(session, {}, DType::float64, Op::scalar_tensor);
    }
    const auto inverse = [](Tensor powers_of_base) {
        const Tensor one_over = reciprocal(powers_of_base);
        return mul(one_over, 1.0);
    };
    const Tensor extrapolation = inverse(powers);
    const Tensor interpolation = inverse(mul(powers, 1.0));
    Tensor ramp;
    {
        const Tensor places = empty(session, {count}, DType::float32, Op::arange);
        ramp = to(places, dtype);
    }
    ramp = sub(ramp, 1.0);
    ramp = div(ramp, 1.0);
    ramp = pointwise_result(ramp, ramp.dtype(), Op::clamp);
    ramp = to(ramp, DType::float32);
    const Tensor factor = pointwise_result(ramp, DType::float32, Op::sub);
    ramp.reset();
    Tensor rest = pointwise_result(factor, DType::float32, Op::sub);
    rest = mul(interpolation, rest);
    const Tensor part = mul(extrapolation, factor);
    return add(rest, part);
}

/// _compute_linear_scaling_rope_parameters: the unscaled ones, divided in place.
Tensor linear_frequencies(Session& session, Size count) {
    Tensor exponents;
    {
        const Tensor places = empty(session, {count}, DType::int64, Op::arange);
        exponents = to(places, DType::float32);
    }
    return inverse_powers(std::move(exponents));
}

}  // namespace

Tensor frequencies_of(const Run& run, Size count, std::string_view type) {
    Session& session = run.session;
    if (type == "llama3") return llama3_frequencies(session, count);
    if (type == "yarn") return yarn_frequencies(session, count, zero_dtype(run));
    if (type == "linear") return linear_frequencies(session, count);
    return default_frequencies(session, count, zero_dtype(run));
}

Tensor made_scale(const Run& run) {
    return to(empty(run.session, {}, run.plan.load.dtype, Op::to_copy), zero_dtype(run));
}

bool has_buffers_of_ids(const network::ModuleKind& kind) {
    return !kind.buffers.empty() && std::all_of(kind.buffers.begin(), kind.buffers.end(), [](const auto& buffer) {
        return buffer.name == "position_ids" || buffer.name == "token_type_ids";
    });
}

namespace {

/// _compute_proportional_rope_parameters: float32, as it says, and 0 for those that do not turn.
Tensor proportional_frequencies(const Run& run, Size count, double share) {
    if (!(share > 0 && share <= 1))
        throw Error(ErrorKind::invalid, "model.rope_parameters",
                    fmt::format("a partial_rotary_factor of {} is no share of a head", share), "above 0, at most 1");
    Session& session = run.session;
    const Size turned(static_cast<std::int64_t>(share * static_cast<double>(count.value())));
    Tensor exponents;
    {
        const Tensor places = empty(session, {turned}, DType::int64, Op::arange);
        exponents = to(places, DType::float32);
    }
    const Tensor inverse = inverse_powers(std::move(exponents));
    if (same(turned, count)) return inverse;
    const Tensor still = to(zeros(session, {count - turned}, DType::float32), zero_dtype(run));
    return empty(session, {count}, DType::float32, Op::cat);
}

/// Frequencies of a buffer in the way that the configuration, or else the class, says.
Tensor frequencies_of_buffer(const Run& run, const std::string& path, const network::ModuleKind& kind,
                             const network::Parameter& buffer) {
    const network::RopeParameters rope = network::rope_parameters(*run.spec.recording, path, buffer.name);
    const Size count = network::sizes_of(buffer).at(0);
    // transformers 5.17 configuration_gemma4.py Gemma4TextConfig.__post_init__, configuration_gemma4_unified.py.
    const bool of_gemma4 =
        (kind.class_name == "Gemma4TextRotaryEmbedding" || kind.class_name == "Gemma4UnifiedTextRotaryEmbedding") &&
        buffer.name.starts_with("full_attention");
    if (rope.type == "proportional" || (rope.type.empty() && of_gemma4))
        return proportional_frequencies(run, count, rope.partial_rotary_factor.value_or(of_gemma4 ? 0.25 : 1.0));
    constexpr std::string_view kKnown[] = {"", "default", "llama3", "yarn", "linear"};
    if (!is_listed(kKnown, rope.type))
        throw Error(ErrorKind::unsupported, "model.rope_parameters",
                    fmt::format("{} is not supported with ZeRO-3", rope.type), "llama3, yarn, linear or default");
    return frequencies_of(run, count, rope.type);
}

/// A module whose buffers are frequencies and their original, for each kind of layers or for all, as transformers'
/// rotary embeddings have them.
bool is_rotary(const network::ModuleKind& kind) {
    bool all = kind.class_name.ends_with("RotaryEmbedding") && kind.parameters.empty() && kind.buffers.size() % 2 == 0;
    for (std::size_t i = 0; all && i < kind.buffers.size(); i += 2) {
        const std::string& name = kind.buffers[i].name;
        all = name.ends_with("inv_freq") &&
              kind.buffers[i + 1].name == name.substr(0, name.size() - 8) + "original_inv_freq";
    }
    return all;
}

bool is_scaled_table(const network::ModuleKind& kind) {
    return kind.leaf == network::Leaf::embedding && kind.buffers.size() == 1 && kind.buffers[0].sizes.empty() &&
           kind.buffers[0].dtype.of == network::DTypeName::Of::weights;
}

/// torch.zeros of a router's correction, torch.ones of Gemma 4's layers.
bool is_filled(const network::ModuleKind& kind) {
    constexpr std::string_view kFilled[] = {"e_score_correction_bias", "layer_scalar"};
    return std::all_of(kind.buffers.begin(), kind.buffers.end(),
                       [&](const network::Parameter& buffer) { return is_listed(kFilled, buffer.name); });
}

/// GPTBigCodeModel: ones, of which torch.tril makes the mask.
bool is_triangle(const network::ModuleKind& kind) {
    return kind.buffers.size() == 1 && kind.buffers[0].name == "bias" && kind.class_name == "GPTBigCodeModel";
}

Tensor made_ids(Session& session, const network::Parameter& buffer) {
    const Dims sizes = dims_of(network::sizes_of(buffer));
    if (buffer.name != "position_ids") return zeros(session, sizes, DType::int64);
    return alias(arange(session, numel_of(sizes)), sizes, contiguous_strides(sizes));
}

Tensor made_filled(const Run& run, const network::Parameter& buffer) {
    const bool as_weights = buffer.dtype.of == network::DTypeName::Of::weights;
    const DType own = as_weights ? run.plan.load.dtype : DType::float32;
    return to(zeros(run.session, dims_of(network::sizes_of(buffer)), own), zero_dtype(run));
}

Tensor made_triangle(Session& session, const network::Parameter& buffer) {
    const Dims sizes = dims_of(network::sizes_of(buffer));
    const Tensor ones = empty(session, sizes, DType::boolean, Op::empty);
    return empty(session, sizes, DType::boolean, Op::empty);
}

}  // namespace

void make_buffers(const Run& run, const std::string& path, const network::ModuleKind& kind, Tensor* places) {
    Session& session = run.session;
    const auto& buffers = kind.buffers;
    if (buffers.empty()) return;
    const auto make = [&](const auto& made) { std::transform(buffers.begin(), buffers.end(), places, made); };
    if (is_scaled_table(kind)) return make([&](const auto&) { return made_scale(run); });
    if (has_buffers_of_ids(kind)) return make([&](const auto& buffer) { return made_ids(session, buffer); });
    if (is_filled(kind)) return make([&](const auto& buffer) { return made_filled(run, buffer); });
    if (is_triangle(kind)) return make([&](const auto& buffer) { return made_triangle(session, buffer); });
    if (!is_rotary(kind))
        throw Error(
            ErrorKind::unsupported, path,
            fmt::format("buffers that {} makes while DeepSpeed cuts the network are not supported", kind.class_name),
            "ZeRO-1, ZeRO-2, FSDP or DDP");
    for (std::size_t i = 0; i < buffers.size(); i += 2) {
        places[i] = frequencies_of_buffer(run, path, kind, buffers[i]);
        places[i + 1] = clone(places[i]);
    }
}

void keep_in_float32(const Run& run, Network& network) {
    if (!run.spec.recording) return;
    const network::Document& recording = *run.spec.recording;
    const std::vector<network::Buffer> buffers = network::buffers_in(recording);
    for (std::size_t i = 0; i < buffers.size(); ++i)
        if (stays_float32(recording, zero_dtype(run), buffers[i].name))
            network.buffers[i] = to(network.buffers[i], DType::float32);
}

}  // namespace vramfit::model
