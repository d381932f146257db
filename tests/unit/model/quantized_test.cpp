// 4-bit layers: what quantization takes and leaves, which products are fused, what forward keeps for backward.
#include "model/quantizers/quantized.hpp"

#include <vector>

#include "engine/backward.hpp"
#include "engine/ops/copy.hpp"
#include "model/quantizers/gemm_4bit.hpp"
#include "recording.hpp"
#include "support/catch.hpp"

using namespace recording;
using model::Linear;

namespace {

constexpr std::int64_t kWorkspace = 8519680;

/// A layer of 512 by 256, quantized from float16, and what happened in between.
struct Quantized : Linear {
    Tensor code;
    Events events;
};

Quantized layer(Recording& r, bool double_quant) {
    Quantized l;
    l.in = 256;
    l.out = 512;
    QuantizationPlan plan;
    plan.double_quant = double_quant;
    plan.compute_dtype = DType::bfloat16;
    const Tensor weight = empty(r.session, {512, 256}, DType::float16);
    r.events();
    l.quantized = model::quantize_4bit(weight, plan, l.code);
    l.events = r.events();
    return l;
}

/// Input of 8 x 128 tokens: too many for the fused kernel with this weight.
Tensor tokens(Recording& r, DType dtype, bool requires_grad) {
    Tensor x = empty(r.session, {8, 128, 256}, dtype);
    x.set_requires_grad(requires_grad);
    r.events();
    return x;
}

}  // namespace

TEST_CASE("quantization packs a weight to half a byte for each element") {
    Recording r;
    const Quantized l = layer(r, false);
    // absmax, packed, code; the code's absolute values and their largest
    CHECK(l.events == Events{8192, 65536, 64, 64, 4, -4, -64});
    CHECK(l.quantized->packed.sizes() == Dims{65536, 1});
    CHECK(l.quantized->absmax.dtype() == DType::float32);
    CHECK(l.quantized->dtype == DType::float16);
}

TEST_CASE("packed weights of another dtype are as large, in fewer elements") {
    for (const auto& [storage, elements] : {std::pair(DType::bfloat16, 32768), std::pair(DType::float32, 16384)}) {
        Recording r;
        QuantizationPlan plan;
        plan.storage = storage;
        const Tensor weight = empty(r.session, {512, 256}, DType::float16);
        r.events();
        Tensor code;
        const auto state = model::quantize_4bit(weight, plan, code);
        CHECK(r.events() == Events{8192, 65536, 64, 64, 4, -4, -64});
        CHECK(state.packed.sizes() == Dims{elements, 1});
        CHECK(state.packed.dtype() == storage);
    }
}

TEST_CASE("double quantization packs the absmax to bytes") {
    Recording r;
    {
        const Quantized l = layer(r, true);
        // after the code: offset, absmax - offset, the shared table, nested absmax, absmax, a copy of the table
        CHECK(l.events == Events{8192, 65536, 64, 64, 4, -4, -64, 4, 8192, 1024, 32, 2048, 1024, -8192, -8192});
        CHECK(l.quantized->absmax.dtype() == DType::uint8);
    }
    Recording old("hf-2024-04");
    const Quantized l = layer(old, true);
    // in place, and one table for all
    CHECK(l.events == Events{8192, 65536, 64, 64, 4, -4, -64, 4, 1024, 32, 2048, -8192});
    CHECK(l.quantized->nested_code.defined());
}

TEST_CASE("the fused kernel is chosen as bitsandbytes does") {
    struct Row {
        int multiprocessors;
        Capability capability;
        DType dtype;
        std::int64_t m, n, k;
        bool fused;
    };
    // Answers of bitsandbytes 0.50.2's own function, drawn at random.
    const Row rows[] = {
        {108, {8, 0}, DType::bfloat16, 512, 2048, 28672, false},
        {108, {8, 0}, DType::float16, 384, 576, 4096, false},
        {108, {8, 0}, DType::float16, 32, 8192, 8960, true},
        {108, {8, 0}, DType::bfloat16, 24, 10240, 576, true},
        {12, {8, 7}, DType::bfloat16, 23, 11008, 256, false},
        {12, {8, 7}, DType::float16, 8, 128, 1536, false},
        {128, {8, 9}, DType::float16, 257, 1376, 896, false},
        {128, {8, 9}, DType::bfloat16, 513, 8960, 10240, false},
        {128, {8, 9}, DType::bfloat16, 65, 8192, 28672, true},
        {128, {8, 9}, DType::bfloat16, 32, 896, 512, true},
        {132, {9, 0}, DType::float16, 192, 8960, 2048, false},
        {132, {9, 0}, DType::bfloat16, 33, 128, 256000, false},
        {132, {9, 0}, DType::float16, 10, 14336, 3072, true},
        {132, {9, 0}, DType::float16, 6, 8960, 4864, true},
        {148, {10, 0}, DType::bfloat16, 257, 1376, 4096, false},
        {148, {10, 0}, DType::float16, 5, 256000, 11008, true},
        {170, {12, 0}, DType::bfloat16, 257, 4864, 1024, false},
        {170, {12, 0}, DType::bfloat16, 48, 16384, 11008, true},
        {170, {12, 0}, DType::bfloat16, 17, 4096, 576, true},
        {20, {11, 0}, DType::float16, 777, 576, 256, false},
        {40, {7, 5}, DType::float16, 256, 896, 4096, false},
        {40, {7, 5}, DType::bfloat16, 13, 4096, 11008, false},
        {40, {7, 5}, DType::float16, 13, 128, 8192, true},
        {40, {7, 5}, DType::float16, 64, 8192, 576, true},
        {48, {12, 1}, DType::bfloat16, 96, 896, 768, false},
        {48, {12, 1}, DType::bfloat16, 512, 14336, 8192, false},
        {48, {12, 1}, DType::bfloat16, 17, 2048, 768, true},
        {48, {12, 1}, DType::float16, 97, 18944, 128, true},
        {56, {6, 1}, DType::float16, 513, 10240, 16384, false},
        {56, {6, 1}, DType::bfloat16, 6, 1376, 8192, true},
        {80, {7, 0}, DType::bfloat16, 777, 8960, 576, false},
        {80, {7, 0}, DType::float16, 7, 2560, 28672, true},
        {84, {8, 6}, DType::float16, 321, 128, 2048, false},
        {84, {8, 6}, DType::bfloat16, 9, 2560, 8192, true},
    };
    for (const Row& row : rows) {
        INFO(row.multiprocessors << " " << row.m << " " << row.n << " " << row.k);
        Device device;
        device.capability = row.capability;
        device.multiprocessors = row.multiprocessors;
        CHECK((model::unpacks_4bit(device, row.dtype, row.m, row.n, row.k) == 0) == row.fused);
    }
}

TEST_CASE("a product with a packed weight unpacks it, forward and backward") {
    Recording r;
    const Quantized l = layer(r, true);
    const Tensor x = tokens(r, DType::bfloat16, true);
    const Tensor out = model::linear_4bit(l, x);
    // absmax, absmax + offset, weight, result, workspace
    CHECK(r.events() == Events{8192, 8192, 262144, 1048576, kWorkspace, -262144, -8192, -8192});
    const Tensor grad = ones_like(out);
    r.events();
    run_backward({&out, 1}, {&grad, 1});
    // absmax, weight in the dtype that was quantized, in the gradient's; the gradient of the input
    CHECK(r.events() == Events{8192, 262144, -8192, 262144, -262144, 524288, kWorkspace, -262144});
}

TEST_CASE("the input of a packed product is kept by old versions only") {
    for (const auto& [stack, kept] : {std::pair{"", false}, std::pair{"hf-2024-04", true}}) {
        Recording r(stack);
        const Quantized l = layer(r, false);
        Tensor x = tokens(r, DType::bfloat16, true);
        const Tensor grown = clone(x);
        Tensor middle = clone(grown);
        const Tensor out = model::linear_4bit(l, middle);
        r.events();
        middle.reset();
        CHECK(r.events().empty() == kept);
    }
}

TEST_CASE("the compute dtype: given, or the first input's in old versions") {
    Recording r;
    const Quantized l = layer(r, false);
    CHECK(model::linear_4bit(l, tokens(r, DType::float32, false)).dtype() == DType::float32);
    CHECK(l.quantized->compute_dtype == DType::bfloat16);
    Recording old("hf-2024-04");
    const Quantized m = layer(old, false);
    CHECK(model::linear_4bit(m, tokens(old, DType::float32, false)).dtype() == DType::float32);
    CHECK(m.quantized->compute_dtype == DType::float32);
    CHECK(model::linear_4bit(m, tokens(old, DType::bfloat16, false)).dtype() == DType::bfloat16);
    CHECK(m.quantized->compute_dtype == DType::float32);
}
