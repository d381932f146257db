// Products, look-ups and losses in recorded programs.
#include <fmt/format.h>

#include "engine/autocast.hpp"
#include "engine/ops/baddbmm.hpp"
#include "engine/ops/convolution.hpp"
#include "engine/ops/einsum.hpp"
#include "engine/ops/embedding.hpp"
#include "engine/ops/layer_norm.hpp"
#include "engine/ops/loss.hpp"
#include "engine/ops/matmul.hpp"
#include "engine/ops/pad.hpp"
#include "engine/ops/rms_norm.hpp"
#include "engine/ops/softmax.hpp"
#include "engine/ops/triangular.hpp"
#include "model/network/called.hpp"
#include "model/network/modules.hpp"
#include "model/parallel/tensor/tensor_parallel.hpp"
#include "model/recorded/operators.hpp"

namespace vramfit::model::recorded {

using namespace engine;

namespace {

using ArgumentKind = network::Argument::Kind;

Tensor product(const Arguments& a) { return matmul(a.tensor(0), a.tensor(1)); }

/// torch.baddbmm(self, batch1, batch2, beta, alpha), whose last argument is cast first under autocast.
Tensor product_and_sum(const Arguments& a) {
    const auto given = [&a](std::size_t place, std::string_view name) {
        const network::Argument* found = a.find(place, name);
        if (!found || !Arguments::is_tensor(*found)) a.refuse("no matrices");
        return a.tensor(*found);
    };
    const Tensor right = autocast_to_lower(given(2, "batch2"));
    const Tensor left = autocast_to_lower(given(1, "batch1"));
    const Tensor self = autocast_to_lower(a.tensor(0));
    const bool whole = self.sizes() == Dims{left.size(0), left.size(1), right.size(2)};
    if (a.real(3, "beta", 1.0) == 0.0 || (self.requires_grad() && !whole)) a.refuse("such a sum");
    return baddbmm(self, left, right, a.real(4, "alpha", 1.0));
}

/// A product with a parameter that is another module's, or a linear layer's own.
Tensor linear_function(const Arguments& a) {
    const Tensor weight = a.tensor(1), bias = a.optional_tensor(2, "bias");
    model::read(weight);
    if (bias.defined()) model::read(bias);
    return functional_linear(a.tensor(0), weight, bias);
}

Tensor looked_up(const Arguments& a) {
    if (a.find("max_norm") || a.flag(5, "scale_grad_by_freq", false) || a.flag(6, "sparse", false))
        a.refuse("an option");
    const Tensor table = a.tensor(1), ids = a.tensor(0);
    return table->is_piece ? embedding_of_piece(table, a.run().plan.distributed->world_size, ids)
                           : embedding(table, ids);
}

/// F.softmax(t, dim, _stacklevel, dtype) and torch.softmax(t, dim, dtype).
template <std::size_t dtype_place>
Tensor softmaxed(const Arguments& a) {
    const Tensor t = a.tensor(0);
    const network::Argument* dim = a.find(1, "dim");
    if (!dim || (a.integer(*dim) != -1 && a.integer(*dim) != t.dim() - 1)) a.refuse("another dimension than the last");
    const auto dtype = a.dtype(a.find(dtype_place, "dtype"));
    if (!dtype) return softmax(t, false);
    if (*dtype == DType::float32) return softmax(t, true);
    if (*dtype != t.dtype()) a.refuse("such a dtype");
    return softmax_in_own_dtype(t);
}

/// F.log_softmax(t, dim, _stacklevel, dtype).
Tensor log_softmaxed(const Arguments& a) {
    const Tensor t = a.tensor(0);
    const network::Argument* dim = a.find(1, "dim");
    if (!dim || (a.integer(*dim) != -1 && a.integer(*dim) != t.dim() - 1)) a.refuse("another dimension than the last");
    const auto dtype = a.dtype(a.find(3, "dtype"));
    if (dtype && *dtype != DType::float32) a.refuse("such a dtype");
    return log_softmax(t, dtype.has_value());
}

/// F.nll_loss(log_probabilities, target): the mean, or the sum.
Tensor negative_log_likelihood(const Arguments& a) {
    const network::Argument* reduction = a.find(6, "reduction");
    if (a.find("weight") || a.tensor(0).dim() != 2 ||
        (reduction && reduction->text != "mean" && reduction->text != "sum"))
        a.refuse("an option");
    return nll_loss(a.tensor(0), a.tensor(1));
}

/// torch.einsum(equation, operands), which may stand in a list.
Tensor summed_products(const Arguments& a) {
    const std::string& equation = a.at(0).text;
    std::vector<Tensor> operands = a.tensors(a.at(1));
    if (operands.empty())
        for (std::size_t i = 1; i < a.count(); ++i) operands.push_back(a.tensor(i));
    std::vector<int> dimensions;
    for (const Tensor& t : operands) dimensions.push_back(t.dim());
    if (!is_known_einsum(equation, dimensions)) a.refuse(fmt::format("'{}'", equation));
    return operands.size() == 1 ? einsum(equation, operands[0]) : einsum(equation, operands[0], operands[1]);
}

Tensor cross_entropy_loss(const Arguments& a) {
    if (a.find("weight") || a.real(7, "label_smoothing", 0.0) != 0.0) a.refuse("an option");
    const network::Argument* reduction = a.find(6, "reduction");
    if (reduction && reduction->text != "mean" && reduction->text != "sum") a.refuse("reduction='none'");
    return cross_entropy(a.tensor(0), a.tensor(1));
}

/// Over the last dimension.
Tensor normalized(const Arguments& a) {
    const network::Argument* shape = a.find(1, "normalized_shape");
    if (!shape || !shape->is(ArgumentKind::list) || shape->items.size() != 1)
        a.refuse("a normalization over several dimensions");
    return engine::layer_norm(a.tensor(0), a.optional_tensor(2, "weight"), a.optional_tensor(3, "bias"));
}

/// F.rms_norm over the last dimension.
Tensor normalized_by_squares(const Arguments& a) {
    const network::Argument* shape = a.find(1, "normalized_shape");
    if (!shape || !shape->is(ArgumentKind::list) || shape->items.size() != 1)
        a.refuse("a normalization over several dimensions");
    if (a.optional_tensor(2, "weight").defined()) a.refuse("a weight");
    return rms_norm(a.tensor(0));
}

/// Whether one dimension gets places in front and loses as many at its end, and all others stay as they are.
bool shifts(const network::Argument& places, int dims) {
    int shifted = 0;
    for (std::size_t i = 0; i + 1 < places.items.size(); i += 2) {
        const network::Argument &front = places.items[i], &end = places.items[i + 1];
        if (!front.is(ArgumentKind::integer) || !end.is(ArgumentKind::integer)) return false;
        if (front.integer < 0 || front.integer > 1000 || front.integer != -end.integer) return false;
        shifted += front.integer > 0 ? 1 : 0;
    }
    return shifted == 1 && static_cast<int>(places.items.size()) <= 2 * dims;
}

/// F.pad(t, ...) of one dimension, at its end or in front.
Tensor padded(const Arguments& a) {
    const network::Argument& places = a.at(1);
    if (!places.is(ArgumentKind::list) || places.items.empty()) a.refuse("such a padding");
    if (shifts(places, a.tensor(0).dim())) {
        if (!is_floating(a.tensor(0).dtype()) || !a.tensor(0).is_contiguous()) a.refuse("such a padding");
        return pad_shifted(a.tensor(0));
    }
    const auto is_none = [](const network::Argument& n) { return n.is(ArgumentKind::integer) && n.integer == 0; };
    std::size_t at =
        places.items.size() - 1;  // the end of the last dimension that is named, or the only one that is not 0
    for (std::size_t i = 0; i < places.items.size(); ++i) {
        if (is_none(places.items[i])) continue;
        if (!is_none(places.items[at]) && at != i) a.refuse("padding of several dimensions");
        at = i;
    }
    const Tensor t = a.tensor(0);
    const int dim = t.dim() - static_cast<int>(at / 2) - 1;
    if (dim < 0) a.refuse("such a padding");
    const Size count = a.size(places.items[at]);
    if (at % 2 == 0) {
        if (!is_floating(t.dtype()) || !places.items[at].is(ArgumentKind::integer)) a.refuse("such a padding in front");
        return pad_front_of(t, dim, count);
    }
    if (is_floating(t.dtype())) return pad_end_of(t, dim, count);
    if (dim != t.dim() - 1) a.refuse("padding of integers elsewhere than at the end");
    return pad_last(t, count);
}

/// A number, or a list of one, as modules of convolutions have them.
const network::Argument* alone(const network::Argument* written) {
    const bool is_list = written && written->is(ArgumentKind::list) && written->items.size() == 1;
    return is_list ? written->items.data() : written;
}

/// One channel each, along a row. cuDNN, which computes in float16, takes scratch that is not known here.
Tensor convolved(const Arguments& a) {
    const Tensor t = a.tensor(0), weight = a.optional_tensor(1, "weight"), bias = a.optional_tensor(2, "bias");
    const network::Argument *groups = a.find(6, "groups"), *padding = alone(a.find(4, "padding"));
    const auto plain = [&a](std::size_t place, std::string_view name) {
        const network::Argument* found = alone(a.find(place, name));
        return !found || (found->is(ArgumentKind::integer) && found->integer == 1);
    };
    if (!weight.defined() || !groups || t.dim() != 3 || weight.dim() != 3 || !plain(3, "stride") ||
        !plain(5, "dilation"))
        a.refuse("other than one channel each");
    if (!same(a.size(*groups), t.size(1)) || !same(weight.size(0), t.size(1)) || !same(weight.size(1), Size(1)))
        a.refuse("other than one channel each");
    const bool autocast = a.session().autocast.enabled;
    if ((autocast ? a.session().autocast.dtype : t.dtype()) == DType::float16)
        a.refuse("float16, in which cuDNN computes it,");
    return conv1d_depthwise(t, weight, bias, padding ? a.size(*padding) : Size(0));
}

/// torch.linalg.solve_triangular(a, b, upper, unitriangular).
Tensor solved_triangular(const Arguments& a) {
    const Tensor left = a.tensor(0), right = a.tensor(1);
    bool fits = left.dim() >= 2 && left.dim() == right.dim() && left.dtype() == DType::float32 &&
                right.dtype() == DType::float32;
    for (int i = 0; fits && i + 2 < left.dim(); ++i) fits = same(left.size(i), right.size(i));
    if (!fits || !a.flag(a.count(), "left", true) || left.size(-1) > 512 || !is_readable_triangle(left))
        a.refuse("such a system");
    return solve_triangular(left, right);
}

template <Op op>
Tensor triangle_of(const Arguments& a) {
    return triangle(a.tensor(0), op);
}

constexpr NamedOperator kMatrices[] = {
    {"torch.matmul", product},
    {"torch.Tensor.matmul", product},
    {"torch.nn.functional.linear", linear_function},
    {"torch.nn.functional.embedding", looked_up},
    {"torch.nn.functional.softmax", softmaxed<3>},
    {"torch.softmax", softmaxed<2>},
    {"torch.Tensor.softmax", softmaxed<2>},
    {"torch.nn.functional.layer_norm", normalized},
    {"torch.nn.functional.rms_norm", normalized_by_squares},
    {"torch.bmm", product},
    {"torch.Tensor.bmm", product},
    {"torch.Tensor.baddbmm", product_and_sum},
    {"torch.baddbmm", product_and_sum},
    {"torch.nn.functional.cross_entropy", cross_entropy_loss},
    {"torch.nn.functional.log_softmax", log_softmaxed},
    {"torch.nn.functional.nll_loss", negative_log_likelihood},
    {"torch.functional.einsum", summed_products},
    {"torch.einsum", summed_products},
    {"torch.nn.functional.pad", padded},
    {"torch.nn.functional.conv1d", convolved},
    {"torch.conv1d", convolved},
    {"torch.linalg.solve_triangular", solved_triangular},
    {"torch.Tensor.triu", triangle_of<Op::triu>},
    {"torch.triu", triangle_of<Op::triu>},
    {"torch.Tensor.tril", triangle_of<Op::tril>},
    {"torch.tril", triangle_of<Op::tril>},
};

}  // namespace

std::span<const NamedOperator> matrix_operators() { return kMatrices; }

}  // namespace vramfit::model::recorded
