// Notes: the closed list of things a user should know about an answer, each with its way out.
#pragma once

#include <string>
#include <vector>

namespace vramfit {

enum class NoteKind {
    sequence_beyond_model,   ///< longer than max_position_embeddings
    version_out_of_range,    ///< a library version outside of what was read
    version_unknown,         ///< "unknown" in a job file: nearest named stack taken
    assumed_context,         ///< no measured CUDA context for this card
    assumed_card,            ///< no card given: capability and multiprocessors of the default card
    marketed_size,           ///< a size was given, not a card: what CUDA reports may be less
    flags_before_job,        ///< flags went before what the job file says
    text_part_only,          ///< of a model of text and images only the text part is predicted
    load_order_varies,       ///< threads of the loader race: how high `load` goes is not settled
    assumed_communicator,    ///< what NCCL takes beside the allocator is not measured for this machine
    workspace_not_modelled,  ///< a library's scratch that is not in the table
    without_effect,          ///< an option that changes nothing for this network
    experts_not_quantized,   ///< quantizing a mixture leaves its experts as they are
    recorded_network,        ///< the network is a recording: how far it was checked
    rows_alike,              ///< rows that differ in length are padded, which may take more
    upper_bound,             ///< what was asked about takes less than what is predicted
    vllm_share,              ///< vLLM in the trainer's process: what is kept free for it
};

struct Note {
    NoteKind kind;
    std::string text;  ///< what was assumed or noticed
    std::string hint;  ///< how to remove the note
};

using Notes = std::vector<Note>;

/// For those who look at every kind.
inline constexpr NoteKind kLastNoteKind = NoteKind::vllm_share;

/// The identifier in JSON: "sequence_beyond_model".
const char* name_of(NoteKind kind);

}  // namespace vramfit
