// einsum (torch 2.11 ATen/native/Linear.cpp einsum, sumproduct_pair).
#include "engine/ops/einsum.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "engine/autocast.hpp"
#include "engine/ops/matmul.hpp"
#include "engine/ops/pointwise.hpp"
#include "engine/ops/shape.hpp"
#include "engine/ops/view.hpp"
#include "engine/session.hpp"

namespace vramfit::engine {

namespace {

struct Equation {
    std::vector<std::string> operands;
    std::string result;
};

Equation parsed(std::string_view text) {
    Equation out;
    std::string part;
    for (const char c : text) {
        if (c == ',' || c == '-') out.operands.push_back(std::exchange(part, {}));
        if (c != ',' && c != '-' && c != '>' && c != ' ') part += c;
    }
    out.result = part;
    return out;
}

/// All letters: those of the result, then the others by the alphabet.
std::string order_of(const Equation& equation) {
    std::string others;
    for (const std::string& letters : equation.operands)
        for (const char c : letters)
            if (equation.result.find(c) == std::string::npos && others.find(c) == std::string::npos) others += c;
    std::sort(others.begin(), others.end());
    return equation.result + others;
}

/// The operand with a dimension for each letter, one of 1 for those that it has not.
Tensor arranged(const Tensor& t, std::string letters, const std::string& order) {
    Tensor out = t;
    std::vector<int> places;
    for (const char c : order) {
        if (letters.find(c) == std::string::npos) {
            out = unsqueeze(out, out.dim());
            letters += c;
        }
        places.push_back(static_cast<int>(letters.find(c)));
    }
    return permute(out, places);
}

/// sumproduct_pair: the dimensions from `first_summed` on are summed.
Tensor product_of(const Tensor& left, const Tensor& right, int first_summed) {
    std::vector<int> both, of_left, summed, of_right;
    Size n_both = 1, n_left = 1, n_summed = 1, n_right = 1;
    for (int i = 0; i < left.dim(); ++i) {
        const bool in_left = !left.session().decide("einsum left", left.size(i) == 1);
        const bool in_right = !left.session().decide("einsum right", right.size(i) == 1);
        if (i >= first_summed) {
            summed.push_back(i);
            n_summed *= left.size(i);
        } else if (in_left && in_right) {
            both.push_back(i);
            n_both *= left.size(i);
        } else if (in_left) {
            of_left.push_back(i);
            n_left *= left.size(i);
        } else {
            of_right.push_back(i);
            n_right *= right.size(i);
        }
    }
    const auto joined = [](std::initializer_list<const std::vector<int>*> parts) {
        std::vector<int> out;
        for (const std::vector<int>* part : parts) out.insert(out.end(), part->begin(), part->end());
        return out;
    };
    const Tensor a = reshape(permute(left, joined({&both, &of_left, &summed, &of_right})), {n_both, n_left, n_summed});
    const Tensor b =
        reshape(permute(right, joined({&both, &summed, &of_right, &of_left})), {n_both, n_summed, n_right});
    const std::vector<int> made = joined({&both, &of_left, &summed, &of_right});
    Dims sizes;
    std::vector<int> back(made.size());
    for (std::size_t i = 0; i < made.size(); ++i) {
        const int dim = made[i];
        sizes.push(dim >= first_summed ? Size(1) : i < both.size() + of_left.size() ? left.size(dim) : right.size(dim));
        back[static_cast<std::size_t>(dim)] = static_cast<int>(i);
    }
    return permute(view(bmm(a, b), sizes), back);
}

}  // namespace

bool is_known_einsum(std::string_view text, std::span<const int> dimensions) {
    const std::size_t operands = dimensions.size();
    if (operands < 1 || operands > 2 || text.find("->") == std::string_view::npos) return false;
    const Equation equation = parsed(text);
    const auto plain = [](std::string letters) {
        const bool only_letters =
            std::all_of(letters.begin(), letters.end(), [](char c) { return c >= 'a' && c <= 'z'; });
        std::sort(letters.begin(), letters.end());
        return only_letters && !letters.empty() && std::adjacent_find(letters.begin(), letters.end()) == letters.end();
    };
    if (equation.operands.size() != operands || !plain(equation.result)) return false;
    for (std::size_t i = 0; i < operands; ++i)
        if (static_cast<int>(equation.operands[i].size()) != dimensions[i]) return false;
    for (const char c : equation.result)
        if (std::none_of(equation.operands.begin(), equation.operands.end(),
                         [c](const std::string& letters) { return letters.find(c) != std::string::npos; }))
            return false;
    const std::string order = order_of(equation);
    if (order.size() > Dims::kCapacity) return false;
    if (operands == 1 && order.size() != equation.result.size()) return false;
    // What is summed is summed over both.
    for (std::size_t i = equation.result.size(); i < order.size(); ++i)
        for (const std::string& letters : equation.operands)
            if (letters.find(order[i]) == std::string::npos) return false;
    return std::all_of(equation.operands.begin(), equation.operands.end(), plain);
}

Tensor einsum(std::string_view text, const Tensor& a) {
    const Equation equation = parsed(text);
    return arranged(autocast_to_lower(a), equation.operands[0], equation.result);
}

Tensor einsum(std::string_view text, const Tensor& a, const Tensor& b) {
    const Equation equation = parsed(text);
    const std::string order = order_of(equation);
    // autocast_mode.h AT_FORALL_LOWER_PRECISION_FP names it: what it is given is cast first.
    const Tensor lower_a = autocast_to_lower(a), lower_b = autocast_to_lower(b);
    const Tensor left = arranged(lower_a, equation.operands[0], order);
    const Tensor right = arranged(lower_b, equation.operands[1], order);
    const int kept = static_cast<int>(equation.result.size());
    if (kept == static_cast<int>(order.size())) return mul(left, right);
    const Tensor out = product_of(left, right, kept);
    Dims sizes;
    for (int i = 0; i < kept; ++i) sizes.push(out.size(i));
    return view(out, sizes);
}

}  // namespace vramfit::engine
