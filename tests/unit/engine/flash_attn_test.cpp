// The package flash_attn: what its attention allocates, and what it refuses.
#include "engine/ops/flash_attn.hpp"

#include "engine/backward.hpp"
#include "recorded.hpp"
#include "support/catch.hpp"
#include "vramfit/base/error.hpp"

using namespace vramfit;
using namespace vramfit::engine;

namespace {

struct HeadsAndWidth {
    std::int64_t heads = 4, key_heads = 4, length = 256, width = 64;
};

/// q, k, v -- [2, length, heads, width].
struct Projected {
    Tensor q, k, v;
    Projected(Session& session, const HeadsAndWidth& s, DType dtype) {
        const auto make = [&](std::int64_t heads) {
            const Tensor leaf = empty(session, {2, s.length, heads, s.width}, dtype);
            leaf.set_requires_grad(true);
            return leaf;
        };
        q = make(s.heads);
        k = make(s.key_heads);
        v = make(s.key_heads);
    }
};

std::vector<std::int64_t> forward_of(Recorded& recorded, const HeadsAndWidth& s) {
    const Projected in(recorded.session, s, DType::bfloat16);
    Tensor out;
    return recorded.events([&] { out = flash_attn_func(in.q, in.k, in.v, 0.1); });
}

}  // namespace

// As the allocator's history lists them for these shapes; dropout keeps the keys in one part.
TEST_CASE("flash_attn's forward: output, logsumexp, the generator's state") {
    Recorded recorded;
    using Sizes = std::vector<std::int64_t>;
    CHECK(forward_of(recorded, {}) == Sizes{262144, 8192, 16});
    // A head of 20 is padded to 24: three copies, and the output is a view of a wider one.
    CHECK(forward_of(recorded, {4, 4, 256, 20}) == Sizes{98304, 98304, 98304, 98304, 8192, 16});
}

TEST_CASE("flash_attn's keys are split where rows are few") {
    Recorded recorded;
    const Projected in(recorded.session, {8, 4, 256, 96}, DType::bfloat16);
    Tensor out;
    const auto events = recorded.events([&] { out = flash_attn_func(in.q, in.k, in.v, 0.0); });
    CHECK(events == std::vector<std::int64_t>{786432, 16384, 32768, 3145728, -3145728, -32768, 16});
}

TEST_CASE("flash_attn's backward expands grouped keys and values") {
    Recorded recorded;
    const Projected in(recorded.session, {8, 4, 256, 96}, DType::bfloat16);
    Tensor out = flash_attn_func(in.q, in.k, in.v, 0.1);
    const Tensor grad = empty(recorded.session, out.sizes(), out.dtype());
    const auto events = recorded.events([&] { run_backward({&out, 1}, {&grad, 1}); });
    const std::vector<std::int64_t> first(events.begin(), events.begin() + 7);
    CHECK(first == std::vector<std::int64_t>{786432, 393216, 393216, 16384, 1572864, 786432, 786432});
}

TEST_CASE("flash_attn refuses what the package refuses") {
    Recorded turing({7, 5});
    const Projected old_card(turing.session, {}, DType::float16);
    CHECK_THROWS_AS(flash_attn_func(old_card.q, old_card.k, old_card.v, 0.0), Error);
    Recorded ampere;
    const Projected single(ampere.session, {}, DType::float32);
    CHECK_THROWS_AS(flash_attn_func(single.q, single.k, single.v, 0.0), Error);
    const Projected wide(ampere.session, {4, 4, 256, 264}, DType::bfloat16);
    CHECK_THROWS_AS(flash_attn_func(wide.q, wide.k, wide.v, 0.0), Error);
}
