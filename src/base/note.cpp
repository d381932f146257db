// The identifiers of notes in JSON.
#include "vramfit/base/note.hpp"

namespace vramfit {

const char* name_of(NoteKind kind) {
    switch (kind) {
        case NoteKind::sequence_beyond_model: return "sequence_beyond_model";
        case NoteKind::version_out_of_range: return "version_out_of_range";
        case NoteKind::version_unknown: return "version_unknown";
        case NoteKind::assumed_context: return "assumed_context";
        case NoteKind::assumed_communicator: return "assumed_communicator";
        case NoteKind::assumed_card: return "assumed_card";
        case NoteKind::marketed_size: return "marketed_size";
        case NoteKind::flags_before_job: return "flags_before_job";
        case NoteKind::text_part_only: return "text_part_only";
        case NoteKind::load_order_varies: return "load_order_varies";
        case NoteKind::workspace_not_modelled: return "workspace_not_modelled";
        case NoteKind::without_effect: return "without_effect";
        case NoteKind::experts_not_quantized: return "experts_not_quantized";
        case NoteKind::recorded_network: return "recorded_network";
        case NoteKind::rows_alike: return "rows_alike";
        case NoteKind::vllm_share: return "vllm_share";
        case NoteKind::upper_bound: return "upper_bound";
    }
    return "unknown";
}

}  // namespace vramfit
