// transformers 5.17.0 modeling_*.py: key_states, value_states = past_key_values.update(key_states, value_states,
// self.layer_idx), behind rotary embeddings and in front of the attention function.
#include "spec/network/rewritten/cached_attention.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "spec/network/rewritten/calls.hpp"
#include "spec/network/rewritten/generation.hpp"

namespace vramfit::network {

namespace {

using Kind = Argument::Kind;

/// The length becomes the number of places that the layer sees.
void give_keys(Argument& argument) { count_instead_of_length(argument, FormulaStep::Kind::keys); }

/// Rewrites one program.
class CachedAttention {
  public:
    explicit CachedAttention(Program& program) : program_(program) {}

    bool run() {
        // Whether the kernel's causal flag is set, which the operator asks of what it is given.
        std::erase_if(code(), [](const Instruction& one) {
            const auto* condition = std::get_if<If>(&one);
            return condition && condition->condition.text == "S > 1";
        });
        const auto is_attention = [](const Instruction& one) { return is_call(one, kSdpa); };
        if (std::count_if(code().begin(), code().end(), is_attention) != 1) return false;
        const auto at =
            static_cast<std::size_t>(std::find_if(code().begin(), code().end(), is_attention) - code().begin());
        const auto& call = std::get<Call>(code()[at]);
        if (call.arguments.size() < 3 || !call.arguments[1].is(Kind::value) || !call.arguments[2].is(Kind::value))
            return false;
        std::size_t place = before_conditions(at);
        const Number key = not_repeated(call.arguments[1].value, place);
        const Number value = not_repeated(call.arguments[2].value, place);
        insert(place, key, value);
        give_keys_behind(place);
        return true;
    }

  private:
    std::vector<Instruction>& code() { return program_.code; }

    /// Behind what stands before the comparison of sdpa_attention_forward.
    std::size_t before_conditions(std::size_t at) {
        while (at > 0 && std::holds_alternative<If>(code()[at - 1])) --at;
        return at;
    }

    /// What repeat_kv was given; `place` is moved in front of it.
    Number not_repeated(Number given, std::size_t& place) {
        constexpr std::array<std::string_view, 3> kCalls = {"torch.Tensor.reshape", "torch.Tensor.expand",
                                                            "torch.Tensor.__getitem__"};
        Number repeated = given;
        std::size_t first = place;
        for (const std::string_view function : kCalls) {
            std::size_t i = code().size();
            for (std::size_t j = 0; j < code().size(); ++j)
                if (const Call* call = call_of(code()[j], function); call && made_by(*call) == repeated) i = j;
            if (i == code().size()) return given;
            const Argument& from = std::get<Call>(code()[i]).arguments.at(0);
            if (!from.is(Kind::value)) return given;
            repeated = from.value;
            first = std::min(first, i);
        }
        place = first;
        return repeated;
    }

    /// The call and the ends of what the two names meant before: a view's go with the last view.
    void insert(std::size_t place, Number key, Number value) {
        const Number keys = program_.values++, values = program_.values++;
        Call update;
        update.function = kCacheUpdate;
        update.arguments = {network::value(key), network::value(value)};
        for (const auto& [of, is] : {std::pair(key, keys), std::pair(value, values)}) {
            Result made = result_of(of);
            made.value = is;
            made.view.clear();
            for (Argument& size : made.sizes) give_keys(size);
            made.sizes.resize(4);  // of what a module makes no sizes are said
            update.results.push_back(std::move(made));
        }
        End end;
        for (const Number one : {key, value}) {
            end.values.push_back(one);
            for (const Number base : bases(one))
                if (!is_used(base, place)) end.values.push_back(base);
        }
        for (std::size_t i = place; i < code().size(); ++i) {
            if (auto* other = std::get_if<End>(&code()[i]))
                std::erase_if(other->values, [&](Number ended) {
                    return ended != key && ended != value &&
                           std::find(end.values.begin(), end.values.end(), ended) != end.values.end();
                });
            rename(code()[i], key, keys);
            rename(code()[i], value, values);
        }
        code().insert(code().begin() + static_cast<std::ptrdiff_t>(place), {std::move(update), std::move(end)});
        made_ = {keys, values};
    }

    /// As the call says that makes it; of what the program is given as its input says.
    Result result_of(Number number) const {
        for (const Instruction& one : program_.code)
            if (const auto* call = std::get_if<Call>(&one))
                for (const Result& result : call->results)
                    if (result.value == number) return result;
        for (const Input& input : program_.inputs)
            if (input.what.value == number) return input.what;
        return {};
    }

    /// What the value is a view of, through all views of it that have an end behind it.
    std::vector<Number> bases(Number number) const {
        std::vector<Number> found;
        const std::string root = result_of(number).view;
        if (!root.starts_with('%')) return found;
        for (Number other = 0; other < program_.values; ++other)
            if (other != number && (result_of(other).view == root || fmt::format("%{}", other) == root))
                found.push_back(other);
        return found;
    }

    /// Whether anything from that place on takes the value.
    bool is_used(Number number, std::size_t place) const {
        for (std::size_t i = place; i < program_.code.size(); ++i) {
            const Instruction& one = program_.code[i];
            if (const auto* run = std::get_if<Run>(&one))
                if (std::find(run->given.begin(), run->given.end(), number) != run->given.end()) return true;
            bool used = false;
            if (const auto* call = std::get_if<Call>(&one))
                for_each_value(*call, [&](Number value) { used = used || value == number; });
            if (used) return true;
        }
        const std::vector<Number> left = program_.left();
        return std::find(left.begin(), left.end(), number) != left.end() || !has_end(number, place);
    }

    bool has_end(Number number, std::size_t place) const {
        return std::any_of(program_.code.begin() + static_cast<std::ptrdiff_t>(place), program_.code.end(),
                           [&](const Instruction& one) { return ends(one, number); });
    }

    /// What is made of keys and values alone, up to the attention.
    void give_keys_behind(std::size_t place) {
        const auto is_cached = [&](const Argument& argument) {
            return argument.is(Kind::value) && std::find(made_.begin(), made_.end(), argument.value) != made_.end();
        };
        for (std::size_t i = place + 1; i < code().size(); ++i) {
            auto* call = std::get_if<Call>(&code()[i]);
            if (!call || call->function == kSdpa || call->arguments.empty() || !is_cached(call->arguments[0])) continue;
            for (Argument& argument : call->arguments) give_keys(argument);
            for (Result& result : call->results) {
                for (Argument& size : result.sizes) give_keys(size);
                if (result.value) made_.push_back(*result.value);
            }
        }
    }

    Program& program_;
    std::vector<Number> made_;
};

}  // namespace

bool attends(const Program& program) {
    return std::any_of(program.code.begin(), program.code.end(),
                       [](const Instruction& one) { return is_call(one, kSdpa); });
}

bool add_cache(Program& program) { return CachedAttention(program).run(); }

}  // namespace vramfit::network
