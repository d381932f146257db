// Tables of addresses: sizes that traces of torch 2.11 show on a card with 108 multiprocessors.
#include "engine/ops/jagged_copy.hpp"

#include "support/catch.hpp"
#include "unit/engine/recorded.hpp"

namespace vramfit::engine {

namespace {

// Rows of a Qwen2.5-0.5B layer over 8 ranks, elements: q, k, v with biases, o, gate, up, down, two norms.
std::vector<Size> layer_bytes() {
    std::vector<Size> bytes;
    for (const std::int64_t elements : {100352, 112, 14336, 16, 14336, 16, 100352, 544768, 544768, 544768, 112, 112})
        bytes.push_back(2 * elements);
    return bytes;
}

}  // namespace

TEST_CASE("a split into many tensors writes addresses, sizes and the tensor of each block") {
    Recorded r;
    CHECK(r.events([&] { split_copy_table(r.session, layer_bytes(), 8); }) ==
          std::vector<std::int64_t>{8 * 964, -8 * 964});
    const std::vector<Size> norm_and_embedding = {224, 2 * 18992 * 896};
    CHECK(r.events([&] { split_copy_table(r.session, norm_and_embedding, 8); }) ==
          std::vector<std::int64_t>{8 * 2780, -8 * 2780});
}

TEST_CASE("chunks of many tensors in one: a block for every 2 KiB") {
    Recorded r;
    CHECK(r.events([&] { chunk_cat_table(r.session, layer_bytes()); }) ==
          std::vector<std::int64_t>{8 * 1899, -8 * 1899});
}

TEST_CASE("a storage that is given up and taken again keeps its tensors") {
    Recorded r;
    const Tensor t = empty(r.session, {8}, DType::float32);
    const Tensor view = detach(t);
    CHECK(r.events([&] { release_storage(t); }) == std::vector<std::int64_t>{-32});
    CHECK(r.events([&] { allocate_storage(view, Op::resize); }) == std::vector<std::int64_t>{32});
    CHECK(t->storage->bytes == 32);
}

}  // namespace vramfit::engine
