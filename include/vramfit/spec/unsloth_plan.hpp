// What FastLanguageModel and its trainer are told, and what Unsloth decides by the memory that is free.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace vramfit {

/// FastLanguageModel.get_peft_model's `use_gradient_checkpointing`.
enum class UnslothCheckpointing : std::uint8_t {
    offloaded,  ///< "unsloth": inputs of layers wait in host memory
    plain       ///< True: on the GPU
};

/// What Unsloth decides by the memory that is free while it runs; as set here: on a card with plenty.
struct UnslothOnCard {
    static constexpr std::int64_t kMostOfLoss = std::int64_t{4} << 30;

    bool embedding_leaves_at_load = false;
    bool embedding_leaves_with_adapters = false;
    std::int64_t loss_bytes = kMostOfLoss;  ///< that parts of the loss are cut to
    bool second_buffer = true;              ///< of the inputs that come back from host memory

    friend bool operator==(const UnslothOnCard&, const UnslothOnCard&) = default;
};

/// Modules that Unsloth trains whole beside adapters.
inline constexpr std::string_view kEmbeddingName = "embed_tokens", kHeadName = "lm_head";
constexpr bool is_end_of_network(std::string_view module) { return module == kEmbeddingName || module == kHeadName; }

/// Which of both ends of the network are trained whole beside adapters (`modules_to_save`).
struct TrainedEnds {
    bool embedding = false, head = false;
    bool tied = false;  ///< one matrix, trained as one
};

/// What FastLanguageModel is told, beside the weights' type and quantization.
struct UnslothPlan {
    static constexpr std::int64_t kFewestOffloaded = 512;  ///< of max_seq_length: below, "unsloth" is True

    UnslothCheckpointing checkpointing = UnslothCheckpointing::offloaded;
    std::optional<std::int64_t> max_seq_length;  ///< absent: the rows' length
    bool packed_checkpoint = false;              ///< its weights may come in 4 bits already
    bool padding_free = true;                    ///< rows are put together to one; else they are padded
    bool packing = false;                        ///< rows of several samples each; how long those are is not known
    bool layers_unknown = false;                 ///< which layers the packed checkpoint has in 16 bits is not known
    /// In 16 bits although the others are in 4; empty: as the checkpoint has it.
    std::vector<std::string> skip_modules;
    std::optional<double> embedding_learning_rate;  ///< of trained ends, which the optimizer then takes last
    UnslothOnCard on_card;                          ///< nobody's choice: predicted

    friend bool operator==(const UnslothPlan&, const UnslothPlan&) = default;
};

}  // namespace vramfit
