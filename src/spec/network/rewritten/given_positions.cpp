// transformers 5.17.0 modeling_*.py: position_ids of a forward pass, and what rotary embeddings make of them. Counted
// ones have one row, given ones a row for each of the batch, and so has all that is made of them alone.
#include "spec/network/rewritten/given_positions.hpp"

#include <algorithm>
#include <functional>
#include <optional>

#include <fmt/format.h>

#include "spec/listed.hpp"
#include "spec/network/rewritten/calls.hpp"
#include "vramfit/base/error.hpp"

namespace vramfit::network {

namespace {

using Kind = Argument::Kind;

/// What a value was made of.
enum class From : std::uint8_t { numbers, parameters, positions, others };

Argument formula(std::string_view text) {
    Argument out;
    out.kind = Kind::formula;
    out.formula = *parse_formula(text);
    return out;
}

bool is_one(const Argument& argument) { return argument.is(Kind::integer) && argument.integer == 1; }

bool is_length(const Argument& argument) {
    return argument.is(Kind::formula) && argument.formula.steps.size() == 1 &&
           argument.formula.steps[0].kind == FormulaStep::Kind::length;
}

void give_rows(std::vector<Argument>& sizes) {
    if (!sizes.empty() && is_one(sizes[0])) sizes[0] = formula("B");
}

/// Sizes that the call itself names behind the tensor.
void give_rows(Call& call) {
    constexpr std::string_view kNamesSizes[] = {"torch.Tensor.expand", "torch.Tensor.view", "torch.Tensor.reshape"};
    if (!is_listed(kNamesSizes, call.function) || call.arguments.size() < 2) return;
    Argument& first = call.arguments[1];
    if (is_one(first)) first = formula("B");
    if (first.is(Kind::list)) give_rows(first.items);
}

/// position_ids = torch.arange(S) + past_seen_tokens, then a dimension for rows.
std::optional<Number> counted_positions(const Program& program) {
    std::vector<Number> counts;
    for (const Instruction& instruction : program.code) {
        if (const Call* count = call_of(instruction, "torch.arange");
            count && count->arguments.size() == 1 && is_length(count->arguments[0]))
            counts.push_back(made_by(*count));
        const auto is_count = [&](const Argument& argument) {
            return argument.is(Kind::value) && std::find(counts.begin(), counts.end(), argument.value) != counts.end();
        };
        if (const Call* sum = call_of(instruction, "torch.Tensor.add");
            sum && sum->arguments.size() == 2 && is_count(sum->arguments[0]) && sum->arguments[1].is(Kind::integer))
            counts.push_back(made_by(*sum));
        if (const Call* rows = call_of(instruction, "torch.Tensor.unsqueeze");
            rows && rows->arguments.size() == 2 && is_count(rows->arguments[0]) &&
            rows->arguments[1].is(Kind::integer) && rows->arguments[1].integer == 0)
            return made_by(*rows);
    }
    return std::nullopt;
}

/// OPT's position_ids, which are counted in the mask of rows: what modules are given by that name.
std::optional<Number> named_positions(const Program& program, const Document& document) {
    for (const Instruction& instruction : program.code) {
        const Run* const run = module_run(instruction);
        if (!run) continue;
        const std::vector<Number> places = document.programs[run->program].given();
        for (std::size_t i = 0; i < places.size(); ++i) {
            if (document.programs[run->program].name_of(places[i]) != "position_ids") continue;
            const bool is_made = std::any_of(program.code.begin(), program.code.end(), [&](const Instruction& one) {
                const auto* call = std::get_if<Call>(&one);
                return call && call->results.size() == 1 && call->results[0].value == run->given[i];
            });
            if (is_made) return run->given[i];
        }
    }
    return std::nullopt;
}

/// The value is an input from here on: what it was made of is not made.
void make_input(Program& program, Number positions) {
    std::optional<Number> made = positions;
    while (made) {
        const auto maker = std::find_if(program.code.begin(), program.code.end(), [&](const Instruction& one) {
            const auto* call = std::get_if<Call>(&one);
            return call && call->results.size() == 1 && call->results[0].value == made;
        });
        if (maker == program.code.end()) return;  // it is given: the mask of rows
        const Argument& argument = std::get<Call>(*maker).arguments[0];
        const std::optional<Number> next = argument.is(Kind::value) ? std::optional(argument.value) : std::nullopt;
        program.code.erase(maker);
        forget(program.code, *made);
        made = next;
    }
}

Input positions_input(Number number) {
    Input input;
    input.name = "position_ids";
    input.what.value = number;
    input.what.dtype.of = DTypeName::Of::name;
    input.what.dtype.dtype = DType::int64;
    input.what.sizes = {formula("B"), formula("S")};
    return input;
}

/// What the values among a call's arguments were made of, all together.
From sources_of(const Call& call, const std::vector<From>& values) {
    From most = From::numbers;
    const std::function<void(const Argument&)> look = [&](const Argument& argument) {
        const From from = argument.is(Kind::value)       ? values[argument.value]
                          : argument.is(Kind::parameter) ? From::parameters
                          : argument.is(Kind::rounds)    ? From::others
                                                         : From::numbers;
        most = std::max(most, from);
        for (const Argument& item : argument.items) look(item);
    };
    for (const Argument& argument : call.arguments) look(argument);
    for (const auto& [name, argument] : call.named) look(argument);
    return most;
}

}  // namespace

const GivenPositions::Made& GivenPositions::with_rows(Number number, const std::vector<Number>& inputs) {
    const auto key = std::pair(number, inputs);
    if (const auto found = made_.find(key); found != made_.end()) return found->second;
    Program program = document_.programs[number];
    std::vector<From> from(program.values, From::others);
    for (const Number input : inputs) from[input] = From::positions;
    for (Input& input : program.inputs)
        if (input.what.value && from[*input.what.value] == From::positions) give_rows(input.what.sizes);
    const auto refuse = [&](std::string_view what) {
        throw Error(ErrorKind::unsupported, document_.file,
                    fmt::format("{} {} the positions of tokens, which is not supported where they are given",
                                program.class_name, what),
                    without_);
    };
    for (Instruction& instruction : program.code) {
        if (auto* call = std::get_if<Call>(&instruction)) {
            From sources = sources_of(*call, from);
            // inv_freq[None, :, None].expand(position_ids.shape[0], -1, 1)
            const bool for_rows = sources == From::parameters && call->function == "torch.Tensor.expand" &&
                                  call->arguments.size() > 1 && is_one(call->arguments[1]);
            if (for_rows) sources = From::positions;
            if (sources == From::positions && call->flags.reads) refuse("reads");
            if (sources == From::positions) give_rows(*call);
            for (Result& result : call->results) {
                if (sources == From::positions) give_rows(result.sizes);
                if (result.value) from[*result.value] = sources;
            }
        } else if (auto* run = std::get_if<Run>(&instruction)) {
            std::vector<Number> marked;
            const std::vector<Number> given = document_.programs[run->program].given();
            for (std::size_t i = 0; i < run->given.size(); ++i)
                if (from[run->given[i]] == From::positions) marked.push_back(given[i]);
            if (marked.empty()) continue;
            const Made& inner = with_rows(run->program, marked);
            run->program = inner.program;
            for (std::size_t i = 0; i < run->results.size(); ++i)
                if (inner.left[i]) from[run->results[i]] = From::positions;
        } else if (std::holds_alternative<Repeat>(instruction)) {
            refuse("loops over what may be made of");
        }
    }
    Made made;
    for (const Number left : program.left()) made.left.push_back(from[left] == From::positions);
    made.program = add(document_, std::move(program));
    return made_.emplace(key, std::move(made)).first->second;
}

std::optional<Number> GivenPositions::in(Number number) {
    Program program = document_.programs[number];
    std::optional<Number> counted = counted_positions(program);
    if (!counted && from_masks_) counted = named_positions(program, document_);
    if (counted) {
        make_input(program, *counted);
        program.inputs.push_back(positions_input(*counted));
        return with_rows(add(document_, std::move(program)), {*counted}).program;
    }
    for (Instruction& instruction : program.code) {
        if (!module_run(instruction)) continue;
        auto* const run = &std::get<Run>(instruction);
        const std::optional<Number> inner = in(run->program);
        if (!inner) continue;
        run->program = *inner;
        run->given.push_back(program.values);
        program.inputs.push_back(positions_input(program.values++));
        return add(document_, std::move(program));
    }
    return std::nullopt;
}

}  // namespace vramfit::network
