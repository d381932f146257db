// New tensors and casts in recorded programs.
#include "engine/ops/copy.hpp"
#include "engine/ops/pointwise.hpp"
#include "model/recorded/operators.hpp"

namespace vramfit::model::recorded {

using namespace engine;

namespace {

using ArgumentKind = network::Argument::Kind;

void refuse_host(const Arguments& a, const network::Argument* device) {
    if (device && device->is(ArgumentKind::device) && !device->boolean) a.refuse("a tensor on the host");
}

/// Tensor.to(dtype), to(device), to(device, dtype), to(dtype=..., device=...).
Tensor cast(const Arguments& a) {
    Tensor t = a.tensor(0);
    std::optional<DType> dtype = a.dtype(a.find("dtype"));
    refuse_host(a, a.find("device"));
    for (std::size_t i = 1; i < a.count(); ++i) {
        if (a.at(i).is(ArgumentKind::dtype)) dtype = a.dtype(&a.at(i));
        refuse_host(a, &a.at(i));
        if (Arguments::is_tensor(a.at(i))) dtype = a.tensor(i).dtype();
    }
    if (a.flag(a.count(), "copy", false)) a.refuse("copy=True");
    if (is_on_host(t)) t = to_device(t);
    if (const network::Argument* format = a.find("memory_format")) {
        if (!dtype || format->text != "torch.contiguous_format") a.refuse("such a memory format");
        return to_contiguous(t, *dtype);
    }
    return dtype ? to(t, *dtype) : t;
}

template <DType dtype>
Tensor cast_to(const Arguments& a) {
    return to(a.tensor(0), dtype);
}

/// torch.zeros and its like; sizes come first.
template <Op op>
Tensor filled(const Arguments& a) {
    refuse_host(a, a.find("device"));
    return empty(a.session(), a.dims(0), a.dtype(a.find("dtype")).value_or(DType::float32), op);
}

/// Like a tensor, in its dtype or another one.
template <Op op>
Tensor filled_like(const Arguments& a) {
    const Tensor t = a.tensor(0);
    if (a.find("device")) a.refuse("an option");
    if (const network::Argument* format = a.find("memory_format")) {
        if (format->text != "torch.contiguous_format") a.refuse("such a memory format");
        return empty(a.session(), t.sizes(), a.dtype(a.find("dtype")).value_or(t.dtype()), op);
    }
    return pointwise_result(t, a.dtype(a.find("dtype")).value_or(t.dtype()), op);
}

/// torch.full_like(t, number).
Tensor full_like_number(const Arguments& a) {
    if (Arguments::is_tensor(a.at(1))) a.refuse("a tensor");
    return filled_like<Op::full_like>(a);
}

/// torch.full(sizes, number), in the number's own dtype where none is said (ATen/native/TensorFactories.cpp
/// infer_full_options).
Tensor full_of_number(const Arguments& a) {
    if (Arguments::is_tensor(a.at(1))) a.refuse("a tensor");
    refuse_host(a, a.find("device"));
    const std::optional<DType> dtype = a.dtype(a.find("dtype"));
    const bool whole = a.at(1).is(ArgumentKind::integer);
    if (!dtype && !whole && !a.at(1).is(ArgumentKind::real)) a.refuse("no dtype");
    return empty(a.session(), a.dims(0), dtype.value_or(whole ? DType::int64 : DType::float32), Op::full);
}

/// torch.eye(n) or (n, m): torch 2.13 native/cuda/TensorFactories.cu eye_out_cuda fills one tensor in place.
Tensor identity(const Arguments& a) {
    refuse_host(a, a.find("device"));
    const Size rows = a.size(a.at(0));
    const Size columns = a.count() > 1 ? a.size(a.at(1)) : rows;
    return empty(a.session(), {rows, columns}, a.dtype(a.find("dtype")).value_or(DType::float32), Op::eye);
}

/// torch.scalar_tensor(number), which has no dimensions (ATen/native/TensorFactories.cpp scalar_tensor).
Tensor one_number(const Arguments& a) {
    refuse_host(a, a.find("device"));
    return empty(a.session(), {}, a.dtype(a.find("dtype")).value_or(DType::float32), Op::scalar_tensor);
}

/// A step of torch.arange that is a whole number, however it is written (XLNet's are 2.0 and -1.0).
std::int64_t whole_step(const Arguments& a) {
    const network::Argument& step = a.at(2);
    const double real = step.is(ArgumentKind::integer) ? static_cast<double>(step.integer) : step.real;
    if (!(step.is(ArgumentKind::integer) || step.is(ArgumentKind::real)) || real == 0.0 || real != std::trunc(real) ||
        std::abs(real) > 1e6)
        a.refuse("such a step");
    return static_cast<std::int64_t>(real);
}

/// torch.arange(end), (begin, end) or (begin, end, step).
Tensor range(const Arguments& a) {
    refuse_host(a, a.find("device"));
    const DType dtype = a.dtype(a.find("dtype")).value_or(DType::int64);
    if (is_floating(dtype)) a.refuse("a dtype with fractions");
    if (a.count() == 1) return arange(a.session(), a.size(a.at(0)), dtype);
    const Size length = a.size(a.at(1)) - a.size(a.at(0));
    if (a.count() == 2) return arange(a.session(), length, dtype);
    const std::int64_t step = whole_step(a);
    const std::int64_t stride = std::abs(step);
    return arange(a.session(), ((step > 0 ? length : length * -1) + (stride - 1)) / stride, dtype);
}

/// Tensor.new_empty(sizes) and its like.
template <Op op>
Tensor new_beside(const Arguments& a) {
    const Tensor t = a.tensor(0);
    refuse_host(a, a.find("device"));
    return empty(a.session(), a.dims(1), a.dtype(a.find("dtype")).value_or(t.dtype()), op);
}

/// torch.tensor of numbers of the host: copied from there, which waits (torch/csrc/utils/tensor_new.cpp
/// internal_new_from_data).
Tensor from_data(const Arguments& a) {
    refuse_host(a, a.find("device"));
    const auto dtype = a.makes_scalar() ? a.dtype(a.find("dtype")) : a.result_dtype();
    Tensor t = empty(a.session(), a.result_sizes(), dtype.value_or(DType::float32), Op::to_copy);
    a.session().streams.host_waits(0);
    return t;
}

constexpr NamedOperator kFactories[] = {
    {"torch.Tensor.to", cast},
    {"torch.Tensor.type_as", cast},
    {"torch.Tensor.type", cast},
    {"torch.Tensor.float", cast_to<DType::float32>},
    {"torch.Tensor.half", cast_to<DType::float16>},
    {"torch.Tensor.bfloat16", cast_to<DType::bfloat16>},
    {"torch.Tensor.int", cast_to<DType::int32>},
    {"torch.Tensor.long", cast_to<DType::int64>},
    {"torch.Tensor.bool", cast_to<DType::boolean>},
    {"torch.zeros", filled<Op::zeros>},
    {"torch.ones", filled<Op::ones>},
    {"torch.empty", filled<Op::empty>},
    {"torch.full", full_of_number},
    {"torch.scalar_tensor", one_number},
    {"torch.zeros_like", filled_like<Op::zeros_like>},
    {"torch.ones_like", filled_like<Op::ones_like>},
    {"torch.empty_like", filled_like<Op::empty_like>},
    {"torch.full_like", full_like_number},
    {"torch.rand_like", filled_like<Op::rand_like>},
    {"torch.eye", identity},
    {"torch.arange", range},
    {"torch.Tensor.new_ones", new_beside<Op::ones>},
    {"torch.Tensor.new_empty", new_beside<Op::empty>},
    {"torch.Tensor.new_zeros", new_beside<Op::zeros>},
    {"torch.tensor", from_data},
};

}  // namespace

std::span<const NamedOperator> factory_operators() { return kFactories; }

}  // namespace vramfit::model::recorded
