// What no single part of a recording shows: lifetimes of values, names, bounds.
#include <algorithm>
#include <set>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "spec/network/read_parts.hpp"
#include "vramfit/base/error.hpp"

namespace vramfit::network {

namespace {

[[noreturn]] void refuse_at(const Document& document, std::string_view path, std::string what,
                            std::string hint = "record the network again (tools/record)") {
    throw Error(ErrorKind::invalid, fmt::format("{} {}", document.file, path), std::move(what), std::move(hint));
}

/// Calls `see` with each argument and what it contains.
template <class See>
void for_each_argument(const Argument& argument, const See& see) {
    see(argument);
    for (const Argument& item : argument.items) for_each_argument(item, see);
}
template <class See>
void for_each_argument(const Call& call, const See& see) {
    for (const Argument& argument : call.arguments) for_each_argument(argument, see);
    for (const auto& [name, argument] : call.named) for_each_argument(argument, see);
}

/// What of a program its callers look at.
struct Shape {
    std::size_t given = 0;
    std::size_t left = 0;
    std::size_t steps = 1;  ///< instructions of one pass, with those of the programs that it calls
    std::size_t depth = 1;
};

/// A value is used after it is made and before it ends, and all end that are not given back.
class Lifetimes {
  public:
    Lifetimes(const Document& document, std::size_t index, const std::vector<Shape>& shapes)
        : document_(document),
          program_(document.programs[index]),
          index_(index),
          shapes_(shapes),
          states_(program_.values, State::absent) {}

    Shape check() {
        const std::vector<Number> given = program_.given();
        for (const Number value : given) states_[value] = State::alive;
        shape_.given = given.size();
        shape_.left = program_.left().size();
        for (; at_ < program_.code.size(); ++at_) {
            ++shape_.steps;
            std::visit([this](const auto& instruction) { see(instruction); }, program_.code[at_]);
        }
        close(given);
        return shape_;
    }

  private:
    enum class State : std::uint8_t { absent, alive, ended };

    [[noreturn]] void refuse(std::string what) const {
        const bool inside = at_ < program_.code.size();
        refuse_at(document_,
                  inside ? fmt::format("/programs/{}/code/{}", index_, at_) : fmt::format("/programs/{}", index_),
                  std::move(what));
    }
    void use(Number value) const {
        if (value >= states_.size() || states_[value] == State::absent)
            refuse(fmt::format("value {} is not there", value));
        if (states_[value] == State::ended) refuse(fmt::format("value {} has ended", value));
    }
    void check_keys(const Formula& formula) const {
        for (const std::string& key : formula.keys)
            if (std::find(document_.varied.begin(), document_.varied.end(), key) == document_.varied.end())
                refuse(fmt::format("'{}' is none of the keys that were varied", key));
    }
    void check_argument(const Argument& argument) const {
        if (argument.is(Argument::Kind::value) || argument.is(Argument::Kind::rounds)) use(argument.value);
        if (argument.is(Argument::Kind::rounds) && !kept_.contains(argument.value))
            refuse(fmt::format("value {} is not kept by a loop", argument.value));
        if (argument.is(Argument::Kind::formula)) check_keys(argument.formula);
        if (!argument.is(Argument::Kind::dtype) || argument.dtype.of != DTypeName::Of::value) return;
        if (argument.dtype.value >= states_.size() || states_[argument.dtype.value] == State::absent)
            refuse(fmt::format("value {} is not there", argument.dtype.value));
    }
    void see(const Call& call) {
        for_each_argument(call, [this](const Argument& argument) { check_argument(argument); });
        for (const Result& result : call.results) {
            for (const Argument& size : result.sizes) check_argument(size);
            if (result.value) states_[*result.value] = State::alive;
        }
    }
    void see(const Run& run) {
        const Shape& inside = shapes_[run.program];
        for (const Number value : run.given) use(value);
        if (run.given.size() != inside.given)
            refuse(fmt::format("program {} is given {} values in place of {}", run.program, run.given.size(),
                               inside.given));
        if (run.results.size() != inside.left)
            refuse(
                fmt::format("program {} gives back {} values, not {}", run.program, inside.left, run.results.size()));
        for (const std::size_t place : run.takes) states_[run.given[place]] = State::ended;
        for (const Number value : run.results) states_[value] = State::alive;
        shape_.steps = std::min(shape_.steps + inside.steps, kMostSteps + 1);
        shape_.depth = std::max(shape_.depth, inside.depth + 1);
        if (shape_.steps > kMostSteps) refuse(fmt::format("more than {} instructions in one pass", kMostSteps));
        if (shape_.depth > kDeepestModules)
            refuse(fmt::format("more than {} programs in one another", kDeepestModules));
    }
    void see(const End& end) {
        for (const Number value : end.values) {
            use(value);
            states_[value] = State::ended;
        }
    }
    void see(const If& comparison) const {
        check_keys(comparison.condition.left);
        check_keys(comparison.condition.right);
    }
    /// All rounds but the first leave the same values: what holds for two of them holds for any number.
    void see(const Repeat& loop) {
        check_argument(loop.count);
        for (Number i = 0; i < 2 * loop.made; ++i)
            if (states_[loop.first + i] != State::absent)
                refuse(fmt::format("value {} of the loop is there before it", loop.first + i));
        shape_.steps = std::min(shape_.steps + loop.begin.size() + loop.next.size(), kMostSteps + 1);
        if (shape_.steps > kMostSteps) refuse(fmt::format("more than {} instructions in one pass", kMostSteps));
        see_round(loop.begin);
        const std::vector<State> left = states_;
        const std::set<Number> kept(loop.kept.begin(), loop.kept.end());
        for (int round = 0; round < 2; ++round) {
            see_round(loop.next);
            for (Number i = 0; i < loop.made; ++i) {
                State &before = states_[loop.first + i], &now = states_[loop.first + loop.made + i];
                if (before == State::alive && !kept.contains(loop.first + i))
                    refuse(fmt::format("value {} does not end in the next round", loop.first + i));
                before = std::exchange(now, State::absent);
            }
            if (states_ != left) refuse("the rounds of a loop leave different values");
        }
        kept_.insert(kept.begin(), kept.end());
    }
    void see_round(const std::vector<Step>& steps) {
        for (const Step& step : steps) std::visit([this](const auto& instruction) { see(instruction); }, step);
    }
    void close(const std::vector<Number>& given) {
        for (const Output& output : program_.outputs)
            if (output.value) use(*output.value);
        for (const Number value : program_.keeps) use(value);
        for (const Number value : given) states_[value] = State::ended;
        for (const Number value : program_.left()) states_[value] = State::ended;
        const auto left = std::find(states_.begin(), states_.end(), State::alive);
        if (left != states_.end()) refuse(fmt::format("value {} never ends", left - states_.begin()));
    }

    const Document& document_;
    const Program& program_;
    std::size_t index_;
    const std::vector<Shape>& shapes_;
    std::vector<State> states_;
    std::set<Number> kept_;  ///< of all rounds of a loop
    std::size_t at_ = 0;
    Shape shape_;
};

/// Names that programs use of modules and parameters are there.
class Names {
  public:
    explicit Names(const Document& document) : document_(document), names_(document.kinds.size()) {}

    /// The kinds themselves: names once each, and not too many modules in the whole.
    void check_kinds() {
        std::vector<std::size_t> modules(names_.size(), 1), depth(names_.size(), 1);
        for (std::size_t i = 0; i < names_.size(); ++i) {
            for (const Child& child : document_.kinds[i].children) {
                if (!names_[i].children.emplace(child.name, child.kind).second) refuse_kind(i, "child", child.name);
                modules[i] = std::min(modules[i] + modules[child.kind], kMostModules + 1);
                depth[i] = std::max(depth[i], depth[child.kind] + 1);
            }
            for (const auto* list : {&document_.kinds[i].parameters, &document_.kinds[i].buffers})
                for (const Parameter& parameter : *list)
                    if (!names_[i].parameters.insert(parameter.name).second)
                        refuse_kind(i, "parameter", parameter.name);
        }
        if (modules[document_.root] > kMostModules || depth[document_.root] > kDeepestModules)
            refuse_at(document_, "/root",
                      fmt::format("the network has more than {} modules, or more than {} in one another", kMostModules,
                                  kDeepestModules));
    }

    void check_program(Number program, Number kind) {
        if (!seen_.emplace(program, kind).second) return;
        const auto& code = document_.programs[program].code;
        visited_ += code.size();
        if (visited_ > 4 * kMostSteps) refuse_at(document_, "/programs", "too many modules run too many programs");
        for (std::size_t i = 0; i < code.size(); ++i) {
            const std::string where = fmt::format("/programs/{}/code/{}", program, i);
            const auto check_call = [&](const auto& instruction) {
                if (const Call* call = std::get_if<Call>(&instruction))
                    for_each_argument(*call, [&](const Argument& argument) { check_argument(argument, kind, where); });
            };
            check_call(code[i]);
            if (const Repeat* loop = std::get_if<Repeat>(&code[i])) {
                visited_ += loop->begin.size() + loop->next.size();
                std::for_each(loop->begin.begin(), loop->begin.end(), check_call);
                std::for_each(loop->next.begin(), loop->next.end(), check_call);
            }
            const Run* run = std::get_if<Run>(&code[i]);
            if (!run) continue;
            const auto inner = run->kind == Run::Kind::module ? module(kind, run->path) : kind;
            if (!inner) refuse_at(document_, where, fmt::format("there is no module '{}'", run->path));
            check_program(run->program, *inner);
        }
    }

  private:
    struct OfKind {
        std::unordered_map<std::string_view, Number> children;
        std::set<std::string_view> parameters;
    };

    [[noreturn]] void refuse_kind(std::size_t kind, std::string_view what, std::string_view name) const {
        refuse_at(document_, fmt::format("/modules/{}", kind), fmt::format("two have the name '{}' ({})", name, what));
    }
    std::optional<Number> module(Number kind, std::string_view path) const {
        if (path.starts_with('/')) return module(document_.root, path.substr(1));
        while (!path.empty()) {
            const std::size_t dot = std::min(path.find('.'), path.size());
            const auto found = names_[kind].children.find(path.substr(0, dot));
            if (found == names_[kind].children.end()) return std::nullopt;
            kind = found->second;
            path.remove_prefix(std::min(dot + 1, path.size()));
        }
        return kind;
    }
    void check_parameter(std::string_view path, Number kind, const std::string& where) const {
        const std::size_t dot = path.rfind('.');
        const bool rooted = path.starts_with('/');
        const std::string_view name =
            dot != std::string_view::npos ? path.substr(dot + 1) : path.substr(rooted ? 1 : 0);
        const std::string_view owner =
            dot != std::string_view::npos ? path.substr(0, dot) : path.substr(0, rooted ? 1 : 0);
        const auto found = module(kind, owner);
        if (!found || !names_[*found].parameters.contains(name))
            refuse_at(document_, where, fmt::format("there is no parameter '{}'", path));
    }
    void check_argument(const Argument& argument, Number kind, const std::string& where) const {
        if (argument.is(Argument::Kind::parameter)) check_parameter(argument.text, kind, where);
        if (argument.is(Argument::Kind::dtype) && argument.dtype.of == DTypeName::Of::parameter)
            check_parameter(argument.dtype.text, kind, where);
    }

    const Document& document_;
    std::vector<OfKind> names_;
    std::set<std::pair<Number, Number>> seen_;
    std::size_t visited_ = 0;
};

}  // namespace

void check_document(const Document& document) {
    std::vector<Shape> shapes;
    shapes.reserve(document.programs.size());
    for (std::size_t i = 0; i < document.programs.size(); ++i) shapes.push_back(Lifetimes(document, i, shapes).check());
    Names names(document);
    names.check_kinds();
    for (const Variant& variant : document.variants) names.check_program(variant.program, document.root);
}

}  // namespace vramfit::network
