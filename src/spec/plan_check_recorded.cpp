// What recorded networks were not compared with, and releases of transformers that do not go with a recording.
#include <fmt/format.h>

#include "spec/network/model.hpp"
#include "spec/plan_check_parts.hpp"

namespace vramfit {

namespace {

/// The Python that was recorded is that of its release: an older one, or one of another major version, has other code.
void check_recorded_release(const network::Document& recording, const Stack& stack, Problems& problems, Notes& notes) {
    const auto recorded = version_from(recording.transformers);
    if (!recorded) {
        problems.invalid("model",
                         fmt::format("'{}' is no release of transformers (recorded_with)", recording.transformers),
                         "record the network again (tools/record)");
        return;
    }
    const Version& asked = stack.transformers;
    const auto line = [](const Version& v) { return Version{v.major, v.minor, 0}; };
    if (line(asked) == line(*recorded)) return;
    if (line(asked) < line(*recorded) || asked.major != recorded->major) {
        problems.unsupported(
            "model",
            fmt::format("recorded with transformers {}, asked about {}", recording.transformers, text_of(asked)),
            fmt::format("choose a stack with transformers {}, or record the network with {}", recording.transformers,
                        text_of(asked)));
        return;
    }
    notes.push_back({NoteKind::version_out_of_range,
                     fmt::format("the network was recorded with transformers {}, the stack has {}",
                                 recording.transformers, text_of(asked)),
                     fmt::format("record it again with transformers {}", text_of(asked))});
}

}  // namespace

void check_recording(const ModelSpec& model, const TrainPlan& plan, const Stack& stack, Problems& problems,
                     Notes& notes) {
    const network::Document& recording = *model.recording;
    check_recorded_release(recording, stack, problems, notes);
    notes.push_back({NoteKind::recorded_network,
                     recording.of_type
                         ? fmt::format("the network is made of the recording of its type ({}, transformers {})",
                                       recording.model_type, recording.transformers)
                         : fmt::format("the network is a recording of transformers {}, which was not compared with a "
                                       "trace",
                                       recording.transformers),
                     recording.of_type ? "vramfit models types says how far the type was checked"
                                       : "docs/howto/own-network.md says how far recordings were checked"});
    const auto refuse = [&](const char* where, std::string what, const char* hint) {
        problems.unsupported(where, fmt::format("{} was not compared with recorded networks yet", what), hint);
    };
    if (plan.distributed) refuse("distributed", "more than one process", "one GPU");
    if (plan.loop.kind == LoopKind::sft)
        refuse("loop.kind", "trl's SFTTrainer", "\"trainer\" is transformers' own, \"plain\" a loop of one's own");
    if (plan.load.resize_token_embeddings)
        refuse("load.resize_token_embeddings", "a vocabulary of another size", "record the network with that size");
    if (plan.training.use_liger_kernel) refuse("training.use_liger_kernel", "Liger's kernels", "leave it out");
    if (plan.training.cut_cross_entropy) refuse("training.cut_cross_entropy", "cut cross entropy", "leave it out");
    if (plan.load.attention == AttentionImplementation::flash_attention_2)
        refuse("load.attn_implementation", "flash_attention_2", "sdpa or eager, if the network has it");
    if (!recording.conversion.empty())
        problems.unsupported(
            "model",
            fmt::format("the loader converts the checkpoint of {}: {}", model.model_type, recording.conversion),
            "networks whose checkpoints have the network's own names can be asked about");
    const std::string own = network::module_of_its_own_kind(recording);
    if (!own.empty() && (plan.peft || plan.load.quantization))
        problems.unsupported(plan.peft ? "peft" : "load.quantization_config",
                             fmt::format("{} computes in its own way: adapters and quantized weights of such layers "
                                         "are not supported",
                                         own),
                             "full training");
}

}  // namespace vramfit
