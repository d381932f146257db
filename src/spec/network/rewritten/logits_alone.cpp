// The loss goes from the programs of the network with its head, and hidden_states[:, slice_indices, :] gets a size.
#include "spec/network/rewritten/logits_alone.hpp"

#include <algorithm>
#include <utility>

#include "spec/network/rewritten/calls.hpp"

namespace vramfit::network {

namespace {

bool is_of_loss(const Instruction& instruction) {
    const auto* call = std::get_if<Call>(&instruction);
    const auto* run = std::get_if<network::Run>(&instruction);
    return (call && call->flags.loss) || (run && run->flags.loss);
}

std::vector<Number> made_by(const Instruction& instruction) {
    if (const auto* run = std::get_if<network::Run>(&instruction)) return run->results;
    std::vector<Number> out;
    if (const auto* call = std::get_if<Call>(&instruction))
        for (const Result& result : call->results)
            if (result.value) out.push_back(*result.value);
    return out;
}

void drop_loss(Program& program) {
    std::vector<Number> gone;
    for (const Instruction& instruction : program.code)
        if (is_of_loss(instruction))
            for (const Number made : made_by(instruction)) gone.push_back(made);
    std::erase_if(program.code, is_of_loss);
    for (const Number number : gone) forget(program.code, number);
    std::erase_if(program.code, is_empty);
    std::erase_if(program.outputs, [](const Output& output) { return output.name == "loss"; });
    // Modules that these go to without being used are given nothing.
    std::erase_if(program.inputs,
                  [](const Input& input) { return input.name == "labels" || input.name == "num_items_in_batch"; });
}

bool is_size(const Argument& argument, std::int64_t size) {
    return argument.is(Argument::Kind::integer) && argument.integer == size;
}

bool is_slice_from(const Argument& argument, bool from_zero) {
    return argument.is(Argument::Kind::slice) &&
           (argument.items[0].is(Argument::Kind::none) || (from_zero && is_size(argument.items[0], 0))) &&
           argument.items[1].is(Argument::Kind::none) && argument.items[2].is(Argument::Kind::none);
}

/// hidden_states[:, slice(-logits_to_keep, None), :], which 0 makes the whole row: where its tokens are said.
Argument* kept_tokens(Instruction& instruction) {
    auto* call = std::get_if<Call>(&instruction);
    if (!call || call->function != "torch.Tensor.__getitem__" || call->arguments.size() != 2) return nullptr;
    std::vector<Argument>& items = call->arguments[1].items;
    const bool is_it = items.size() == 3 && is_slice_from(items[0], false) && is_slice_from(items[1], true) &&
                       !items[1].items[0].is(Argument::Kind::none) && is_slice_from(items[2], false);
    return is_it ? &items[1].items[0] : nullptr;
}

std::vector<Instruction>::iterator slice_of_head(Program& program) {
    return std::find_if(program.code.begin(), program.code.end(),
                        [](Instruction& one) { return kept_tokens(one) != nullptr; });
}

void count_kept(Argument& argument) { count_instead_of_length(argument, FormulaStep::Kind::kept); }

void count_kept(Call& call) {
    for (Argument& argument : call.arguments) count_kept(argument);
    for (auto& [name, argument] : call.named) count_kept(argument);
    for (Result& result : call.results)
        for (Argument& size : result.sizes) count_kept(size);
}

/// From the slice on, sizes are of the tokens that are kept.
void keep_last(Program& program) {
    const auto begin = slice_of_head(program);
    if (begin == program.code.end()) return;
    Argument& first = *kept_tokens(*begin);
    first.kind = Argument::Kind::formula;
    first.formula.steps = {{FormulaStep::Kind::kept}, {FormulaStep::Kind::negate}};
    for (auto it = begin; it != program.code.end(); ++it)
        if (auto* call = std::get_if<Call>(&*it)) count_kept(*call);
}

}  // namespace

Document with_logits_alone(const Document& recording) {
    Document document = recording;
    for (const Variant& asked : recording.variants) {
        if (!asked.labels) continue;
        Program program = recording.programs[asked.program];
        drop_loss(program);
        keep_last(program);
        Variant& variant = document.variants.emplace_back(asked);
        variant.labels = variant.items = false;
        variant.program = add(document, std::move(program));
    }
    return document;
}

}  // namespace vramfit::network
