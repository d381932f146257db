// The package flash_attn: what its attention allocates, and what it refuses.
#include "engine/ops/flash_attn.hpp"

#include <algorithm>

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

// As the package does it for one token of each row: seqlenq_ngroups_swapped.
TEST_CASE("flash_attn takes the heads of single tokens that share keys as queries of one head") {
    Recorded recorded;
    const GradMode no_grad(recorded.session, false);
    Session& session = recorded.session;
    const Tensor q = empty(session, {2, 1, 8, 64}, DType::bfloat16),
                 k = empty(session, {2, 1000, 2, 64}, DType::bfloat16);
    Tensor out;
    const auto rows = recorded.events([&] { out = flash_attn_func(q, k, k, 0.0); });
    // 2 rows x 2 heads of 4 queries are 4 tiles, and the keys 4 blocks: 4 parts.
    CHECK(rows == std::vector<std::int64_t>{2048, 64, 256, 16384, 16, -16384, -256, -16, -64});
    const auto dropped = recorded.events([&] { out = flash_attn_func(q, k, k, 0.1); });
    CHECK(std::count_if(dropped.begin(), dropped.end(), [](std::int64_t bytes) { return bytes > 0; }) == 3);
}

TEST_CASE("flash_attn's packed rows: the softmax's sums are those of the tokens, single ones are copied and back") {
    Recorded recorded;
    Session& session = recorded.session;
    const Tensor bounds = empty(session, {3}, DType::int32);
    const auto packed = [&](std::int64_t tokens, std::int64_t heads, std::int64_t longest) {
        const GradMode no_grad(session, false);
        const Tensor q = empty(session, {tokens, heads, 64}, DType::bfloat16);
        const Tensor k = empty(session, {1900, 2, 64}, DType::bfloat16);
        Tensor out;
        std::vector<std::int64_t> made;
        for (const std::int64_t bytes : recorded.events([&] {
                 out = flash_attn_varlen_func(q, k, k, {bounds, bounds, longest, 1000}, 0.0);
             }))
            if (bytes > 0) made.push_back(bytes);
        return made;
    };
    using Sizes = std::vector<std::int64_t>;
    CHECK(packed(300, 8, 200) == Sizes{307200, 9600, 16});
    CHECK(packed(2, 8, 1) == Sizes{2048, 2048, 64, 256, 16384, 16, 2048, 2048});
    CHECK(packed(2, 2, 1) == Sizes{512, 16, 16});
}

TEST_CASE("what packed tokens have is put back among zeros, and their gradient is picked out") {
    Recorded recorded;
    Session& session = recorded.session;
    const Tensor values = empty(session, {10, 4, 8}, DType::bfloat16);
    values.set_requires_grad(true);
    const Tensor places = empty(session, {10}, DType::int64), few = empty(session, {10}, DType::int32);
    Tensor out;
    CHECK(recorded.events([&] { out = put_back(values, places, 24); }) == std::vector<std::int64_t>{1536});
    CHECK(recorded.events([&] { out = put_back(values, few, 24); }) == std::vector<std::int64_t>{1536, 80, -80, -1536});
}
