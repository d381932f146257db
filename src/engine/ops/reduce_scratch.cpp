// A transcription of gpu_reduce_kernel and setReduceConfig as far as they decide sizes.
#include "engine/ops/reduce_scratch.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "vramfit/base/checked.hpp"

namespace vramfit::engine {

int max_threads_per_multiprocessor(const Capability& c) {
    // CUDA C++ Programming Guide, compute capabilities table.
    if (c == Capability{7, 5}) return 1024;
    if (c == Capability{8, 6} || c == Capability{8, 7} || c == Capability{8, 9} || c.major == 12) return 1536;
    return 2048;
}

namespace {

/// One dimension of the iterator, in elements; output stride 0 marks a reduced one.
struct IterDim {
    std::int64_t size;
    std::int64_t input_stride;
    std::int64_t output_stride;
};

/// As many as a tensor has at most, without memory of their own: sweeps ask for thousands.
class IterDims {
  public:
    std::size_t size() const { return size_; }
    bool empty() const { return size_ == 0; }
    IterDim& operator[](std::size_t i) { return dims_[i]; }
    const IterDim& operator[](std::size_t i) const { return dims_[i]; }
    IterDim* begin() { return dims_.data(); }
    IterDim* end() { return dims_.data() + size_; }
    const IterDim* begin() const { return dims_.data(); }
    const IterDim* end() const { return dims_.data() + size_; }
    IterDim& back() { return dims_[size_ - 1]; }
    void push(const IterDim& d) { dims_[size_++] = d; }

  private:
    std::array<IterDim, Dims::kCapacity> dims_;  // only the first size_ are ever read
    std::size_t size_ = 0;
};

std::int64_t last_pow2(std::int64_t n) {
    std::int64_t p = 1;
    while (p * 2 <= n) p *= 2;
    return p;
}

/// TensorIterator: reduced dimensions first (output stride 0), then by stride; neighbours that are one are joined.
IterDims iterator_dims(const Layout& input, DimMask dims) {
    const auto before = [](const IterDim& a, const IterDim& b) {
        const bool ra = a.output_stride == 0, rb = b.output_stride == 0;
        return ra != rb ? ra : a.input_stride < b.input_stride;
    };
    IterDims sorted;
    std::int64_t out_stride = 1;
    for (int i = input.sizes.size() - 1; i >= 0; --i) {
        const bool reduced = (dims >> i) & 1u;
        const IterDim d{input.sizes[i].bits(), input.strides[i].bits(), reduced ? 0 : out_stride};
        if (!reduced) out_stride *= d.size;
        if (d.size == 1) continue;
        sorted.push(d);  // behind its equals
        for (IterDim* at = sorted.end() - 1; at != sorted.begin() && before(*at, at[-1]); --at) std::swap(*at, at[-1]);
    }
    IterDims joined;
    for (const IterDim& d : sorted) {
        if (!joined.empty()) {
            IterDim& p = joined.back();
            if (p.input_stride * p.size == d.input_stride && p.output_stride * p.size == d.output_stride) {
                p.size *= d.size;
                continue;
            }
        }
        joined.push(d);
    }
    return joined;
}

int output_vec_size(const IterDims& dims, std::size_t reduced) {
    int vec = 4;
    const auto fit = [&vec](std::int64_t n) {
        while (n % vec != 0) vec /= 2;
    };
    fit(dims[reduced].size);
    for (std::size_t i = 0; i < dims.size(); ++i)
        if (i != reduced) fit(dims[i].input_stride);
    return vec;
}

/// setReduceConfig, ReduceConfig::global_memory_size and semaphore_size.
ReduceScratch scratch_of(const IterDims& dims, const ReduceTypes& types, const Device& device) {
    std::int64_t outputs = 1;
    std::int64_t inputs = 1;
    std::size_t reduced = 0;
    for (const IterDim& d : dims) {
        (d.output_stride == 0 ? inputs : outputs) *= d.size;
        if (d.output_stride == 0) ++reduced;
    }
    if (dims.empty() || reduced == 0) return {};

    const bool fastest = reduced == dims.size() || dims[0].input_stride < dims[reduced].input_stride;
    std::int64_t dim0 = fastest ? inputs : outputs;
    const std::int64_t dim1 = fastest ? outputs : inputs;
    const std::int64_t fastest_stride = fastest ? dims[0].input_stride : dims[reduced].input_stride;
    int vec_out = 1;
    if (fastest_stride == 1) {
        if (fastest && dim0 >= 128 && reduced == 1) {
            dim0 /= types.vector;
        } else if (!fastest) {
            vec_out = output_vec_size(dims, reduced);
            dim0 /= vec_out;
        }
    }
    // set_block_dimension
    const std::int64_t max_threads = 512 / vec_out;
    const std::int64_t dim0_pow2 = dim0 < max_threads ? last_pow2(std::max<std::int64_t>(dim0, 1)) : max_threads;
    const std::int64_t dim1_pow2 = dim1 < max_threads ? last_pow2(std::max<std::int64_t>(dim1, 1)) : max_threads;
    std::int64_t width = std::min<std::int64_t>(dim0_pow2, 32);
    const std::int64_t height = std::min(dim1_pow2, max_threads / width);
    width = std::min(dim0_pow2, max_threads / height);

    std::int64_t step_input = 1;
    std::int64_t step_output = 1;
    const bool block_x_reduce = fastest;
    (fastest ? step_input : step_output) *= width;
    const auto values_per_thread = [&] { return ceil_div(inputs, step_input); };
    const bool split_across_warps = values_per_thread() >= std::min<std::int64_t>(height * 16, 256);
    (split_across_warps ? step_input : step_output) *= height;

    const std::int64_t blocks_per_sm = max_threads_per_multiprocessor(device.capability) / (width * height);
    const std::int64_t target_grid = device.multiprocessors * blocks_per_sm;
    const std::int64_t grid = ceil_div(outputs / vec_out, step_output);
    if (!(split_across_warps && values_per_thread() >= 256 && grid <= target_grid)) return {};
    const std::int64_t ctas = std::max(std::min(ceil_div(target_grid, grid), ceil_div(values_per_thread(), 16)),
                                       ceil_div(values_per_thread(), 256));
    if (ctas <= 1) return {};
    std::int64_t buffer = types.accumulate * outputs * ctas;
    if (!block_x_reduce) buffer *= width * vec_out;
    return {buffer, 4 * grid};
}

// TensorIterator.cpp can_use_32bit_indexing.
bool fits_32_bits(const IterDims& dims, const ReduceTypes& types) {
    constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
    std::int64_t elements = 1, input = 1, output = 1;
    for (const IterDim& d : dims) {
        elements *= d.size;
        input += (d.size - 1) * d.input_stride * types.input;
        output += (d.size - 1) * d.output_stride * types.output;
    }
    return elements <= kMost && input <= kMost && output <= kMost;
}

// TensorIterator.cpp get_dim_to_split: the dimension of the widest reach in bytes, the last of equals.
std::size_t dim_to_split(const IterDims& dims, const ReduceTypes& types) {
    std::size_t widest = 0;
    std::int64_t most = -1;
    for (std::size_t i = dims.size(); i-- > 0;) {
        const std::int64_t reach =
            (dims[i].size - 1) * std::max(dims[i].input_stride * types.input, dims[i].output_stride * types.output);
        if (reach > most) {
            most = reach;
            widest = i;
        }
    }
    return widest;
}

// TensorIterator.cpp SplitUntil32Bit: halves, the first one first.
void split(IterDims dims, const ReduceTypes& types, const Device& device, ReducePlan& plan) {
    while (!fits_32_bits(dims, types)) {
        const std::size_t at = dim_to_split(dims, types);
        IterDims first = dims;
        first[at].size = dims[at].size / 2;
        dims[at].size -= first[at].size;
        split(first, types, device, plan);
    }
    plan.parts.push_back(scratch_of(dims, types, device));
}

ReducePlan plan_of(const IterDims& dims, const ReduceTypes& types, const Device& device) {
    ReducePlan plan;
    const bool in_output = types.output >= types.accumulate;
    if (!in_output && !fits_32_bits(dims, types)) {
        std::int64_t outputs = 1;
        for (const IterDim& d : dims) outputs = std::max(outputs, d.size * d.output_stride);
        plan.accumulation = outputs * types.accumulate;
    }
    split(dims, types, device, plan);
    return plan;
}

/// Which number of a plan a function of sizes gives; of parts two numbers each follow.
enum Number : std::int64_t { takes_scratch, accumulation, parts, first_part };

/// Arguments: number, mask, element sizes of ReduceTypes, sizes and strides in turn.
constexpr std::size_t kShape = 6;

std::int64_t number_of_plan(const void* context, std::span<const std::int64_t> a) {
    Layout layout;
    for (std::size_t i = kShape; i < a.size(); i += 2) {
        layout.sizes.push(a[i]);
        layout.strides.push(a[i + 1]);
    }
    const ReduceTypes types{static_cast<int>(a[2]), static_cast<int>(a[3]), static_cast<int>(a[4]),
                            static_cast<int>(a[5])};
    const Device& device = *static_cast<const Device*>(context);
    const IterDims dims = iterator_dims(layout, static_cast<DimMask>(a[1]));
    const auto part_number = [&](const ReduceScratch& part) {
        return ((a[0] - first_part) % 2 == 0 ? part.buffer : part.semaphores).bits();
    };
    if (fits_32_bits(dims, types)) {  // one part, by far the most
        if (a[0] == accumulation) return 0;
        if (a[0] == parts) return 1;
        const ReduceScratch only = scratch_of(dims, types, device);
        return a[0] == takes_scratch ? only.buffer.bits() > 0 : part_number(only);
    }
    const ReducePlan plan = plan_of(dims, types, device);
    switch (a[0]) {
        case takes_scratch: {
            bool any = plan.accumulation.bits() > 0;
            for (const ReduceScratch& part : plan.parts) any = any || part.buffer.bits() > 0;
            return any;
        }
        case accumulation: return plan.accumulation.bits();
        case parts: return static_cast<std::int64_t>(plan.parts.size());
        default: break;
    }
    return part_number(plan.parts.at(static_cast<std::size_t>(a[0] - first_part) / 2));
}

const char* name_of_number(std::int64_t which) {
    switch (which) {
        case takes_scratch: return "reduction_takes_scratch";
        case accumulation: return "reduction_accumulator";
        case parts: return "reduction_parts";
        default: return (which - first_part) % 2 == 0 ? "reduction_scratch" : "reduction_semaphores";
    }
}

bool is_symbolic(const Layout& layout) {
    for (int i = 0; i < layout.sizes.size(); ++i)
        if (layout.sizes[i].is_symbolic() || layout.strides[i].is_symbolic()) return true;
    return false;
}

/// The same plan as functions of symbolic sizes.
ReducePlan symbolic_plan(const Layout& input, DimMask mask, const ReduceTypes& types, const Device& device) {
    std::vector<Size> arguments{0, mask, types.input, types.output, types.accumulate, types.vector};
    for (int i = 0; i < input.sizes.size(); ++i) {
        arguments.push_back(input.sizes[i]);
        arguments.push_back(input.strides[i]);
    }
    const auto number = [&](std::int64_t which) {
        arguments[0] = which;
        return apply({number_of_plan, name_of_number(which)}, &device, arguments);
    };
    if (number(takes_scratch) == 0) return {};
    ReducePlan plan{number(accumulation), {}};
    const auto count = static_cast<std::int64_t>(number(parts));
    for (std::int64_t i = 0; i < count; ++i)
        plan.parts.push_back({number(first_part + 2 * i), number(first_part + 2 * i + 1)});
    return plan;
}

}  // namespace

ReducePlan plan_reduction(const Layout& input, DimMask mask, const ReduceTypes& types, const Device& device) {
    return is_symbolic(input) ? symbolic_plan(input, mask, types, device)
                              : plan_of(iterator_dims(input, mask), types, device);
}

}  // namespace vramfit::engine
