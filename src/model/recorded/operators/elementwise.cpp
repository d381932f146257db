// Elementwise torch functions of recorded programs.
#include "engine/ops/dropout.hpp"
#include "engine/ops/in_place.hpp"
#include "model/recorded/operators.hpp"

namespace vramfit::model::recorded {

using namespace engine;

namespace {

using OfTwo = Tensor (*)(const Tensor&, const Tensor&);
using WithNumber = Tensor (*)(const Tensor&, Scalar);
using OfOne = Tensor (*)(const Tensor&);

/// Tensor.add(other) with a tensor or a number.
template <OfTwo two, WithNumber number>
Tensor binary(const Arguments& a) {
    if (a.find("alpha") || a.find("rounding_mode")) a.refuse("an option");
    const network::Argument &left = a.at(0), &right = a.at(1);
    if (!Arguments::is_tensor(left)) return number(a.tensor(right), a.scalar(left));
    return Arguments::is_tensor(right) ? two(a.tensor(left), a.tensor(right)) : number(a.tensor(left), a.scalar(right));
}

template <OfOne one>
Tensor unary(const Arguments& a) {
    return one(a.tensor(0));
}

template <Op op>
Tensor comparison(const Arguments& a) {
    const Tensor left = a.tensor(0);
    return Arguments::is_tensor(a.at(1)) ? compare(op, left, a.tensor(1)) : compare(op, left);
}

Tensor power(const Arguments& a) {
    if (!a.at(1).is(network::Argument::Kind::integer) || a.at(1).integer != 2)
        a.refuse("a power other than the square");
    return square(a.tensor(0));
}

Tensor activation_silu(const Arguments& a) {
    if (a.flag(1, "inplace", false)) a.refuse("inplace=True");
    return silu(a.tensor(0));
}

Tensor dropped(const Arguments& a) {
    if (a.flag(3, "inplace", false)) a.refuse("inplace=True");
    const bool training = a.session().training;
    return training ? dropout(a.tensor(0), a.real(1, "p", 0.5)) : a.tensor(0);
}

/// A number becomes a tensor without dimensions first.
Tensor chosen(const Arguments& a) {
    const network::Argument &first = a.at(1), &second = a.at(2);
    const auto other = [&](const network::Argument& argument, const network::Argument& beside) {
        if (Arguments::is_tensor(argument)) return a.tensor(argument);
        const DType dtype = Arguments::is_tensor(beside) ? a.tensor(beside).dtype() : DType::float32;
        return empty(a.session(), {}, dtype, Op::scalar_tensor);
    };
    const Tensor condition = a.tensor(0);
    const Tensor one = other(first, second), two = other(second, first);
    if (one.requires_grad() || two.requires_grad()) a.refuse("a gradient");
    return where(condition, one, two);
}

constexpr NamedOperator kElementwise[] = {
    {"torch.Tensor.add", binary<add, add>},
    {"torch.Tensor.sub", binary<sub, sub>},
    {"torch.Tensor.mul", binary<mul, mul>},
    {"torch.Tensor.div", binary<div, div>},
    {"torch.Tensor.neg", unary<neg>},
    {"torch.rsqrt", unary<rsqrt>},
    {"torch.Tensor.rsqrt", unary<rsqrt>},
    {"torch.Tensor.cos", unary<cos>},
    {"torch.Tensor.sin", unary<sin>},
    {"torch.Tensor.tanh", unary<tanh>},
    {"torch.tanh", unary<tanh>},
    {"torch.nn.functional.silu", activation_silu},
    {"torch.Tensor.pow", power},
    {"torch.nn.functional.dropout", dropped},
    {"torch.Tensor.__eq__", comparison<Op::eq>},
    {"torch.Tensor.ne", comparison<Op::ne>},
    {"torch.Tensor.le", comparison<Op::le>},
    {"torch.Tensor.lt", comparison<Op::lt>},
    {"torch.Tensor.gt", comparison<Op::gt>},
    {"torch.Tensor.ge", comparison<Op::ge>},
    {"torch.Tensor.__and__", comparison<Op::bitwise_and>},
    {"torch.Tensor.__or__", comparison<Op::bitwise_or>},
    {"torch.where", chosen},
};

}  // namespace

std::span<const NamedOperator> elementwise_operators() { return kElementwise; }

}  // namespace vramfit::model::recorded
