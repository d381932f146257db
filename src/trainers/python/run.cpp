// Follows a script's statements in order; what depends on a condition or a loop that is not known is not known behind
// it.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "trainers/python/evaluate.hpp"

namespace vramfit::trainers::python {

namespace {

/// The names that statements set, wherever in them.
void assigned_names(const std::vector<Statement>& block, std::set<std::string, std::less<>>& out);

void target_names(const Expression& target, std::set<std::string, std::less<>>& out) {
    if (target.kind == Expression::Kind::name) out.insert(target.text);
    if (target.kind == Expression::Kind::list)
        for (const Expression& item : target.items) target_names(item, out);
}

void assigned_names(const std::vector<Statement>& block, std::set<std::string, std::less<>>& out) {
    for (const Statement& each : block) {
        const bool sets = each.kind == Statement::Kind::assign || each.kind == Statement::Kind::augment;
        const bool loops = each.kind == Statement::Kind::loop;
        for (std::size_t i = 0; i + 1 < each.items.size() && (sets || loops); ++i) target_names(each.items[i], out);
        if (each.kind == Statement::Kind::function || each.kind == Statement::Kind::type) {
            out.insert(each.text);
            continue;
        }
        assigned_names(each.body, out);
        assigned_names(each.other, out);
        for (const auto& inner : each.blocks) assigned_names(inner, out);
    }
}

}  // namespace

void Evaluator::run(const std::vector<Statement>& script) {
    (void)run_block(script);
    if (trainers_.empty()) run_uncalled(script);
}

/// Functions that nothing in the script calls; their parameters are not known.
void Evaluator::run_uncalled(const std::vector<Statement>& script) {
    for (const Statement& each : script) {
        const bool is_type = each.kind == Statement::Kind::type;
        if (is_type) run_uncalled(each.body);
        if (each.kind != Statement::Kind::function || called_.contains(&each) || !trainers_.empty()) continue;
        const Ref function = heap_->make(Kind::function);
        function->code = &each;
        (void)call_function(function, nullptr,
                            {{heap_->unknown("nothing in this file calls the function")}, {"**"}, {each.place}});
    }
}

bool Evaluator::run_block(const std::vector<Statement>& block) {
    for (const Statement& each : block) {
        count();
        here_ = each.place;
        if (run_statement(each)) return true;
    }
    return false;
}

/// True where nothing behind it in the function is reached.
bool Evaluator::run_statement(const Statement& s) {
    switch (s.kind) {
        case Statement::Kind::pass:
            if (!frames_.empty()) frames_.back().globals.insert(s.names.begin(), s.names.end());
            break;
        case Statement::Kind::expression: (void)value_of(s.items[0]); break;
        case Statement::Kind::assign: {
            const Ref value = value_of(s.items.back());
            for (std::size_t i = 0; i + 1 < s.items.size(); ++i) assign(s.items[i], value);
            break;
        }
        case Statement::Kind::augment: {
            const Ref old = value_of(s.items[0]);
            assign(s.items[0], binary(s.text, old, value_of(s.items[1])));
            break;
        }
        case Statement::Kind::branch: return run_branch(s);
        case Statement::Kind::loop: run_loop(s); break;
        case Statement::Kind::attempt: return run_attempt(s);
        case Statement::Kind::with:
            for (const Expression& item : s.items) (void)value_of(item);
            return run_block(s.body);
        case Statement::Kind::function: {
            const Ref function = heap_->make(Kind::function, s.text);
            function->code = &s;
            bind(s.text, function);
            break;
        }
        case Statement::Kind::type: run_type(s); break;
        case Statement::Kind::give: {
            if (frames_.empty()) return level_ == 0;
            // The value first: calls in it may move the frames.
            const Ref value = s.items.empty() ? heap_->make(Kind::none) : value_of(s.items[0]);
            frames_.back().returns.push_back(value);
            return true;
        }
        case Statement::Kind::import:
            for (std::size_t i = 0; i < s.names.size(); ++i) bind(s.names[i], heap_->make(Kind::dotted, s.words[i]));
            break;
    }
    return false;
}

Names Evaluator::merged(const Names& a, const Names& b, int line) {
    Names out = a;
    count(a.size() + b.size());
    for (const auto& [name, value] : b) {
        const auto [at, is_new] = out.emplace(name, value);
        if (!is_new) at->second = merge(at->second, value, line);
    }
    return out;
}

bool Evaluator::run_branch(const Statement& s) {
    const Truth truth = truth_of(*value_of(s.items[0]));
    if (truth != Truth::unknown) return run_block(truth == Truth::yes ? s.body : s.other);
    const Names before = names();
    count(before.size());
    const int line = std::exchange(line_, s.place.line);
    ++level_;
    const bool first_leaves = run_block(s.body);
    Names first = std::exchange(names(), before);
    const bool second_leaves = run_block(s.other);
    --level_;
    line_ = line;
    if (first_leaves && !second_leaves) return false;  // the names are those of the other
    names() = second_leaves && !first_leaves ? std::move(first) : merged(first, names(), s.place.line);
    return first_leaves && second_leaves;
}

void Evaluator::run_loop(const Statement& s) {
    std::set<std::string, std::less<>> set;
    assigned_names(s.body, set);
    const bool is_for = s.items.size() == 2;
    const Ref over = value_of(s.items.back());
    Names before = names();
    count(before.size());
    for (const std::string& name : set)
        if (names().contains(name))
            bind(name, heap_->unknown(fmt::format("it changes in the loop of line {}", s.place.line)));
    const int line = std::exchange(line_, s.place.line);
    ++level_;
    if (is_for) assign(s.items[0], element(over));
    (void)run_block(s.body);
    --level_;
    line_ = line;
    names() = merged(before, names(), s.place.line);
    (void)run_block(s.other);
}

/// What a loop over something gives: a part of an object, or nothing that is known.
Ref Evaluator::element(Ref whole) {
    if (whole->is(Kind::part)) return whole;
    if (whole->is(Kind::call))
        for (const Ref item : whole->items)
            if (item->is(Kind::part)) return item;  // enumerate(model.named_parameters())
    return heap_->unknown(fmt::format("it changes in the loop of line {}", here_.line));
}

/// The body as if nothing went wrong; what a handler changes is not known behind it.
bool Evaluator::run_attempt(const Statement& s) {
    bool leaves = run_block(s.body);
    const int line = std::exchange(line_, s.place.line);
    bool all_leave = leaves;
    for (const auto& block : s.blocks) {
        const Names before = names();
        count(before.size());
        ++level_;
        const bool left = run_block(block);
        --level_;
        all_leave = all_leave && left;
        names() = left ? before : merged(before, names(), s.place.line);
    }
    line_ = line;
    if (!leaves || !s.other.empty()) leaves = run_block(s.other) || all_leave;
    return all_leave || (leaves && s.blocks.empty());
}

void Evaluator::run_type(const Statement& s) {
    const Ref type = heap_->make(Kind::type, s.text);
    type->code = &s;
    type->level = level_;
    type->place = s.place;
    type->owner = heap_->make(Kind::list);
    for (const Expression& base : s.items) type->owner->items.push_back(value_of(base));
    for (const Ref base : type->owner->items)
        if (base->is(Kind::type))
            for (std::size_t i = 0; i < base->items.size(); ++i) set_key(type, base->keys[i], base->items[i], s.place);
    if (depth_ < 8) {
        ++depth_;
        frames_.emplace_back();
        (void)run_block(s.body);
        const Names own = std::move(frames_.back().names);
        frames_.pop_back();
        --depth_;
        for (const auto& [name, value] : own) set_key(type, name, value, s.place);
        for (const Ref base : std::vector<Ref>(type->owner->items))
            if (base->is(Kind::type) && base->owner)
                type->owner->items.insert(type->owner->items.end(), base->owner->items.begin(),
                                          base->owner->items.end());
        count(type->owner->items.size());
    }
    bind(s.text, type);
}

void Evaluator::bind(const std::string& name, Ref value) {
    const bool global = frames_.empty() || frames_.back().globals.contains(name);
    Ref& slot = (global ? globals_ : frames_.back().names)[name];
    // What a function changes outside of itself under a condition is not taken back with its names.
    if (global && !frames_.empty() && level_ > 0 && slot) value = merge(slot, value, line_);
    slot = value;
}

void Evaluator::assign(const Expression& target, Ref value) {
    count();
    switch (target.kind) {
        case Expression::Kind::name: return bind(target.text, value);
        case Expression::Kind::attribute:
            return set_attribute(value_of(target.items[0]), target.text, value, target.place);
        case Expression::Kind::subscript: {
            const Ref base = value_of(target.items[0]);
            return set_item(base, value_of(target.items[1]), value, target.place);
        }
        case Expression::Kind::list: break;
        default: return;
    }
    const bool fits = value->is(Kind::list) && value->items.size() == target.items.size();
    for (std::size_t i = 0; i < target.items.size(); ++i) {
        Ref part = value;
        if (fits)
            part = value->items[i];
        else if (value->is(Kind::capability))
            part = i == 0 ? heap_->make(Kind::major) : heap_->unknown("the GPU decides it");
        else if (value->is(Kind::call) || value->is(Kind::list) || value->is(Kind::dict))
            part = heap_->unknown(fmt::format("it is a part of the result of {}() in line {}", last_name(value->text),
                                              value->place.line));
        else if (!value->is(Kind::part))
            part = value->is(Kind::unknown) ? value : heap_->unknown("it is a part of what is not known");
        assign(target.items[i], part);
    }
}

void Evaluator::set_key(Ref base, const std::string& key, Ref value, Place place) {
    count();
    if (base->places.size() < base->keys.size()) base->places.resize(base->keys.size(), place);
    for (std::size_t i = 0; i < base->keys.size(); ++i) {
        if (base->keys[i] != key) continue;
        base->items[i] = level_ > base->level ? merge(base->items[i], value, line_) : value;
        base->places[i] = place;
        return;
    }
    base->keys.push_back(key);
    base->items.push_back(
        level_ > base->level ? heap_->unknown(fmt::format("it depends on what line {} decides", line_)) : value);
    base->places.push_back(place);
}

void Evaluator::set_attribute(Ref base, const std::string& name, Ref value, Place place) {
    // Trainer.__init__ has read some of its arguments already.
    for (const Ref trainer : trainers_)
        if (std::find(trainer->items.begin(), trainer->items.end(), base) != trainer->items.end() &&
            base->find(name) != value)
            value = heap_->unknown(fmt::format("line {} changes it when the trainer is there already", place.line));
    if (base->is(Kind::call) || base->is(Kind::type)) return set_key(base, name, value, place);
    if (!base->is(Kind::part)) return;
    if (level_ > base->owner->level) value = heap_->unknown(fmt::format("it depends on what line {} decides", line_));
    base->owner->effects.push_back({fmt::format("{}.{}", base->text, name), value, place});
}

void Evaluator::set_item(Ref base, Ref index, Ref value, Place place) {
    const bool readable = index->is(Kind::text) || index->is(Kind::integer);
    if (base->is(Kind::dict))
        return set_key(base,
                       !readable               ? "**[...]"
                       : index->is(Kind::text) ? index->text
                                               : std::to_string(index->integer),
                       readable ? value : heap_->unknown(fmt::format("a key is set in line {}", place.line)), place);
    if (base->is(Kind::list))
        base->items.assign(1, heap_->unknown(fmt::format("line {} changes the list", place.line)));
    if (base->is(Kind::part) || base->is(Kind::call)) set_attribute(attribute(base, "[]"), "", value, place);
}

}  // namespace vramfit::trainers::python
