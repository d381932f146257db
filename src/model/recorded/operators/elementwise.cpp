// Elementwise torch functions of recorded programs.
#include "engine/node.hpp"
#include "engine/ops/clamp.hpp"
#include "engine/ops/complex.hpp"
#include "engine/ops/dropout.hpp"
#include "engine/ops/unary.hpp"
#include "model/recorded/operators.hpp"

namespace vramfit::model::recorded {

using namespace engine;

namespace {

using OfTwo = Tensor (*)(const Tensor&, const Tensor&);
using WithNumber = Tensor (*)(const Tensor&, Scalar);
using OfOne = Tensor (*)(const Tensor&);

/// A number in a tensor of the host beside one on the device, which takes it as a number.
template <WithNumber number>
Tensor with_host(const Arguments& a, const network::Argument& other) {
    const Tensor t = a.tensor(other);
    if (t.dtype() != DType::float32 || t.requires_grad()) a.refuse("a tensor of the host beside such a one");
    return number(t, 1.0);
}

/// Tensor.add(other) with a tensor or a number.
template <OfTwo two, WithNumber number>
Tensor binary(const Arguments& a) {
    if (a.find("alpha") || a.find("rounding_mode")) a.refuse("an option");
    const network::Argument &left = a.at(0), &right = a.at(1);
    if (a.is_of_host(left)) return with_host<number>(a, right);
    if (a.is_of_host(right)) return with_host<number>(a, left);
    if (!Arguments::is_tensor(left)) return number(a.tensor(right), a.scalar(left));
    return Arguments::is_tensor(right) ? two(a.tensor(left), a.tensor(right)) : number(a.tensor(left), a.scalar(right));
}

/// torch.add(number, mask, alpha): of numbers of the host the default dtype is made (ATen/native/TypeProperties.cpp).
Tensor sum(const Arguments& a) {
    if (!a.find("alpha") || Arguments::is_tensor(a.at(0))) return binary<add, add>(a);
    const Tensor mask = a.tensor(1);
    if (mask.dtype() != DType::boolean || !a.at(0).is(network::Argument::Kind::real)) a.refuse("an option");
    return pointwise_result(mask, DType::float32, Op::add);
}

/// Tensor.div(number, rounding_mode) of integers gives integers.
Tensor divided(const Arguments& a) {
    if (!a.find("rounding_mode")) return binary<div, div>(a);
    const Tensor t = a.tensor(0);
    if (is_floating(t.dtype()) || Arguments::is_tensor(a.at(1))) a.refuse("an option");
    return pointwise_result(t, t.dtype(), Op::div);
}

/// Tensor.mul(other), of complex numbers too.
Tensor times(const Arguments& a) {
    if (!a.makes_complex() || !Arguments::is_tensor(a.at(0)) || !Arguments::is_tensor(a.at(1)))
        return binary<mul, mul>(a);
    const Tensor left = a.tensor(0), right = a.tensor(1);
    if (right.requires_grad() || left.dtype() != kComplex || right.dtype() != kComplex)
        a.refuse("complex numbers with others, or a gradient of the second");
    return mul_complex(left, right);
}

/// torch.polar(absolute, angle).
Tensor turned(const Arguments& a) {
    const Tensor absolute = a.tensor(0), angle = a.tensor(1);
    if (absolute.requires_grad() || angle.requires_grad() || absolute.dtype() != DType::float32)
        a.refuse("a gradient, or another dtype than float32");
    return polar(absolute, angle);
}

/// torch.view_as_complex(pairs): of float32 only.
Tensor as_complex(const Arguments& a) {
    const Tensor t = a.tensor(0);
    if (t.dtype() != DType::float32) a.refuse("another dtype than float32");
    return view_as_complex(t);
}

template <OfOne one>
Tensor unary(const Arguments& a) {
    return one(a.tensor(0));
}

template <Op op>
Tensor comparison(const Arguments& a) {
    const Tensor left = a.tensor(0);
    const bool is_number = !Arguments::is_tensor(a.at(1)) || a.is_of_host(a.at(1));
    return is_number ? compare(op, left) : compare(op, left, a.tensor(1));
}

/// mask & mask, and of integers beside masks (ATen/native/BinaryOps.cpp bitwise_and: the dtype of both).
template <Op op>
Tensor bits(const Arguments& a) {
    const Tensor left = a.tensor(0);
    if (!Arguments::is_tensor(a.at(1))) return pointwise_result(left, left.dtype(), op);
    const Tensor right = a.tensor(1);
    return pointwise_result(left, right, result_type(left, right), op);
}

/// Of a tensor that is no mask too (ATen/native/UnaryOps.cpp logical_not).
Tensor negated(const Arguments& a) { return compare(Op::logical_not, a.tensor(0)); }

/// A number on the device to the power of integers.
Tensor powers(const Arguments& a, const Tensor& base, const Tensor& exponents) {
    if (base.dim() != 0 || !is_floating(base.dtype()) || is_floating(exponents.dtype()) || base.requires_grad())
        a.refuse("such powers");
    return empty(a.session(), exponents.sizes(), base.dtype(), Op::pow);
}

/// A number of the host to the power of a tensor: pow_Scalar_out lifts it.
Tensor power_of_number(const Arguments& a) {
    const Tensor exponents = a.tensor(1);
    if (!is_floating(exponents.dtype()) || exponents.requires_grad()) a.refuse("such powers");
    return pointwise_result(exponents, exponents.dtype(), Op::pow);
}

/// number / t: torch/_tensor.py Tensor.__rdiv__, the reciprocal times the number.
Tensor number_divided(const Arguments& a) {
    if (Arguments::is_tensor(a.at(1))) a.refuse("a tensor divided by a tensor");
    const Tensor inverse = reciprocal(a.tensor(0));
    return mul(inverse, a.scalar(a.at(1)));
}

Tensor power(const Arguments& a) {
    const network::Argument& exponent = a.at(1);
    if (!Arguments::is_tensor(a.at(0))) return power_of_number(a);
    if (Arguments::is_tensor(exponent)) return powers(a, a.tensor(0), a.tensor(1));
    const bool is_number = exponent.is(network::Argument::Kind::integer) || exponent.is(network::Argument::Kind::real);
    if (!is_number || exponent.real == 0 || !is_floating(a.tensor(0).dtype())) a.refuse("such a power");
    return square(a.tensor(0));
}

Tensor dropped(const Arguments& a) {
    if (a.flag(3, "inplace", false)) a.refuse("inplace=True");
    const bool training = a.session().training;
    return training ? dropout(a.tensor(0), a.probability(1, "p", 0.5)) : a.tensor(0);
}

template <OfOne one>
Tensor activation(const Arguments& a) {
    if (a.flag(1, "inplace", false)) a.refuse("inplace=True");
    return one(a.tensor(0));
}

/// Tensor.clamp(min, max) with numbers, or a tensor below of what needs no gradient.
Tensor clamped(const Arguments& a) {
    const network::Argument *low = a.find(1, "min"), *high = a.find(2, "max");
    if (low && Arguments::is_tensor(*low) && !high) {
        const Tensor t = a.tensor(0), bound = a.tensor(*low);
        if (needs_grad(t, bound)) a.refuse("a gradient");
        return pointwise_result(t, bound, result_type(t, bound), Op::clamp);
    }
    if ((low && Arguments::is_tensor(*low)) || (high && Arguments::is_tensor(*high)) || (!low && !high))
        a.refuse("bounds that are tensors");
    return low && high ? clamp_both(a.tensor(0)) : clamp_above(a.tensor(0));
}

/// masked_fill with a number, or a tensor without dimensions that needs no gradient.
Tensor filled_where(const Arguments& a) {
    const network::Argument* value = a.find(2, "value");
    if (value && Arguments::is_tensor(*value) && a.tensor(*value).requires_grad()) a.refuse("a value with a gradient");
    return masked_fill(a.tensor(0), a.tensor(1));
}

/// Of integers, by a number.
Tensor floor_divided(const Arguments& a) {
    const Tensor t = a.tensor(0);
    if (Arguments::is_tensor(a.at(1)) || t.requires_grad() || is_floating(t.dtype()))
        a.refuse("other than integers by a number");
    return pointwise_result(t, t.dtype(), Op::floor_divide);
}

/// Of numbers that need no gradient, which would be zero.
Tensor rounded_down(const Arguments& a) {
    const Tensor t = a.tensor(0);
    if (t.requires_grad()) a.refuse("a gradient");
    return pointwise_result(t, t.dtype(), Op::floor);
}

/// ~mask.
Tensor inverted(const Arguments& a) {
    if (a.tensor(0).dtype() != DType::boolean) a.refuse("other than a mask");
    return compare(Op::bitwise_not, a.tensor(0));
}

/// number - tensor.
Tensor reversed_difference(const Arguments& a) {
    if (Arguments::is_tensor(a.at(1)) || a.find("alpha")) a.refuse("a tensor");
    const Tensor t = a.tensor(0);
    const DType dtype = result_type(t, a.scalar(a.at(1)));  // a real number less integers is float32
    return dtype == t.dtype() ? subtracted_from_number(t) : pointwise_result(t, dtype, Op::sub);
}

/// A number becomes a tensor without dimensions first.
Tensor chosen(const Arguments& a) {
    const network::Argument &first = a.at(1), &second = a.at(2);
    const auto other = [&](const network::Argument& argument, const network::Argument& beside) {
        if (Arguments::is_tensor(argument)) return a.tensor(argument);
        const bool whole = argument.is(network::Argument::Kind::integer);  // two integers are int64
        const DType own = whole && beside.is(network::Argument::Kind::integer) ? DType::int64 : DType::float32;
        const DType dtype = Arguments::is_tensor(beside) ? a.tensor(beside).dtype() : own;
        return empty(a.session(), {}, dtype, Op::scalar_tensor);
    };
    const Tensor condition = a.tensor(0);
    const Tensor one = other(first, second), two = other(second, first);
    return where(condition, one, two);
}

/// torch.min(tensor, tensor).
Tensor smaller(const Arguments& a) {
    const network::Argument* other = a.find(1, "other");
    if (!other || !Arguments::is_tensor(*other)) a.refuse("one tensor");
    return minimum(a.tensor(0), a.tensor(*other));
}

/// Of what needs no gradient.
Tensor inverse_error_function(const Arguments& a) {
    const Tensor t = a.tensor(0);
    if (t.requires_grad() || t.dtype() != DType::float32) a.refuse("a gradient, or another dtype than float32");
    return pointwise_result(t, t.dtype(), Op::erfinv);
}

constexpr NamedOperator kElementwise[] = {
    {"torch.Tensor.add", binary<add, add>},
    {"torch.Tensor.sub", binary<sub, sub>},
    {"torch.Tensor.mul", times},
    {"torch.polar", turned},
    {"torch.view_as_complex", as_complex},
    {"torch.view_as_real", unary<view_as_real>},
    {"torch.Tensor.div", divided},
    {"torch.Tensor.neg", unary<neg>},
    {"torch.rsqrt", unary<rsqrt>},
    {"torch.Tensor.rsqrt", unary<rsqrt>},
    {"torch.Tensor.cos", unary<cos>},
    {"torch.Tensor.sin", unary<sin>},
    {"torch.Tensor.tanh", unary<tanh>},
    {"torch.tanh", unary<tanh>},
    {"torch.nn.functional.silu", activation<silu>},
    {"torch.nn.functional.gelu", unary<gelu>},
    {"torch.nn.functional.relu", activation<relu>},
    {"torch.relu", unary<relu>},
    {"torch.sigmoid", unary<sigmoid>},
    {"torch.Tensor.sigmoid", unary<sigmoid>},
    {"torch.nn.functional.sigmoid", unary<sigmoid>},
    {"torch.nn.functional.tanh", unary<tanh>},
    {"torch.nn.functional.softplus", unary<softplus>},
    {"torch.nn.functional.logsigmoid", unary<log_sigmoid>},
    {"torch.exp", unary<exp>},
    {"torch.Tensor.exp", unary<exp>},
    {"torch.expm1", unary<expm1>},
    {"torch.log", unary<log>},
    {"torch.Tensor.log", unary<log>},
    {"torch.log1p", unary<log1p>},
    {"torch.sqrt", unary<sqrt>},
    {"torch.Tensor.sqrt", unary<sqrt>},
    {"torch.abs", unary<abs>},
    {"torch.Tensor.abs", unary<abs>},
    {"torch.Tensor.reciprocal", unary<reciprocal_of>},
    {"torch.Tensor.__rtruediv__", number_divided},
    {"torch.Tensor.__floordiv__", floor_divided},
    {"torch.Tensor.__invert__", inverted},
    {"torch.floor", rounded_down},
    {"torch.Tensor.floor", rounded_down},
    {"torch.rsub", reversed_difference},
    {"torch.Tensor.rsub", reversed_difference},
    {"torch.Tensor.__rsub__", reversed_difference},
    {"torch.square", unary<square>},
    {"torch.Tensor.square", unary<square>},
    {"torch.clamp", clamped},
    {"torch.Tensor.clamp", clamped},
    {"torch.Tensor.masked_fill", filled_where},
    {"torch.masked_fill", filled_where},
    {"torch.add", sum},
    {"torch.mul", times},
    {"torch.multiply", times},
    {"torch.erfinv", inverse_error_function},
    {"torch.Tensor.erfinv", inverse_error_function},
    {"torch.div", binary<div, div>},
    {"torch.cos", unary<cos>},
    {"torch.sin", unary<sin>},
    {"torch.pow", power},
    {"torch.Tensor.pow", power},
    {"torch.Tensor.__pow__", power},
    {"torch.nn.functional.dropout", dropped},
    {"torch.Tensor.__eq__", comparison<Op::eq>},
    {"torch.Tensor.ne", comparison<Op::ne>},
    {"torch.Tensor.le", comparison<Op::le>},
    {"torch.Tensor.lt", comparison<Op::lt>},
    {"torch.lt", comparison<Op::lt>},
    {"torch.Tensor.gt", comparison<Op::gt>},
    {"torch.Tensor.ge", comparison<Op::ge>},
    {"torch.Tensor.__and__", bits<Op::bitwise_and>},
    {"torch.Tensor.__or__", bits<Op::bitwise_or>},
    {"torch.Tensor.logical_not", negated},
    {"torch.logical_or", comparison<Op::logical_or>},
    {"torch.logical_and", comparison<Op::logical_and>},
    {"torch.where", chosen},
    {"torch.min", smaller},
    {"torch.minimum", smaller},
};

}  // namespace

std::span<const NamedOperator> elementwise_operators() { return kElementwise; }

}  // namespace vramfit::model::recorded
