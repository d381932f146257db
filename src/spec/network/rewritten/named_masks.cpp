// transformers 5.17.0 masking_utils.py create_causal_mask and create_sliding_window_causal_mask, as recorded: each
// begins with attention_mask.to(device, bool), compares a window with the length, and asks whether the mask is all
// ones.
#include "spec/network/rewritten/named_masks.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "spec/network/rewritten/calls.hpp"
#include "spec/network/rewritten/generation.hpp"

namespace vramfit::network {

namespace {

using Kind = Argument::Kind;

constexpr std::string_view kMask = "attention_mask";

/// What the program is given under that name, if it is a mask of rows: [B, S].
std::optional<Number> mask_of_rows(const Program& program) {
    for (const Input& input : program.inputs)
        if (input.name == kMask && input.what.value && input.what.sizes.size() == 2) return input.what.value;
    return std::nullopt;
}

/// "S >= 4096": 4096.
std::optional<std::int64_t> window_in(const Instruction& instruction) {
    const auto* condition = std::get_if<If>(&instruction);
    if (!condition || condition->condition.relation != Relation::at_least) return std::nullopt;
    const auto &left = condition->condition.left.steps, &right = condition->condition.right.steps;
    if (left.size() != 1 || left[0].kind != FormulaStep::Kind::length || right.size() != 1) return std::nullopt;
    return right[0].kind == FormulaStep::Kind::number ? std::optional(right[0].number) : std::nullopt;
}

/// Rewrites one program.
class NamedMasks {
  public:
    NamedMasks(Program& program, const Document& document, Number mask)
        : program_(program), document_(document), mask_(mask), gone_(program.code.size(), false) {}

    bool run() {
        find_blocks();
        if (begins_.empty()) return false;
        find_given_masks();
        mark_makers();
        mark_users();
        keep_what_others_take();
        drop_what_nothing_takes();
        if (!is_understood()) return false;
        replace();
        return true;
    }

  private:
    /// One call of the function: where it begins, its window and what it gives to modules.
    struct Block {
        std::size_t begin = 0;
        std::optional<std::int64_t> window;
        std::optional<Number> made;
    };

    std::vector<Instruction>& code() { return program_.code; }
    const Call* call_at(std::size_t i) const { return std::get_if<Call>(&program_.code[i]); }

    void find_blocks() {
        for (std::size_t i = 0; i < code().size(); ++i) {
            if (call_on(code()[i], "torch.Tensor.to", mask_)) begins_.push_back({i, {}, {}});
            const auto window = window_in(code()[i]);
            if (window && !begins_.empty() && !begins_.back().window) begins_.back().window = window;
        }
    }

    /// Masks of four dimensions that modules are given.
    void find_given_masks() {
        for (const Instruction& one : code()) {
            const Run* const run = module_run(one);
            if (!run) continue;
            const Program& called = document_.programs[run->program];
            const std::vector<Number> places = called.given();
            for (std::size_t i = 0; i < places.size(); ++i)
                if (called.name_of(places[i]) == kMask && run->given[i] != mask_) given_.insert(run->given[i]);
        }
    }

    /// The calls that a mask is made of, and which function has called them.
    void mark_makers() {
        for (const Number made : given_) {
            std::set<Number> wanted{made};
            for (std::size_t i = code().size(); i-- > 0;) {
                const Call* const call = call_at(i);
                if (!call || std::none_of(call->results.begin(), call->results.end(),
                                          [&](const Result& r) { return r.value && wanted.contains(*r.value); }))
                    continue;
                gone_[i] = true;
                for_each_value(*call, [&](Number value) { wanted.insert(value); });
                for (Block& block : begins_)
                    if (block.begin == i) block.made = made;
            }
        }
    }

    /// The calls that are given something made of the mask of rows.
    void mark_users() {
        std::set<Number> made{mask_};
        for (std::size_t i = 0; i < code().size(); ++i) {
            const Call* const call = call_at(i);
            if (!call) continue;
            bool is_user = false;
            for_each_value(*call, [&](Number value) { is_user = is_user || made.contains(value); });
            if (!is_user) continue;
            gone_[i] = true;
            for (const Result& result : call->results)
                if (result.value) made.insert(*result.value);
        }
    }

    /// What instructions take that stay.
    std::set<Number> taken() const {
        std::set<Number> found;
        for (std::size_t i = 0; i < program_.code.size(); ++i) {
            if (const Call* const call = call_at(i); call && !gone_[i])
                for_each_value(*call, [&](Number value) { found.insert(value); });
            if (const auto* run = std::get_if<Run>(&program_.code[i]))
                found.insert(run->given.begin(), run->given.end());
        }
        for (const Number left : program_.left()) found.insert(left);
        return found;
    }

    bool makes_any_of(std::size_t i, const std::set<Number>& values) const {
        const std::vector<Result>& results = call_at(i)->results;
        return std::any_of(results.begin(), results.end(),
                           [&](const Result& r) { return r.value && values.contains(*r.value); });
    }

    /// A call stays that makes what something takes which stays.
    void keep_what_others_take() {
        for (bool again = true; std::exchange(again, false);) {
            std::set<Number> wanted = taken();
            for (const Number mask : given_) wanted.erase(mask);
            for (std::size_t i = 0; i < gone_.size(); ++i)
                if (gone_[i] && makes_any_of(i, wanted)) {
                    gone_[i] = false;
                    again = true;
                }
        }
    }

    /// Places of heads, which no mask is made of (head_arange).
    void drop_what_nothing_takes() {
        const auto last = static_cast<std::size_t>(
            gone_.size() - 1 -
            static_cast<std::size_t>(std::find(gone_.rbegin(), gone_.rend(), true) - gone_.rbegin()));
        for (bool again = true; std::exchange(again, false);) {
            const std::set<Number> wanted = taken();
            for (std::size_t i = begins_.front().begin; i < last; ++i) {
                const Call* const call = call_at(i);
                if (!call || gone_[i] || call->results.empty() || makes_any_of(i, wanted)) continue;
                gone_[i] = again = true;
            }
        }
    }

    /// Each mask is that of one call of the function, each call's beginning is gone, and nothing else is made of it.
    bool is_understood() const {
        std::size_t made = 0;
        for (const Block& block : begins_) {
            if (!gone_[block.begin]) return false;
            made += block.made.has_value();
        }
        bool others = false;
        for (std::size_t i = 0; i < gone_.size(); ++i)
            if (const Call* const call = call_at(i); call && !gone_[i])
                for_each_value(*call, [&](Number value) { others = others || value == mask_; });
        return made == given_.size() && !others;
    }

    Call call_of_function(const Block& block) {
        Call call;
        call.function = kCausalMask;
        Argument window;
        if (block.window) {
            window.kind = Kind::integer;
            window.integer = *block.window;
        }
        call.arguments = {value(mask_), window};
        Result result;
        result.dtype.of = DTypeName::Of::name;
        result.dtype.dtype = DType::boolean;
        result.value = block.made ? *block.made : program_.values++;
        result.sizes.resize(4);  // as many places as a cache of such layers has
        call.results = {std::move(result)};
        return call;
    }

    void replace() {
        std::set<Number> forgotten;
        std::vector<Instruction> kept;
        std::vector<Call> calls;
        calls.reserve(begins_.size());
        for (const Block& block : begins_) calls.push_back(call_of_function(block));
        for (std::size_t i = 0; i < gone_.size(); ++i) {
            for (std::size_t b = 0; b < begins_.size(); ++b)
                if (begins_[b].begin == i) kept.emplace_back(std::move(calls[b]));
            if (!gone_[i]) {
                const auto* condition = std::get_if<If>(&code()[i]);
                if (!condition || !is_of_masks(*condition)) kept.push_back(std::move(code()[i]));
                continue;
            }
            for (const Result& result : call_at(i)->results)
                if (result.value && !given_.contains(*result.value)) forgotten.insert(*result.value);
        }
        for (const Number number : forgotten) forget(kept, number);
        std::erase_if(kept, is_empty);
        code() = std::move(kept);
    }

    static bool is_of_masks(const If& condition) {
        return condition.condition.text == "S == 1" || condition.condition.text.starts_with("S >= ");
    }

    Program& program_;
    const Document& document_;
    Number mask_;
    std::vector<bool> gone_;
    std::vector<Block> begins_;
    std::set<Number> given_;
};

}  // namespace

bool makes_masks(const Program& program) {
    const std::optional<Number> mask = mask_of_rows(program);
    return mask && std::any_of(program.code.begin(), program.code.end(), [&](const Instruction& one) {
               const auto* call = std::get_if<Call>(&one);
               bool takes = false;
               if (call) for_each_value(*call, [&](Number value) { takes = takes || value == *mask; });
               return takes;
           });
}

bool name_masks(Program& program, const Document& document) {
    const std::optional<Number> mask = mask_of_rows(program);
    return mask && NamedMasks(program, document, *mask).run();
}

}  // namespace vramfit::network
