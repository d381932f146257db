// The values of Python's expressions, as far as a reader of the script can tell them.
#include "trainers/python/evaluate.hpp"

#include <charconv>
#include <cmath>

#include <fmt/format.h>

#include "base/number_text.hpp"
#include "trainers/value.hpp"
#include "vramfit/base/error.hpp"

namespace vramfit::trainers::python {

namespace {

bool is_number(const Object& o) { return o.is(Kind::integer) || o.is(Kind::real) || o.is(Kind::truth); }
double number_in(const Object& o) { return o.is(Kind::truth) ? (o.truth ? 1 : 0) : o.real; }

/// The key of a dict, which is a text or a whole number.
std::string key_of(const Object& index) { return index.is(Kind::integer) ? std::to_string(index.integer) : index.text; }

constexpr std::int64_t kLargest = std::int64_t{1} << 53;

}  // namespace

bool are_equal(const Object& a, const Object& b, int depth) {
    if (&a == &b) return true;
    if (a.kind != b.kind || depth > 8) return false;
    switch (a.kind) {
        case Kind::none: return true;
        case Kind::truth: return a.truth == b.truth;
        case Kind::integer: return a.integer == b.integer;
        case Kind::real: return a.real == b.real;
        case Kind::text:
        case Kind::dotted: return a.text == b.text;
        case Kind::part: return a.text == b.text && a.owner == b.owner;
        case Kind::list:
        case Kind::dict: break;
        default: return false;
    }
    if (a.keys != b.keys || a.items.size() != b.items.size() || a.items.size() > 64) return false;
    for (std::size_t i = 0; i < a.items.size(); ++i)
        if (!are_equal(*a.items[i], *b.items[i], depth + 1)) return false;
    return true;
}

void Evaluator::count(std::size_t steps) {
    steps_ += steps;
    if (steps_ > kMostValues)
        throw Error(ErrorKind::invalid, text_of(FilePlace{file_, here_}), "nested too deep or too long");
}

Ref Evaluator::value_of(const Expression& e) {
    count();
    switch (e.kind) {
        case Expression::Kind::name: return name(e.text);
        case Expression::Kind::number: return number(e.text);
        case Expression::Kind::text: return heap_->make(Kind::text, e.text);
        case Expression::Kind::format: return format(e);
        case Expression::Kind::attribute: return attribute(value_of(e.items[0]), e.text);
        case Expression::Kind::subscript: {
            const Ref base = value_of(e.items[0]);
            return subscript(base, value_of(e.items[1]));
        }
        case Expression::Kind::call: return call(e);
        case Expression::Kind::dict: return dict(e);
        case Expression::Kind::unary: return unary(e.text, value_of(e.items[0]));
        case Expression::Kind::logic: return logic(e);
        case Expression::Kind::binary:
        case Expression::Kind::comparison: {
            const Ref left = value_of(e.items[0]);
            const Ref right = value_of(e.items[1]);
            return e.kind == Expression::Kind::binary ? binary(e.text, left, right) : compare(e.text, left, right);
        }
        case Expression::Kind::conditional: {
            const Truth truth = truth_of(*value_of(e.items[1]));
            if (truth != Truth::unknown) return value_of(e.items[truth == Truth::yes ? 0 : 2]);
            const Ref first = value_of(e.items[0]);
            return merge(first, value_of(e.items[2]), e.place.line);
        }
        case Expression::Kind::list: {
            const Ref out = heap_->make(Kind::list, e.text);
            out->level = level_;
            for (const Expression& item : e.items) out->items.push_back(value_of(item));
            return out;
        }
        case Expression::Kind::opaque: break;
    }
    return heap_->unknown(fmt::format("it is computed in line {}", e.place.line));
}

Ref Evaluator::name(const std::string& text) {
    if (text == "True" || text == "False") return heap_->truth(text == "True");
    if (text == "None") return heap_->make(Kind::none);
    if (!frames_.empty())
        if (const auto found = frames_.back().names.find(text); found != frames_.back().names.end())
            return found->second;
    if (const auto found = globals_.find(text); found != globals_.end()) return found->second;
    if (text == "__name__") return heap_->make(Kind::text, "__main__");
    return heap_->make(Kind::dotted, text);
}

Ref Evaluator::number(const std::string& text) {
    const bool hex = text.starts_with("0x") || text.starts_with("0X");
    std::int64_t whole = 0;
    const char* begin = text.data() + (hex ? 2 : 0);
    const char* end = text.data() + text.size();
    if (const auto [last, problem] = std::from_chars(begin, end, whole, hex ? 16 : 10);
        problem == std::errc{} && last == end)
        return heap_->integer(whole);
    if (const std::optional<double> real = real_from(std::string_view(text).substr(hex ? 2 : 0)))
        return heap_->real(*real);
    return heap_->unknown(fmt::format("{} is no number that can be read", text));
}

Ref Evaluator::format(const Expression& e) {
    std::string out;
    for (const Expression& item : e.items) {
        const Ref value = value_of(item);
        if (value->is(Kind::text))
            out += value->text;
        else if (value->is(Kind::integer))
            out += std::to_string(value->integer);
        else
            return value->is(Kind::unknown)
                       ? value
                       : heap_->unknown(fmt::format("it is put together in line {}", e.place.line));
        count(out.size() / 64);
    }
    return heap_->make(Kind::text, std::move(out));
}

Ref Evaluator::dict(const Expression& e) {
    const Ref out = heap_->make(Kind::dict);
    out->level = level_;
    for (std::size_t i = 0; i + 1 < e.items.size(); i += 2) {
        const Expression& key = e.items[i];
        const Ref value = value_of(e.items[i + 1]);
        if (key.kind == Expression::Kind::name && key.text == "**") {
            if (value->is(Kind::dict))
                for (std::size_t k = 0; k < value->items.size(); ++k)
                    set_key(out, value->keys[k], value->items[k], key.place);
            else
                set_key(out, fmt::format("**{}", e.items[i + 1].source),
                        heap_->unknown(value->is(Kind::unknown) ? value->text : "it is no dict of this file"),
                        key.place);
            continue;
        }
        const Ref known = value_of(key);
        const bool readable = known->is(Kind::text) || known->is(Kind::integer);
        set_key(out, readable ? key_of(*known) : fmt::format("{}", key.source), value, key.place);
    }
    return out;
}

Ref Evaluator::attribute(Ref base, const std::string& name) {
    if (base->is(Kind::dotted)) {
        if (base->text.size() > 200) return heap_->unknown("its name is too long");
        return heap_->make(Kind::dotted, fmt::format("{}.{}", base->text, name));
    }
    if (base->is(Kind::unknown)) return base;
    if (base->is(Kind::type) || base->is(Kind::call) || base->is(Kind::dict)) {
        if (!base->is(Kind::dict))
            if (const Ref found = base->find(name)) return found;
        if (base->is(Kind::call) && base->type)
            if (const Ref found = base->type->find(name)) return found;
    }
    if (base->is(Kind::call) || base->is(Kind::part)) {
        const Ref out = heap_->make(Kind::part, base->is(Kind::part) ? fmt::format("{}.{}", base->text, name) : name);
        out->owner = base->is(Kind::part) ? base->owner : base;
        if (out->text.size() > 200) return heap_->unknown("its name is too long");
        return out;
    }
    return heap_->unknown(fmt::format("the attribute {} is not followed", name));
}

Ref Evaluator::subscript(Ref base, Ref index) {
    if (base->is(Kind::unknown)) return base;
    if (base->is(Kind::capability))
        return index->is(Kind::integer) && index->integer == 0 ? heap_->make(Kind::major)
                                                               : heap_->unknown("the GPU decides it");
    if (base->is(Kind::dict)) {
        if (index->is(Kind::text) || index->is(Kind::integer))
            if (const Ref found = base->find(key_of(*index))) return found;
        return heap_->unknown("no such key is known");
    }
    if (base->is(Kind::list) && index->is(Kind::integer)) {
        const auto size = static_cast<std::int64_t>(base->items.size());
        const std::int64_t at = index->integer < 0 ? index->integer + size : index->integer;
        if (at >= 0 && at < size) return base->items[static_cast<std::size_t>(at)];
    }
    if (base->is(Kind::part) || base->is(Kind::call)) return attribute(base, "[]");
    return heap_->unknown("the subscript is not followed");
}

Evaluator::Truth Evaluator::truth_of(const Object& o) {
    switch (o.kind) {
        case Kind::none: return Truth::no;
        case Kind::truth: return o.truth ? Truth::yes : Truth::no;
        case Kind::integer:
        case Kind::real: return o.real != 0 ? Truth::yes : Truth::no;
        case Kind::text: return o.text.empty() ? Truth::no : Truth::yes;
        case Kind::list:
        case Kind::dict: return o.items.empty() ? Truth::no : Truth::yes;
        default: return Truth::unknown;
    }
}

Ref Evaluator::unary(const std::string& sign, Ref value) {
    if (value->is(Kind::unknown)) return value;
    if (sign == "not") {
        const Truth truth = truth_of(*value);
        return truth == Truth::unknown ? heap_->unknown("its truth is not known") : heap_->truth(truth == Truth::no);
    }
    if (value->is(Kind::real) && sign != "~") return heap_->real(sign == "-" ? -value->real : value->real);
    if (value->is(Kind::integer) && std::abs(value->integer) < kLargest && sign != "~")
        return heap_->integer(sign == "-" ? -value->integer : value->integer);
    return heap_->unknown(fmt::format("the sign {} is not followed here", sign));
}

Ref Evaluator::binary(const std::string& sign, Ref left, Ref right) {
    if (left->is(Kind::unknown)) return left;
    if (right->is(Kind::unknown)) return right;
    if (sign == "+" && left->is(Kind::text) && right->is(Kind::text)) {
        count((left->text.size() + right->text.size()) / 64);
        return heap_->make(Kind::text, left->text + right->text);
    }
    if (sign == "+" && left->is(Kind::list) && right->is(Kind::list)) {
        const Ref out = heap_->make(Kind::list, left->text);
        out->level = level_;
        out->items = left->items;
        out->items.insert(out->items.end(), right->items.begin(), right->items.end());
        count(out->items.size());
        return out;
    }
    if (sign == "|" && left->is(Kind::dict) && right->is(Kind::dict)) {
        const Ref out = heap_->make(Kind::dict);
        out->level = level_;
        out->items = left->items;
        out->keys = left->keys;
        out->places = left->places;
        count(out->items.size());
        for (std::size_t i = 0; i < right->items.size(); ++i) set_key(out, right->keys[i], right->items[i], here_);
        return out;
    }
    const Ref unread = heap_->unknown(fmt::format("it is computed with {} in line {}", sign, here_.line));
    if (!is_number(*left) || !is_number(*right)) return unread;
    const double a = number_in(*left);
    const double b = number_in(*right);
    const bool whole = !left->is(Kind::real) && !right->is(Kind::real);
    double result = 0;
    if (sign == "+")
        result = a + b;
    else if (sign == "-")
        result = a - b;
    else if (sign == "*")
        result = a * b;
    else if (sign == "**")
        result = std::pow(a, b);
    else if (sign == "/" && b != 0)
        return heap_->real(a / b);
    else if (sign == "//" && b != 0)
        result = std::floor(a / b);
    else if (sign == "%" && b != 0)
        result = a - b * std::floor(a / b);
    else
        return unread;
    if (!std::isfinite(result) || std::abs(result) > static_cast<double>(kLargest)) return unread;
    if (whole && result == std::floor(result)) return heap_->integer(static_cast<std::int64_t>(result));
    return heap_->real(result);
}

Ref Evaluator::compare(const std::string& sign, Ref left, Ref right) {
    // torch.cuda.get_device_capability()[0] >= 8, or the whole of it against (8, 0): whether the card computes
    // bfloat16.
    const bool eight = right->is(Kind::integer) && right->integer == 8;
    const bool eight_zero = right->is(Kind::list) && !right->items.empty() && right->items[0]->is(Kind::integer) &&
                            right->items[0]->integer == 8;
    if ((left->is(Kind::major) && eight) || (left->is(Kind::capability) && eight_zero)) {
        if (sign == ">=") return heap_->truth(bf16_card_);
        if (sign == "<") return heap_->truth(!bf16_card_);
        return heap_->unknown("the GPU decides it");
    }
    if (left->is(Kind::unknown)) return left;
    if (right->is(Kind::unknown)) return right;
    if (is_number(*left) && is_number(*right)) {
        const double a = number_in(*left);
        const double b = number_in(*right);
        if (sign == "<") return heap_->truth(a < b);
        if (sign == ">") return heap_->truth(a > b);
        if (sign == "<=") return heap_->truth(a <= b);
        if (sign == ">=") return heap_->truth(a >= b);
        if (sign == "==" || sign == "!=") return heap_->truth((a == b) == (sign == "=="));
    }
    const auto is_plain = [](const Object& o) { return o.is(Kind::none) || o.is(Kind::text) || is_number(o); };
    const bool negated = sign == "!=" || sign == "is not";
    if (sign == "==" || sign == "is" || negated) {
        if (is_plain(*left) && is_plain(*right)) return heap_->truth(are_equal(*left, *right) != negated);
        const bool made = left->is(Kind::call) || left->is(Kind::list) || left->is(Kind::dict);
        if (right->is(Kind::none) && made) return heap_->truth(negated);
        if (left->is(Kind::dotted) && right->is(Kind::dotted) && left->text.starts_with("torch.") &&
            right->text.starts_with("torch."))
            return heap_->truth((left->text == right->text) != negated);
    }
    if ((sign == "in" || sign == "not in") && left->is(Kind::text)) {
        if (right->is(Kind::text))
            return heap_->truth((right->text.find(left->text) != std::string::npos) == (sign == "in"));
        if (right->is(Kind::dict)) return heap_->truth((right->find(left->text) != nullptr) == (sign == "in"));
        bool all = right->is(Kind::list);
        bool found = false;
        if (all)
            for (const Ref item : right->items) {
                all = all && item->is(Kind::text);
                found = found || (item->is(Kind::text) && item->text == left->text);
            }
        if (found || all) return heap_->truth(found == (sign == "in"));
    }
    return heap_->unknown(fmt::format("the comparison in line {} is not followed", here_.line));
}

Ref Evaluator::logic(const Expression& e) {
    const Ref left = value_of(e.items[0]);
    const Truth truth = truth_of(*left);
    if (truth == (e.text == "or" ? Truth::yes : Truth::no)) return left;
    const Ref right = value_of(e.items[1]);
    if (truth != Truth::unknown) return right;
    // unknown and False is false; unknown or True is true.
    if (truth_of(*right) == (e.text == "or" ? Truth::yes : Truth::no) && right->is(Kind::truth)) return right;
    return left->is(Kind::unknown) ? left
                                   : heap_->unknown(fmt::format("the choice in line {} is not known", e.place.line));
}

/// What it is if it is one of two.
Ref Evaluator::merge(Ref a, Ref b, int line, int depth) {
    if (a == b || are_equal(*a, *b)) return a;
    if (a->is(Kind::unknown)) return a;
    if (b->is(Kind::unknown)) return b;
    if (a->is(Kind::list) && b->is(Kind::list) && a->items.size() == b->items.size() && depth < 4) {
        const Ref out = heap_->make(Kind::list, a->text);
        out->level = level_;
        count(a->items.size());
        for (std::size_t i = 0; i < a->items.size(); ++i)
            out->items.push_back(merge(a->items[i], b->items[i], line, depth + 1));
        return out;
    }
    return heap_->unknown(fmt::format("it depends on what line {} decides", line));
}

}  // namespace vramfit::trainers::python
