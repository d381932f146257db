// Experts that a library's own Python asks one by one, for the tokens that chose them: all have equally many, the first
// ones one more where they cannot (tools/record/vramfit_record/experts.py; tools/trace answers the same).
#include "engine/ops/copy.hpp"
#include "engine/ops/copy_slices.hpp"
#include "engine/ops/index.hpp"
#include "engine/ops/matmul.hpp"
#include "engine/ops/nonzero.hpp"
#include "engine/ops/pointwise.hpp"
#include "engine/ops/reduce.hpp"
#include "engine/ops/shape.hpp"
#include "engine/ops/split.hpp"
#include "engine/ops/view.hpp"
#include "model/network/called.hpp"
#include "model/network/modules.hpp"
#include "model/recorded/operators.hpp"

namespace vramfit::model::recorded {

using namespace engine;

namespace {

/// How many of these rows each expert has.
std::vector<Size> shares(const Arguments& a, const Size& rows, const Size& experts) {
    const std::int64_t count = a.session().decide("experts that are asked one by one", experts);
    const std::int64_t all = a.session().decide("rows of such experts", rows);
    if (count < 1 || count > 4096) a.refuse("more than 4096 experts that are asked one by one, or none");
    std::vector<Size> out;
    for (std::int64_t i = 0; i < count; ++i) out.push_back(Size(all / count + (i < all % count ? 1 : 0)));
    return out;
}

/// The same of those that have any.
std::vector<Size> shares_of_some(const Arguments& a, const Size& rows, const Size& experts) {
    std::vector<Size> counts = shares(a, rows, experts);
    while (counts.size() > 1 && counts.back().value() == 0) counts.pop_back();
    return counts;
}

/// A list of Python's goes from its end on (CPython's list_dealloc).
void end_list(std::vector<Tensor>& list) {
    while (!list.empty()) list.pop_back();
}

// transformers 5.17.0 modeling_jetmoe.py JetMoeParallelExperts.forward.
Tensor parallel_experts(const Arguments& a) {
    const Tensor inputs = a.tensor(0), weight = a.tensor(1);
    if (inputs.dim() != 2 || weight.dim() != 3) a.refuse("other than rows and a matrix for each expert");
    model::read(weight);
    const std::vector<Tensor> input_list = split_with_sizes(inputs, shares(a, inputs.size(0), weight.size(0)));
    std::vector<Tensor> output_list;
    for (const Tensor& input : input_list) output_list.push_back(functional_linear(input, select(weight, 0)));
    Tensor results = cat(output_list, 0);
    end_list(output_list);
    return results;
}

// transformers 5.17.0 modeling_aria.py sequential_experts_gemm. What a name stands for goes once it stands for the
// next expert's.
Tensor sequential_experts_gemm(const Arguments& a) {
    const Tensor token_states = a.tensor(0), weights = a.tensor(1);
    if (token_states.dim() != 2 || weights.dim() != 3) a.refuse("other than rows and a matrix for each expert");
    model::read(weights);
    Tensor output = zeros(a.session(), {token_states.size(0), weights.size(2)}, token_states.dtype());
    Tensor tokens, out;
    Size start = 0;
    for (const Size& count : shares(a, token_states.size(0), weights.size(0))) {
        tokens = slice(token_states, 0, start, start + count);
        out = matmul(tokens, select(weights, 0));
        copy_into_slice(output, slice(detach(output), 0, start, start + count), out);
        start += count;
    }
    return output;
}

/// torch.where(mask): the places of so many elements, a row for each dimension (ATen/native/TensorAdvancedIndexing.cpp
/// nonzero_numpy; Nonzero.cu reads a dense copy).
std::vector<Tensor> places_of(const Tensor& mask, const Size& count) {
    const Tensor places = nonzero(contiguous(mask), count);
    return {alias(places, {count}, {1}), alias(places, {count}, {1})};
}

/// Which experts have tokens: [experts, 1].
Tensor experts_hit(const Tensor& expert_mask, const Size& count) {
    Tensor sums = reduce(expert_mask, 0b110u, false, DType::int64, Op::sum);
    const Tensor more = compare(Op::gt, sums);
    sums.reset();
    return nonzero(more, count);
}

/// one_hot(index).permute(2, 1, 0), and which experts have tokens, as forward has them until it returns. There may be
/// more classes than experts.
struct Chosen {
    Chosen(const Arguments& a, const Tensor& index, const Size& experts, const Size& classes)
        : mask(permute(zeros(a.session(), {index.size(0), index.size(1), classes}, DType::int64), kByExpert)),
          counts(shares_of_some(a, index.numel(), experts)),
          hit(experts_hit(mask, static_cast<std::int64_t>(counts.size()))) {}

    static constexpr int kByExpert[] = {2, 1, 0};
    Tensor mask;
    std::vector<Size> counts;  ///< of tokens, for each expert that has any
    Tensor hit;
};

// transformers 5.17.0 modeling_longcat_flash.py LongcatFlashExperts.forward: experts behind those of down_proj give
// back what they are given.
Tensor experts_or_identity(const Arguments& a) {
    const Tensor hidden = a.tensor(0), index = a.tensor(1), weights = a.tensor(2), gate_up = a.tensor(3),
                 down = a.tensor(4);
    if (hidden.dim() != 2 || index.dim() != 2 || index.size(1) <= 1)
        a.refuse("other than several experts of each token");
    model::read(gate_up);
    model::read(down);
    const Size experts = gate_up.size(0);
    const std::int64_t routed = a.session().decide("experts that compute something", down.size(0));
    Tensor final_hidden = zeros_like(hidden);
    const Chosen chosen(a, index, experts, experts);
    std::vector<Tensor> places;
    Tensor current_state, gate, up, current;
    for (std::size_t i = 0; i < chosen.counts.size(); ++i) {
        places = places_of(select(chosen.mask, 0), chosen.counts[i]);
        current_state = index_rows(hidden, places[1]);
        if (static_cast<std::int64_t>(i) >= routed) {
            current = current_state;
        } else {
            std::vector<Tensor> parts = chunk(functional_linear(current_state, select(gate_up, 0)), 2, -1);
            gate = std::move(parts[0]);
            up = std::move(parts[1]);
            current = mul(silu(gate), up);
            current = functional_linear(current, select(down, 0));
        }
        current = mul(current, index_pairs(unsqueeze(weights, -1), places[1], places[0]));
        index_add_in_place(final_hidden, places[1], to(current, hidden.dtype()));
    }
    return final_hidden;
}

/// modeling_dbrx.py DbrxExpertGLU.forward of one expert's matrices.
Tensor gated(const Tensor& x, const Tensor& w1, const Tensor& v1, const Tensor& w2) {
    Tensor gate = matmul(x, transpose2d(w1));
    const Tensor up = matmul(x, transpose2d(v1));
    gate = silu(gate);
    const Tensor intermediate = mul(gate, up);
    return matmul(intermediate, w2);
}

// transformers 5.17.0 modeling_dbrx.py DbrxExperts.forward. From 5.18 on those of another process are a class too.
Tensor gated_experts(const Arguments& a) {
    const Tensor given = a.tensor(0), index = a.tensor(1), weights = a.tensor(2);
    const Size width = a.size(a.at(6));
    if (given.dim() != 3 || index.dim() != 2 || index.size(1) <= 1 || width < 1)
        a.refuse("other than several experts of each token");
    const Size hidden = given.size(2), rows = given.size(0) * given.size(1);
    std::vector<Tensor> blocks;  // v1, w1 and w2
    Size experts = 0;
    for (std::size_t i = 3; i < 6; ++i) {
        const Tensor all = a.tensor(i);
        if (all.dim() != 2 || !same(all.size(1), hidden)) a.refuse("experts of another size");
        experts = all.size(0) / width;
        if (!same(experts * width, all.size(0))) a.refuse("experts of another size");
        model::read(all);
        blocks.push_back(all);
    }
    const Tensor flat = view(given, {rows, hidden});
    Tensor next = zeros_like(flat);
    const Chosen chosen(a, index, experts, experts + (a.run().stack.experts_always_mask() ? 0 : 1));
    std::vector<Tensor> places;
    Tensor states;
    for (const Size& count : chosen.counts) {
        places = places_of(select(chosen.mask, 0), count);
        Tensor of_expert[3];
        for (std::size_t i = 0; i < 3; ++i) of_expert[i] = select(view(blocks[i], {experts, width, hidden}), 0);
        states = gated(index_rows(flat, places[1]), of_expert[1], of_expert[0], of_expert[2]);
        states = mul(states, index_pairs(unsqueeze(weights, -1), places[1], places[0]));
        if (states.dtype() != next.dtype())
            a.refuse("a sum of another dtype than its experts have, where torch stops,");
        index_add_in_place(next, places[1], states);
    }
    return view(next, given.sizes());
}

constexpr NamedOperator kAskedExperts[] = {
    {"experts.gated_experts", gated_experts},
    {"experts.experts_or_identity", experts_or_identity},
    {"experts.sequential_experts_gemm", sequential_experts_gemm},
    {"experts.parallel_experts", parallel_experts},
};

}  // namespace

std::span<const NamedOperator> asked_expert_operators() { return kAskedExperts; }

}  // namespace vramfit::model::recorded
