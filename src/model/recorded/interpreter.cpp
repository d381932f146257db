// Which program answers a question, and the network as a whole.
#include "model/recorded/interpreter.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "model/recorded/frame.hpp"
#include "model/recorded/sizes.hpp"
#include "vramfit/base/error.hpp"

namespace vramfit::model {

using namespace engine;

namespace {

bool answers(const network::Variant& variant, const RecordedQuestion& question, DType weights, bool autocast) {
    if (variant.attention != question.attention || variant.mask != question.mask ||
        variant.use_cache != question.generates || variant.generates != question.generates ||
        variant.labels != question.labels || variant.items != question.items ||
        variant.checkpointing != question.checkpointing)
        return false;
    if (!variant.weights.empty() && (variant.weights == "16 bit") != is_half(weights)) return false;
    if (variant.autocast && *variant.autocast != autocast) return false;
    if (variant.sizes && !recorded::holds(*variant.sizes, {question.batch, question.length, question.length}))
        return false;
    return !variant.one_row || question.batch == 1;
}

}  // namespace

const network::Variant& variant_for(const RecordedModel& model, const RecordedQuestion& question, DType weights,
                                    bool autocast) {
    const network::Document& document = model.document();
    const auto found = std::find_if(document.variants.begin(), document.variants.end(),
                                    [&](const network::Variant& v) { return answers(v, question, weights, autocast); });
    const std::string asked =
        fmt::format("attention {}, mask {}, {}labels, {}checkpointing{}", question.attention, question.mask,
                    question.labels ? "" : "no ", question.checkpointing ? "" : "no ",
                    question.items ? ", num_items_in_batch" : "");
    if (found == document.variants.end())
        throw Error(ErrorKind::unsupported, document.file, fmt::format("no recorded variant has {}", asked),
                    "record the network with --variants all");
    if (found->only || found->not_fitted > 0)
        throw Error(ErrorKind::unsupported, document.file,
                    fmt::format("the variant with {} was not recorded for all sizes", asked),
                    "its calls depend on sizes in a way that no formula says");
    return *found;
}

std::vector<NamedTensor> named_outputs(const network::Program& program, const std::vector<Tensor>& results) {
    std::vector<NamedTensor> outputs;
    const std::vector<network::Number> left = program.left();
    for (const network::Output& output : program.outputs)
        for (std::size_t i = 0; i < left.size(); ++i)
            if (output.value == left[i]) outputs.push_back({output.name, results[i]});
    return outputs;
}

const NamedTensor* named(const std::vector<NamedTensor>& all, std::string_view name) {
    const auto found = std::find_if(all.begin(), all.end(), [&](const NamedTensor& n) { return n.name == name; });
    return found == all.end() || !found->tensor.defined() ? nullptr : &*found;
}

namespace {

/// The call of a module, in what has the head.
const network::Run* call_of(const network::Program& program, std::string_view path) {
    for (const network::Instruction& instruction : program.code)
        if (const auto* run = std::get_if<network::Run>(&instruction);
            run && run->kind == network::Run::Kind::module && run->path == path)
            return run;
    return nullptr;
}

/// Whether the network without its head gives what it is given to its decoder, which the network with its head calls
/// itself (5.17.0 modeling_bart.py BartDecoderWrapper, modeling_opt.py OPTModel).
bool hands_on(const RecordedModel& model) {
    if (model.base().empty()) return false;
    const std::string& base = model.module(model.find(0, model.base())).kind->class_name;
    return base.ends_with("DecoderWrapper") || base == "OPTModel";
}

}  // namespace

Tensor run_recorded_base(const Run& run, const Network& network, const RecordedModel& model,
                         const network::Variant& variant, DType weights, const std::vector<NamedTensor>& given,
                         const RecordedWindows& windows) {
    const network::Document& document = model.document();
    const network::Program& whole = document.programs[variant.program];
    const network::Run* call = model.base().empty() ? nullptr : call_of(whole, model.base());
    if (!call && hands_on(model)) call = call_of(whole, model.base() + ".decoder");
    const auto refuse = [&](std::string what) {
        throw Error(ErrorKind::unsupported, document.file, std::move(what),
                    "\"trainer\" is transformers' own loop, which runs the whole network");
    };
    if (!call) refuse("trl's loss calls the network without its head, which was not recorded as a module");
    std::vector<Tensor> arguments;
    for (const network::Number value : call->given) {
        const std::string_view name = whole.name_of(value);
        const NamedTensor* found = named(given, name);
        // The number of labels goes to the loss only, and through the network in **kwargs; labels are an argument of
        // networks with towers that they do not use (5.17.0 modeling_gemma3.py Gemma3Model.forward).
        if (!found && name != "num_items_in_batch" && name != "labels")
            refuse(fmt::format("the network without its head is given '{}', which trl does not give", name));
        arguments.push_back(found ? found->tensor : Tensor());
    }
    const Tensor& ids = arguments.at(0);
    const auto pass = std::make_shared<RecordedPass>(
        RecordedPass{run, network, model, windows, {ids.size(0), ids.size(1), ids.size(1)}, weights});
    std::vector<Tensor> results =
        RecordedFrame(pass, variant.program, 0, false).called_child(*call, std::move(arguments));
    const auto outputs = named_outputs(document.programs[call->program], results);
    const NamedTensor* hidden = named(outputs, "last_hidden_state");
    if (!hidden) refuse("the network without its head gives no last_hidden_state");
    for (const NamedTensor& other : outputs)
        if (other.tensor.defined() && other.tensor != hidden->tensor)
            refuse(
                fmt::format("the network without its head gives {} beside the last hidden state, which trl's loss "
                            "keeps in a way that was not compared",
                            other.name));
    // trl 1.16.0 trainer/utils.py _ChunkedLogProbFunction: a product with the head's weight, whatever stands before it.
    if (hidden->tensor.size(2).value() != network.head.in.value())
        refuse(fmt::format("trl's loss stops: it gives the head {} numbers of each token, of which it takes {}",
                           hidden->tensor.size(2).value(), network.head.in.value()));
    if (!pass->units_are_over && !network.ends_with_layers) {
        windows.head(hidden->tensor);
        run.session.begin_loss();
    }
    return hidden->tensor;
}

const network::Variant& variant_for_base(const RecordedModel& model, RecordedQuestion question, DType weights,
                                         bool autocast) {
    for (const bool labels : {true, false})
        for (const bool items : {true, false}) {
            question.labels = labels;
            question.items = items;
            for (const network::Variant& v : model.document().variants)
                if (answers(v, question, weights, autocast)) return variant_for(model, question, weights, autocast);
        }
    question.labels = question.items = true;
    return variant_for(model, question, weights, autocast);
}

namespace {

/// What the whole network's program is given, in its order; `absent`: some of it may be None.
std::vector<Tensor> arguments_of(const network::Program& program, const network::Document& document,
                                 const std::vector<NamedTensor>& given, bool absent = false) {
    std::vector<Tensor> arguments;
    for (const network::Number place : program.given()) {
        const std::string_view name = program.name_of(place);
        const auto found =
            std::find_if(given.begin(), given.end(), [&](const NamedTensor& n) { return n.name == name; });
        if (found == given.end() || (!absent && !found->tensor.defined()))
            throw Error(ErrorKind::unsupported, document.file,
                        fmt::format("the network is given '{}', which no loop has", name), "record another variant");
        arguments.push_back(found->tensor);
    }
    return arguments;
}

}  // namespace

std::vector<NamedTensor> run_recorded(const Run& run, const Network& network, const RecordedModel& model,
                                      const network::Variant& variant, DType weights,
                                      const std::vector<NamedTensor>& given, const RecordedWindows& windows,
                                      std::optional<Size> logits_to_keep) {
    const network::Program& program = model.document().programs[variant.program];
    std::vector<Tensor> arguments = arguments_of(program, model.document(), given);
    const Tensor& ids = arguments.at(0);
    const Size kept = logits_to_keep.value_or(ids.size(1));
    const auto pass = std::make_shared<RecordedPass>(
        RecordedPass{run, network, model, windows, {ids.size(0), ids.size(1), kept}, weights});
    std::vector<Tensor> results = RecordedFrame(pass, variant.program, 0, false).call(std::move(arguments));
    return named_outputs(program, results);
}

Tensor run_generating(const Run& run, const Network& network, const RecordedModel& model, const Batch& batch,
                      const KvCachePointer& cache, DType weights, const RecordedWindows& windows) {
    const Tensor& ids = batch.input_ids;
    const Size seen = ids.size(1) + (cache ? cache->tokens() : Size(0));
    const RecordedQuestion question{"sdpa", *batch.padded ? "padded" : "full", ids.size(0), seen, false, false, false,
                                    true};
    const network::Variant& variant = variant_for(model, question, weights, run.session.autocast.enabled);
    const network::Program& program = model.document().programs[variant.program];
    std::vector<Tensor> arguments = arguments_of(program, model.document(),
                                                 {{"input_ids", ids},
                                                  {"attention_mask", batch.attention_mask},
                                                  {"position_ids", batch.position_ids},
                                                  {"labels", {}},
                                                  {"num_items_in_batch", {}}},
                                                 true);
    const auto pass = std::make_shared<RecordedPass>(
        RecordedPass{run, network, model, windows, {ids.size(0), ids.size(1), 1}, weights});
    pass->cache.emplace(recorded::RecordedCache{cache, batch, model.document(), &pass->symbols.keys});
    std::vector<Tensor> results = RecordedFrame(pass, variant.program, 0, false).call(std::move(arguments));
    if (cache) cache->add_tokens(ids.size(1));
    return named(named_outputs(program, results), "logits")->tensor;
}

}  // namespace vramfit::model
