// The recording that goes with a stack: of the release of transformers that it has.
#include "spec/network/release.hpp"

#include <algorithm>
#include <string>

#include <fmt/format.h>

#include "spec/json_parse.hpp"
#include "spec/listed.hpp"
#include "vramfit/spec/config.hpp"
#include "vramfit/spec/stacks.hpp"

namespace vramfit {

namespace network {

namespace {

/// Whether both are of one release or of patches of it.
bool is_of_line(std::string_view release, const Version& transformers) {
    const auto version = version_from(release);
    return version && version->major == transformers.major && version->minor == transformers.minor;
}

/// Decoders that 5.23 gives a causal mask where rows have no padding either, and 5.17 none (modeling_rembert.py and
/// others: create_bidirectional_mask, whatever is_decoder says).
constexpr std::string_view kMaskedSince[] = {"big_bird", "megatron-bert", "rembert", "roformer"};

/// The named stack that has this release, for a hint; empty: none.
std::string stack_with(const Version& transformers) {
    const auto& stacks = named_stacks();
    const auto found = std::find_if(stacks.begin(), stacks.end(),
                                    [&](const Stack& stack) { return stack.transformers == transformers; });
    return found == stacks.end() ? std::string() : fmt::format(" ({})", found->name);
}

}  // namespace

const TypeRecording* recording_under(const BuiltInType& type, const Version& transformers) {
    for (const TypeRecording& other : type.other_releases)
        if (is_of_line(other.facts.transformers, transformers)) return &other;
    const auto is_before = [&](const TypeRecording& one) {
        return version_from(one.facts.transformers) < transformers;
    };
    if (is_of_line(type.facts.transformers, transformers)) return &type;
    if (!is_before(type)) return nullptr;
    const TypeRecording* newest = &type;
    for (const TypeRecording& other : type.other_releases)
        if (is_before(other) && version_from(newest->facts.transformers) < version_from(other.facts.transformers))
            newest = &other;
    return newest;
}

bool is_of_release(const Document& recording, const Version& transformers) {
    const auto is_same = [&](const std::string& release) { return is_of_line(release, transformers); };
    return is_same(recording.transformers) ||
           std::any_of(recording.same_releases.begin(), recording.same_releases.end(), is_same);
}

void check_release(const Document& recording, const Stack& stack, Problems& problems, Notes& notes) {
    const auto recorded = version_from(recording.transformers);
    if (!recorded) {
        problems.invalid("model",
                         fmt::format("'{}' is no release of transformers (recorded_with)", recording.transformers),
                         "record the network again (tools/record)");
        return;
    }
    const Version& asked = stack.transformers;
    if (is_of_release(recording, asked)) return;
    if (asked < *recorded || asked.major != recorded->major) {
        problems.unsupported(
            "model",
            fmt::format("recorded with transformers {}, asked about {}", recording.transformers, text_of(asked)),
            fmt::format("choose a stack with transformers {}{}, or record the network with {}", recording.transformers,
                        stack_with(*recorded), text_of(asked)));
        return;
    }
    if (is_listed(kMaskedSince, recording.model_type))
        return problems.unsupported(
            "model",
            fmt::format("newer transformers than {} make a mask that was not recorded", recording.transformers),
            fmt::format("choose a stack with transformers {}{}", recording.transformers, stack_with(*recorded)));
    notes.push_back({NoteKind::version_out_of_range,
                     fmt::format("the network was recorded with transformers {}, the stack has {}",
                                 recording.transformers, text_of(asked)),
                     fmt::format("record it again with transformers {}", text_of(asked))});
}

}  // namespace network

namespace {

ModelSpec with_recording_of(const Stack& stack, const ModelSpec& model) {
    if (!model.recording || !model.recording->of_type) return model;
    const network::Document& recording = *model.recording;
    if (network::is_of_release(recording, stack.transformers)) return model;
    Problems problems(recording.file);
    const JsonValue config = parse_json(recording.given, problems);
    problems.throw_if_any();
    const network::BuiltInType* type = network::built_in_type_of(config);
    const network::TypeRecording* own = type ? network::recording_under(*type, stack.transformers) : nullptr;
    if (!own || own->facts.transformers == recording.transformers) return model;
    ModelSpec out = network::model_of(*own, config, "", recording.file, model.name);
    out.is_text_part = model.is_text_part;
    out.whole_config = model.whole_config;
    return out;
}

}  // namespace

ModelSpec under_release(const ModelSpec& model, const Stack& stack) {
    ModelSpec out = with_recording_of(stack, model);
    out.adapters_reach_experts = stack.adapters_reach_experts();
    return out;
}

}  // namespace vramfit
