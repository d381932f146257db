// peft 0.21.2 tuners/pvera/layer.py Linear, bnb.py Linear4bit and Linear8bitLt, model.py _init_pvera_A_pvera_B.
#include "engine/ops/copy.hpp"
#include "engine/ops/dropout.hpp"
#include "engine/ops/pointwise.hpp"
#include "engine/ops/unary.hpp"
#include "engine/ops/view.hpp"
#include "engine/session.hpp"
#include "model/adapters/kinds/kinds.hpp"
#include "model/network/modules.hpp"

namespace vramfit::model {

using namespace engine;

// The projections are as VeRA's, but one of them makes a mean and a variance.
void create_pvera(const NewAdapter& made) {
    made.add("pvera_lambda_b.default", {made.layer.out});
    made.add("pvera_lambda_d.default", {2 * made.rank});
    const auto [in, out] = made.largest_sides();
    made.share({{2 * made.rank, in}, {out, made.rank}});
}

namespace {

/// _reparametrize: the mean and noise, in training.
Tensor sampled(const Tensor& mean, const Tensor& log_variance) {
    if (!mean.session().training) return mean;
    const Tensor deviation = exp(mul(log_variance, 0.5));
    const Tensor noise = pointwise_result(deviation, deviation.dtype(), Op::empty_like);
    return add(mean, mul(noise, deviation));
}

}  // namespace

Tensor pvera(const Linear& layer, const Tensor& x) {
    const OtherAdapter& adapter = *layer.other;
    const Tensor &lambda_b = adapter[0], &lambda_d = adapter[1];
    Tensor result = base_layer_cloned(layer, x);
    const Tensor a = slice((*adapter.shared)[0], 1, 0, layer.in);
    const Tensor b = slice((*adapter.shared)[1], 0, 0, layer.out);
    const Tensor input = to(x, lambda_d.dtype());
    const Tensor dropped = is_packed(layer) ? dropout(input, adapter.dropout) : Tensor();
    const auto distribution = [&] {  // mean and log variance
        const Tensor inner = functional_linear(is_packed(layer) ? dropped : dropout(input, adapter.dropout), a);
        return halves(mul(lambda_d, inner));
    }();
    Tensor output =
        mul(lambda_b, [&] { return functional_linear(sampled(distribution.first, distribution.second), b); }());
    result = add(result, output);
    if (!is_packed(layer)) output.reset();  // bnb.py has a name for it
    return to(result, x.dtype());
}

}  // namespace vramfit::model
