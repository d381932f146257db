// Attention: which kernel is taken, what each allocates forward and backward.
#include "engine/ops/attention.hpp"

#include <optional>
#include <string>
#include <vector>

#include "engine/backward.hpp"
#include "engine/ops/attention_efficient_kernels.hpp"
#include "engine/ops/reduce.hpp"
#include "engine/ops/view.hpp"
#include "engine/session.hpp"
#include "support/catch.hpp"
#include "vramfit/base/error.hpp"

using namespace vramfit;
using namespace vramfit::engine;

namespace {

Stack newest() {
    Stack stack;
    stack.torch = {2, 11, 0};
    return stack;
}

Device card(int major, int minor, int multiprocessors = 108) {
    Device device;
    device.capability = {major, minor};
    device.multiprocessors = multiprocessors;
    return device;
}

struct Shape {
    std::int64_t batch = 2, heads = 4, key_heads = 4, length = 300, head = 64;
};

/// q, k, v as the model makes them: views of [B, S, H, D].
struct Inputs {
    Tensor q, k, v, mask;

    Inputs(Session& session, const Shape& s, DType dtype, bool masked) {
        const auto make = [&](std::int64_t heads) {
            const Tensor leaf = empty(session, {s.batch, s.length, heads, s.head}, dtype);
            leaf.set_requires_grad(true);
            return transpose(leaf, 1, 2);
        };
        q = make(s.heads);
        k = make(s.key_heads);
        v = make(s.key_heads);
        if (masked) mask = empty(session, {s.batch, 1, s.length, s.length}, DType::boolean);
    }
};

AttentionArguments arguments(const Inputs& in, std::optional<SdpaKernel> forced = {}) {
    AttentionArguments a;
    a.is_causal = !in.mask.defined();
    a.enable_gqa = in.q.size(1) != in.k.size(1);
    a.forced = forced;
    return a;
}

/// "+bytes" and "-bytes" of the events from `first` on.
std::vector<std::string> events(const Program& program, std::size_t first) {
    std::vector<std::string> out;
    for (std::size_t i = first; i < program.events.size(); ++i) {
        const Event& e = program.events[i];
        out.push_back((e.kind == EventKind::alloc ? "+" : "-") + std::to_string(program.allocations[e.id].bytes));
    }
    return out;
}

using Events = std::vector<std::string>;

}  // namespace

TEST_CASE("PyTorch's choice of the attention kernel") {
    using enum SdpaKernel;
    struct Row {
        int major, minor;
        DType dtype;
        Shape shape;
        bool masked;
        SdpaKernel expected;
    };
    constexpr DType bf16 = DType::bfloat16, fp16 = DType::float16, fp32 = DType::float32;
    const Shape plain{};
    const Shape grouped{2, 4, 2, 300, 64};
    const Shape wide{2, 4, 4, 300, 256};
    const Shape odd{2, 4, 4, 300, 20};
    const Row rows[] = {
        {8, 0, bf16, plain, false, flash},
        {8, 0, bf16, grouped, false, flash},
        {8, 0, fp32, plain, false, efficient},
        {8, 0, fp32, grouped, false, math},
        {8, 0, bf16, plain, true, efficient},
        {8, 0, bf16, grouped, true, math},
        {7, 5, fp16, plain, false, efficient},
        {7, 5, fp16, grouped, false, math},
        {7, 5, bf16, plain, false, math},
        {7, 5, fp16, odd, false, math},
        {8, 0, bf16, odd, false, flash},
        {8, 0, bf16, wide, false, flash},
        {8, 9, bf16, wide, false, flash},
        {8, 9, bf16, {2, 4, 4, 300, 224}, false, efficient},
        {9, 0, bf16, plain, false, cudnn},
        {9, 0, bf16, grouped, true, cudnn},
        {9, 0, fp32, plain, false, efficient},
        {12, 0, bf16, plain, false, flash},
        {8, 0, bf16, {2, 4, 4, 300, 320}, false, efficient},
    };
    const Stack stack = newest();
    for (const Row& row : rows) {
        const Device device = card(row.major, row.minor);
        Session session(stack, device);
        const Inputs in(session, row.shape, row.dtype, row.masked);
        CAPTURE(row.major, row.minor, name_of(row.dtype), row.shape.head, row.shape.key_heads, row.masked);
        CHECK(choose_attention(in.q, in.k, in.v, in.mask, arguments(in)) == row.expected);
    }
}

TEST_CASE("An impossible attention kernel is refused") {
    const Stack stack = newest();
    const Device device = card(7, 5);
    Session session(stack, device);
    const Inputs in(session, {}, DType::float16, false);
    CHECK_THROWS_AS(choose_attention(in.q, in.k, in.v, in.mask, arguments(in, SdpaKernel::flash)), Error);
    CHECK(choose_attention(in.q, in.k, in.v, in.mask, arguments(in, SdpaKernel::math)) == SdpaKernel::math);
}

// As listed by the allocator's history of torch 2.11 for B 2, H 4, S 300.
TEST_CASE("The workspace of the efficient kernel's backward pass") {
    struct Row {
        int major, minor;
        DType dtype;
        std::int64_t head, bytes;
    };
    constexpr DType fp16 = DType::float16, fp32 = DType::float32;
    const Row rows[] = {
        {7, 0, fp16, 96, 1573632},  {7, 0, fp32, 256, 2624000}, {7, 5, fp16, 64, 656000},   {7, 5, fp16, 80, 1573632},
        {7, 5, fp16, 160, 7603328}, {7, 5, fp16, 256, 8390144}, {7, 5, fp32, 80, 1312000},  {7, 5, fp32, 160, 1968000},
        {8, 0, fp16, 64, 656000},   {8, 0, fp16, 80, 1573248},  {8, 0, fp16, 160, 7603328}, {8, 0, fp32, 64, 656000},
        {8, 0, fp32, 80, 1573632},  {8, 0, fp32, 256, 3147264}, {8, 9, fp16, 80, 1573632},  {8, 9, fp16, 128, 3933440},
        {8, 9, fp16, 256, 8390144}, {8, 9, fp32, 128, 1312000}, {8, 9, fp32, 256, 2624000}, {9, 0, fp16, 128, 1573248},
    };
    for (const Row& row : rows) {
        CAPTURE(row.major, row.minor, name_of(row.dtype), row.head);
        const auto kernel = efficient_backward_kernel({row.major, row.minor}, row.dtype, row.head, false);
        CHECK(efficient_backward_workspace(kernel, {2, 4, 300, 300, row.head, row.head}) == row.bytes);
    }
    CHECK_FALSE(efficient_backward_kernel({7, 0}, fp16, 160, false).computes_delta);
    CHECK(efficient_backward_kernel({7, 5}, fp16, 160, false).computes_delta);
}

TEST_CASE("What attention kernels allocate") {
    struct Row {
        SdpaKernel kernel;
        DType dtype;
        Shape shape;
        bool masked;
        Events forward, backward;
    };
    using enum SdpaKernel;
    const Row rows[] = {
        {efficient,
         DType::float16,
         {},
         false,
         {"+307200", "+10240"},
         {"+307200", "+307200", "+307200", "+307200", "+9600", "+656000", "-656000", "-9600", "-307200"}},
        // Rows of the mask are padded from 100 to 104 places.
        {efficient,
         DType::float16,
         {2, 4, 4, 100, 64},
         true,
         {"+2", "+2", "+40000", "-2", "-2", "+41600", "-40000", "+102400", "+4096"},
         {"+102400", "+102400", "+102400", "+102400", "+3200", "+262400", "-262400", "-3200", "-102400"}},
        // Float32 computes delta from a product; more than 128 channels of a half type take an accumulator.
        {efficient,
         DType::float32,
         {1, 2, 2, 128, 16},
         false,
         {"+16384", "+1024"},
         {"+16384", "+16384", "+16384", "+16384", "+16384", "+1024", "+1024", "-1024", "-16384", "+65600", "-65600",
          "-1024", "-16384"}},
        {efficient,
         DType::bfloat16,
         {1, 2, 2, 128, 160},
         false,
         {"+81920", "+1024", "+163840", "-163840"},
         {"+81920", "+81920", "+81920", "+81920", "+1024", "+720992", "-720992", "-1024", "-81920"}},
        {flash,
         DType::bfloat16,
         {2, 4, 4, 300, 64},
         false,
         {"+307200", "+9600", "+19200", "+1228800", "+16", "+8", "-1228800", "-19200"},
         {"+307200", "+307200", "+307200", "+307200", "+12288", "+786432", "-786432", "-12288", "-307200"}},
    };
    const Stack stack = newest();
    const Device device = card(8, 0);
    for (const Row& row : rows) {
        Session session(stack, device);
        const Inputs in(session, row.shape, row.dtype, row.masked);
        CAPTURE(static_cast<int>(row.kernel), name_of(row.dtype), row.shape.head, row.masked);
        std::size_t first = session.recorder.program().events.size();
        const Tensor out = scaled_dot_product_attention(in.q, in.k, in.v, in.mask, arguments(in, row.kernel));
        CHECK(events(session.recorder.program(), first) == row.forward);
        first = session.recorder.program().events.size();
        {
            Grads grads, results;
            // In the layout of the weights' product: a copy is needed.
            grads.push_back(empty(session, out.sizes(), row.dtype));
            first = session.recorder.program().events.size();
            results.resize(3);
            out->grad_fn->type->backward(*out->grad_fn, grads, results);
            CHECK(events(session.recorder.program(), first) == row.backward);
        }
    }
}

// modeling_inkling.py: a position bias that is trained stands in the mask.
TEST_CASE("a mask with a gradient has one of the math kernel and of the memory-efficient one") {
    for (const SdpaKernel kernel : {SdpaKernel::math, SdpaKernel::efficient, SdpaKernel::cudnn}) {
        const Stack stack = newest();
        const Device device = card(9, 0);
        Session session(stack, device);
        Inputs in(session, {.length = 64}, DType::bfloat16, false);
        in.mask = empty(session, {2, 4, 64, 64}, DType::bfloat16);
        in.mask.set_requires_grad(true);
        const auto attend = [&] {
            return scaled_dot_product_attention(in.q, in.k, in.v, in.mask, arguments(in, kernel));
        };
        if (kernel == SdpaKernel::cudnn) {
            CHECK_THROWS_AS(attend(), Error);
            continue;
        }
        backward(sum_all(attend()));
        REQUIRE(in.mask.grad().defined());
        CHECK(in.mask.grad().sizes() == in.mask.sizes());
        CHECK(in.mask.grad().dtype() == DType::bfloat16);
    }
}
