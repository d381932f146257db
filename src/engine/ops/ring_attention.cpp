// Attention under context parallelism: parts of keys and values pass by, and what each gives is merged in float32.
// Source: torch 2.11 torch/distributed/tensor/experimental/_context_parallel/_attention.py. Load balancing is on: a
// process has the i-th part from the front and the i-th from the back.
#include <fmt/format.h>

#include <array>
#include <utility>

#include "engine/ops/attention.hpp"
#include "engine/ops/copy.hpp"
#include "engine/ops/pointwise.hpp"
#include "engine/ops/view.hpp"
#include "engine/session.hpp"
#include "vramfit/base/error.hpp"

namespace vramfit::engine {

namespace {

constexpr int kSequence = 2;  // of [B, H, S, D], and of the logsumexp

/// t.chunk(2, dim=2)[1].
Tensor second_half(const Tensor& t) { return slice(t, kSequence, t.size(kSequence) / 2, t.size(kSequence)); }
Tensor first_half(const Tensor& t) { return slice(t, kSequence, 0, t.size(kSequence) / 2); }

/// torch.cat([key.flatten(), value.flatten()]).
Tensor joined(const Tensor& key, const Tensor& value) {
    const Tensor parts[2] = {reshape(key, {key.numel()}), reshape(value, {value.numel()})};
    return cat(parts, 0);
}

/// A part of a flat buffer: buffer[...].reshape(t.shape).
Tensor part_of(const Tensor& buffer, const Tensor& like) {
    return alias(buffer, like.sizes(), contiguous_strides(like.sizes()));
}

/// _AllGatherRotater, which gathers once, and _AllToAllRotater. What is sent lives until the host waits.
class Rotater {
  public:
    Rotater(const Ring& ring, bool gathers) : ring_(ring), gathers_(gathers) {}

    void exchange(const Tensor& buffer) {
        if (gathers_ && received_.defined()) return;
        sent_ = buffer;
        received_ = gathers_ ? empty(buffer.session(), {buffer.numel() * ring_.size}, buffer.dtype(), Op::all_gather)
                             : empty(buffer.session(), {buffer.numel()}, buffer.dtype(), Op::new_empty);
    }
    Tensor next() {
        sent_.reset();
        return received_;
    }

  private:
    Ring ring_;
    bool gathers_;
    Tensor sent_, received_;
};

/// _partial_update: the chunk is written in place where it is added to, the result is a new tensor in both cases.
Tensor updated(const Tensor& original) {
    return empty(original.session(), original.sizes(), original.dtype(), Op::cat);
}

/// _SDPAMerger.
class Merger {
  public:
    void step(const Tensor& output, const Tensor& logsumexp, bool partial) {
        dtype_ = output.dtype();
        const Tensor block = to(output, DType::float32);
        Tensor sums = logsumexp;
        squeezes_ = sums.dim() < block.dim();
        if (squeezes_) sums = unsqueeze(sums, -1);
        if (!logsumexp_.defined()) {
            logsumexp_ = sums;
            output_ = block;
            return;
        }
        Tensor lse = partial ? second_half(logsumexp_) : logsumexp_;
        Tensor out = partial ? second_half(output_) : output_;
        out = sub(out, weighted(sums, lse, out, block));
        lse = sub(lse, log_weight(lse, sums));
        logsumexp_ = partial ? updated(logsumexp_) : lse;
        output_ = partial ? updated(output_) : out;
    }

    /// results().
    Tensor output() const { return to(output_, dtype_); }
    Tensor logsumexp() const {
        if (!squeezes_) return logsumexp_;
        const Dims sizes{logsumexp_.size(0), logsumexp_.size(1), logsumexp_.size(2)};
        return alias(logsumexp_, sizes, contiguous_strides(sizes));
    }

  private:
    /// sigmoid(block_lse - lse) * (out - block_out).
    static Tensor weighted(const Tensor& sums, const Tensor& lse, const Tensor& out, const Tensor& block) {
        Tensor weight = sub(sums, lse);
        weight = pointwise_result(weight, weight.dtype(), Op::sigmoid);
        const Tensor difference = sub(out, block);
        return mul(weight, difference);
    }
    /// logsigmoid(lse - block_lse).
    static Tensor log_weight(const Tensor& lse, const Tensor& sums) {
        const Tensor difference = sub(lse, sums);
        return pointwise_result(difference, DType::float32, Op::log_sigmoid_forward);
    }

    Tensor output_, logsumexp_;
    DType dtype_ = DType::float32;
    bool squeezes_ = false;
};

/// Which parts of query and key one step works on.
struct Parts {
    Tensor query, key, value;
};

Parts parts_of(const Ring& ring, std::int64_t step, const Tensor& query, const Tensor& key, const Tensor& value) {
    if (step == 0) return {query, key, value};
    if (step <= ring.rank) return {query, first_half(key), first_half(value)};
    return {second_half(query), key, value};
}

AttentionResult block_forward(SdpaKernel kernel, const Parts& of, double dropout) {
    switch (kernel) {
        case SdpaKernel::cudnn: return cudnn_forward(of.query, of.value, true);
        case SdpaKernel::efficient: return efficient_forward(of.query, of.value, true, false);
        default: return flash_forward(of.query, of.key, of.value, dropout);
    }
}

/// _templated_ring_attention.
AttentionResult ring_forward(SdpaKernel kernel, const Ring& ring, const Tensor& query, const Tensor& given_key,
                             const Tensor& given_value, double dropout) {
    Tensor key = contiguous(detach(given_key)), value = contiguous(detach(given_value));
    Merger merger;
    Rotater rotater(ring, ring.gathers);
    Parts parts;
    AttentionResult block;
    for (std::int64_t i = 0; i < ring.size; ++i) {
        if (i > 0) {
            const Tensor buffer = rotater.next();
            key = part_of(buffer, key);
            value = part_of(buffer, value);
        }
        if (i < ring.size - 1) rotater.exchange(joined(key, value));
        parts = parts_of(ring, i, query, key, value);
        block = block_forward(kernel, parts, dropout);
        merger.step(block.output, block.logsumexp, i > ring.rank);
    }
    return {merger.output(), merger.logsumexp(), block.seed, block.offset};
}

/// What the backward of one step is given.
struct BlockGradient {
    Parts parts;
    Tensor output, grad, logsumexp;
};

/// _templated_ring_attention_backward. Gradients of keys and values follow them around, from neighbour to neighbour.
class RingBackward {
  public:
    RingBackward(SdpaKernel kernel, const Ring& ring, bool drops, const Tensor& query, const Tensor& key,
                 const Tensor& value)
        : kernel_(kernel),
          ring_(ring),
          drops_(drops),
          dtype_(query.dtype()),
          query_(query),
          grad_query_(zeros_in_float32(query)),
          grad_key_(zeros_in_float32(key)),
          grad_value_(zeros_in_float32(value)),
          key_(contiguous(key)),
          value_(contiguous(value)),
          keys_(ring, ring.gathers),
          gradients_(ring, false) {}

    AttentionGradients run(const Tensor& grad, const Tensor& output, const Tensor& logsumexp) {
        Tensor sent;
        BlockGradient given;
        AttentionGradients block;
        for (std::int64_t i = 0; i < ring_.size; ++i) {
            if (i > 0) take(keys_.next(), key_, value_);
            if (i < ring_.size - 1) {
                sent = joined(key_, value_);
                keys_.exchange(sent);
            }
            given = given_to(i, grad, output, logsumexp);
            block = block_backward(given);
            if (i > 0) receive(i);
            add(i);
        }
        return finish();
    }

  private:
    static Tensor zeros_in_float32(const Tensor& t) {
        return empty_strided(t.session(), t.sizes(), preserved_strides(t.sizes(), t.strides()), DType::float32,
                             Op::zeros_like);
    }
    static void take(const Tensor& buffer, Tensor& first, Tensor& second) {
        first = part_of(buffer, first);
        second = part_of(buffer, second);
    }

    BlockGradient given_to(std::int64_t i, const Tensor& grad, const Tensor& output, const Tensor& logsumexp) const {
        const bool partial = i > ring_.rank;
        return {parts_of(ring_, i, query_, key_, value_), partial ? second_half(output) : output,
                partial ? second_half(grad) : grad, partial ? contiguous(second_half(logsumexp)) : logsumexp};
    }
    AttentionGradients block_backward(const BlockGradient& of) const {
        const Parts& p = of.parts;
        switch (kernel_) {
            case SdpaKernel::cudnn: return cudnn_backward(p.query, p.key, p.value);
            case SdpaKernel::efficient:
                return efficient_backward(of.grad, p.query, p.key, p.value, {}, of.output, drops_);
            default: return flash_backward(of.grad, p.query, p.key, p.value, of.output);
        }
    }

    /// What the neighbour has summed; a half is added to by a copy of the whole.
    void receive(std::int64_t i) {
        passed_ = gradients_.next();
        take(passed_, grad_key_, grad_value_);
        if (i > ring_.rank) return;
        grad_key_ = updated(grad_key_);
        grad_value_ = updated(grad_value_);
    }
    void add(std::int64_t i) {
        passed_ = joined(grad_key_, grad_value_);
        gradients_.exchange(passed_);
        if (i > ring_.rank) grad_query_ = updated(grad_query_);
    }
    AttentionGradients finish() {
        grad_query_ = to(grad_query_, dtype_);
        passed_ = to(gradients_.next(), dtype_);
        take(passed_, grad_key_, grad_value_);
        return {grad_query_, grad_key_, grad_value_};
    }

    SdpaKernel kernel_;
    Ring ring_;
    bool drops_;
    DType dtype_;
    Tensor query_;
    Tensor grad_query_, grad_key_, grad_value_;
    Tensor key_, value_;
    Rotater keys_, gradients_;
    Tensor passed_;
};

struct RingState : NodeState {
    RingState(SdpaKernel of, const Ring& over, bool dropout) : kernel(of), ring(over), drops(dropout) {}
    SdpaKernel kernel;
    Ring ring;
    bool drops;
};

// Saved: query, key, value, output, logsumexp, seed, offset.
void ring_node_backward(Node& node, Grads& in, Grads& out) {
    const RingState& state = static_cast<const RingState&>(*node.state);
    std::array<Tensor, 7> saved;
    for (std::size_t i = 0; i < saved.size(); ++i) saved[i] = node.unpack(i);
    const AttentionGradients gradients =
        RingBackward(state.kernel, state.ring, state.drops, detach(saved[0]), detach(saved[1]), detach(saved[2]))
            .run(detach(in[0]), detach(saved[3]), saved[4]);
    give_gradients(node, gradients, out);
}
constexpr NodeType kRingBackward{"ScaledDotProductRingAttentionBackward", ring_node_backward};

/// What the library stops with, and what it was not compared with.
void refuse_kernels(SdpaKernel kernel, const Ring& ring, const Tensor& query) {
    constexpr const char* kWhere = "distributed.cp_size";
    if (kernel == SdpaKernel::math)
        throw Error(
            ErrorKind::invalid, kWhere,
            "torch stops: attention takes no kernel of its own here, and the operators it is made of get \"mixed "
            "torch.Tensor and DTensor\"",
            "bf16 on a GPU of capability 8.0 or newer, and no sdpa_kernel");
    if (kernel == SdpaKernel::flash && query.size(-1) % 8 != 0)
        throw Error(ErrorKind::invalid, kWhere,
                    "torch stops: heads whose width is no multiple of 8 stay padded (\"mat1 and mat2 shapes cannot be "
                    "multiplied\")",
                    "leave cp_size out");
    // The kernel's sums of exponentials are padded to 32 places, and halves of them have to be as long as those of
    // halves.
    if (kernel == SdpaKernel::efficient && query.size(kSequence) % 64 != 0)
        throw Error(ErrorKind::unsupported, kWhere,
                    "memory-efficient attention was compared with context parallelism for parts of 64 tokens only",
                    fmt::format("a length that {} divides", 64 * ring.size));
}

}  // namespace

Tensor ring_attention(SdpaKernel kernel, const Tensor& query, const Tensor& key, const Tensor& value,
                      const AttentionArguments& arguments) {
    refuse_kernels(kernel, *arguments.ring, query);
    const Ref<Node> node = attention_node(kRingBackward, query, key, value);
    if (node) node->state = std::make_unique<RingState>(kernel, *arguments.ring, arguments.dropout > 0);
    AttentionResult result = ring_forward(kernel, *arguments.ring, detach(query), key, value, arguments.dropout);
    result.output = detach(result.output);
    if (node) save_result(node, result);
    return result.output;
}

}  // namespace vramfit::engine
