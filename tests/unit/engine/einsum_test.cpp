// einsum, and linear of what is not contiguous, as PyTorch 2.11.0 runs them (ATen/native/Linear.cpp).
#include "engine/ops/einsum.hpp"

#include "engine/backward.hpp"
#include "engine/ops/index.hpp"
#include "engine/ops/matmul.hpp"
#include "engine/ops/reduce.hpp"
#include "engine/ops/view.hpp"
#include "support/catch.hpp"
#include "unit/engine/recorded.hpp"

using namespace vramfit;
using namespace vramfit::engine;

TEST_CASE("einsum is known where each summed letter is in both operands and none is there twice") {
    const auto known = [](std::string_view equation, std::vector<int> dimensions) {
        return is_known_einsum(equation, dimensions);
    };
    CHECK(known("bntc,bncs->bnts", {4, 4}));
    CHECK(known("bnhtc,bnhsc->bnhts", {5, 5}));
    CHECK(known("ij->ji", {2}));
    CHECK_FALSE(known("bntc,bncs", {4, 4}));
    CHECK_FALSE(known("ii->i", {2}));
    CHECK_FALSE(known("ij->i", {2}));
    CHECK_FALSE(known("ij->ijk", {2}));
    CHECK_FALSE(known("ij->ji", {3}));
    CHECK_FALSE(known("ijk,j->i", {3, 1}));
    CHECK_FALSE(known("...ij,...jk->...ik", {3, 3}));
    CHECK_FALSE(known("ij,jk->ik", {2, 2, 2}));
    CHECK_FALSE(known("ij,jk,kl->il", {2, 2, 2}));
}

// modeling_prophetnet.py, ProphetNetNgramAttention.forward: what is turned inside of the equation is not copied.
TEST_CASE("einsum of two is one product of batches of matrices") {
    Recorded r;
    const Tensor queries = r.leaf({2, 2, 4, 8, 16}, DType::bfloat16), keys = r.leaf({2, 2, 4, 24, 16}, DType::bfloat16);
    Tensor out = einsum("bnhtc,bnhsc->bnhts", queries, keys);  // makes cuBLAS's workspace
    CHECK(r.events([&] { out = einsum("bnhtc,bnhsc->bnhts", queries, keys); }) ==
          std::vector<std::int64_t>{2 * 2 * 4 * 8 * 24 * 2, -2 * 2 * 4 * 8 * 24 * 2});
    CHECK(out.sizes() == Dims{2, 2, 4, 8, 24});
    backward(sum_all(out));
    CHECK(queries.grad().sizes() == queries.sizes());
    CHECK(keys.grad().sizes() == keys.sizes());
}

TEST_CASE("the bias has a gradient where linear is given what is not contiguous") {
    Recorded r;
    const Tensor weight = r.leaf({32, 16}, DType::bfloat16), bias = r.leaf({32}, DType::bfloat16);
    const Tensor input = transpose(r.leaf({4, 2, 16}, DType::bfloat16), 0, 1);
    backward(sum_all(linear(input, weight, bias)));
    CHECK(weight.grad().defined());
    REQUIRE(bias.grad().defined());
    CHECK(bias.grad().sizes() == Dims{32});
}

TEST_CASE("index_select takes places of any dimension") {
    Recorded r;
    const Tensor table = r.leaf({3, 8, 5}, DType::bfloat16), ids = empty(r.session, {4}, DType::int64);
    const Tensor out = index_select(table, ids, 1);
    CHECK(out.sizes() == Dims{3, 4, 5});
    backward(sum_all(out));
    CHECK(table.grad().sizes() == table.sizes());
}
