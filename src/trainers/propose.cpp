// What could be changed in a trainer's file so that the run needs less, cheapest first.
#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "spec/liger.hpp"
#include "trainers/settle.hpp"

namespace vramfit::trainers {

namespace {

// Shorter rows are hardly worth training on, smaller adapters hardly worth having.
constexpr std::int64_t kShortest = 128;
constexpr std::int64_t kLowestRank = 8;

std::string_view before(std::string_view text, char sign) { return text.substr(0, text.find(sign)); }

/// What divides a number and is less, the largest first.
std::vector<std::int64_t> divisors_below(std::int64_t number) {
    std::vector<std::int64_t> out;
    for (std::int64_t low = 1; low <= number / low; ++low)
        if (number % low == 0) out.insert(out.end(), {low, number / low});
    std::sort(out.begin(), out.end(), std::greater<>());
    out.erase(std::unique(out.begin(), out.end()), out.end());
    std::erase(out, number);
    return out;
}

/// Proposals in the words of one file.
class Proposer {
  public:
    Proposer(const TrainerKnobs& knobs, const Reading& reading) : knobs_(knobs), reading_(reading) {}

    std::vector<Proposal> all() {
        accumulation();
        checkpointing();
        attention();
        kernels();
        optimizer();
        packing();
        quantization();
        length();
        rank();
        adapters();
        return std::move(out_);
    }

  private:
    const TrainPlan& plan() const { return reading_.job.plan; }

    const Input* input(std::string_view key) const {
        for (const Input& each : reading_.inputs)
            if (each.key == key) return &each;
        return nullptr;
    }
    bool in_file(std::string_view key) const {
        const Input* found = input(key);
        return found && found->source == InputSource::file;
    }

    /// Of "one|other" what the file has, else the one in a call that the file has, else the last.
    std::string key_of(std::string_view names) const {
        std::string_view chosen;
        for (int pass = 0; pass < 2; ++pass) {
            for (std::string_view rest = names; !rest.empty();) {
                const std::string_view name = before(rest, '|');
                rest.remove_prefix(std::min(rest.size(), name.size() + 1));
                if (rest.empty()) chosen = name;
                const bool has_call = std::any_of(reading_.inputs.begin(), reading_.inputs.end(), [&](const Input& i) {
                    return i.source == InputSource::file && name.find('.') != name.npos &&
                           before(i.key, '.') == before(name, '.');
                });
                if (pass == 0 ? in_file(name) : has_call) return std::string(name);
            }
        }
        return std::string(chosen);
    }

    /// A list goes behind what the file's own list has.
    std::string value_of(const std::string& key, std::string_view value) const {
        const Input* found = value.starts_with('[') ? input(key) : nullptr;
        if (!found || !found->value.starts_with('[') || found->value == "[]") return std::string(value);
        return fmt::format("{}, {}", std::string_view(found->value).substr(0, found->value.size() - 1),
                           value.substr(1));
    }

    /// "KEY=VALUE KEY=VALUE" as edits; without a value the key is taken out.
    std::vector<TrainerEdit> edits_of(std::string_view text) const {
        std::vector<TrainerEdit> edits;
        while (!text.empty()) {
            const std::string_view word = before(text, ' ');
            const std::size_t equals = word.find('=');
            std::string key = key_of(word.substr(0, equals));
            std::string value = value_of(key, word.substr(equals + 1));
            edits.push_back({std::move(key), std::move(value)});
            text.remove_prefix(std::min(text.size(), word.size() + 1));
        }
        return edits;
    }

    void add(const char* id, std::string title, std::vector<TrainerEdit> edits) {
        out_.push_back({id, std::move(title), std::move(edits)});
    }
    void add(const char* id, const char* title, const char* edits) {
        if (edits) add(id, std::string(title), edits_of(edits));
    }

    std::int64_t integer_at(const std::string& key, std::int64_t otherwise) const {
        const Input* found = input(key);
        const Value value = plain_scalar(found ? found->value : std::to_string(otherwise), {});
        return value.kind == Value::Kind::integer ? value.integer : otherwise;
    }

    /// The same rows in more and smaller pieces: nothing but time is lost.
    void accumulation() {
        if (!knobs_.batch) return;
        const std::string batch = key_of(knobs_.batch);
        const bool follows = knobs_.whole_batch && (!knobs_.accumulation || in_file(knobs_.whole_batch));
        if (!follows && !knobs_.accumulation) return;
        const std::string steps_key = follows ? std::string() : key_of(knobs_.accumulation);
        const std::int64_t rows = integer_at(batch, plan().training.per_device_train_batch_size);
        const std::int64_t steps = integer_at(steps_key, plan().training.gradient_accumulation_steps);
        for (const std::int64_t fewer : divisors_below(rows)) {
            const std::int64_t times = rows / fewer;
            std::vector<TrainerEdit> edits = {{batch, std::to_string(fewer)}};
            if (!follows) edits.push_back({steps_key, std::to_string(steps * times)});
            add("batch",
                fmt::format("{} sequence{} at a time and {} times the accumulation: the same training, slower", fewer,
                            fewer == 1 ? "" : "s", times),
                std::move(edits));
        }
    }

    void checkpointing() {
        const bool keeps_inputs =
            plan().loop.kind == LoopKind::unsloth && plan().unsloth.checkpointing == UnslothCheckpointing::plain;
        if (keeps_inputs)
            add("checkpointing", "inputs of layers wait in host memory: a little slower", knobs_.checkpointing);
        if (plan().loop.kind == LoopKind::unsloth) return;
        if (!plan().training.gradient_checkpointing)
            add("checkpointing", "activations are computed again in the backward pass: about a third slower",
                knobs_.checkpointing);
    }

    void attention() {
        const AttentionImplementation now = plan().load.attention;
        if (now == AttentionImplementation::eager)
            add("attention", "attention that does not keep its scores", knobs_.sdpa);
        if (now != AttentionImplementation::flash_attention_2 && reading_.bf16_card &&
            plan().load.dtype != DType::float32)
            add("attention", "FlashAttention 2 (package flash-attn)", knobs_.flash_attention);
    }

    void kernels() {
        const TrainingPlan& training = plan().training;
        if (!training.use_liger_kernel && !training.cut_cross_entropy && has_liger(reading_.job.model.model_type))
            add("liger", "Liger's kernels, with which the logits are never whole (package liger-kernel)", knobs_.liger);
        if (!plan().peft && !training.optimizer_in_backward && training.gradient_accumulation_steps == 1)
            add("in_backward", "each weight is updated in the backward pass: gradients are never there together",
                knobs_.optimizer_in_backward);
    }

    void optimizer() {
        const std::string& name = plan().training.optim;
        const bool small = name.find("paged") != name.npos || name == "sgd" || name == "adafactor";
        if (!small)
            add("optimizer", "optimizer states in 8 bits, paged to host memory where the GPU is full",
                knobs_.optimizer);
    }

    void packing() {
        if (reading_.rows.fixed) add("packing", "sequences as long as the data has them", knobs_.unpacked);
    }

    void quantization() {
        if (!plan().peft) return;
        const auto& quantization = plan().load.quantization;
        if (quantization && quantization->method != QuantMethod::int8) {
            if (!quantization->double_quant)
                add("double_quant", "the scales of the 4-bit base are quantized too", knobs_.double_quant);
            return;
        }
        if (!quantization && plan().load.dtype == DType::float32 && reading_.bf16_card)
            add("quantization", "the frozen base in bfloat16", knobs_.bfloat16);
        add("quantization", "the frozen base in 4 bits (QLoRA)", knobs_.quantize);
    }

    void length() {
        const RowLengths& rows = reading_.rows;
        const std::int64_t longest = rows.limit > 0 ? rows.limit : rows.taken;
        if (rows.limit_key.empty()) return;
        for (std::int64_t tokens = longest / 2; tokens >= kShortest; tokens /= 2)
            add("length", fmt::format("sequences of {} tokens: longer ones are cut or dropped", tokens),
                {{rows.limit_key, std::to_string(tokens)}});
    }

    void rank() {
        if (!knobs_.rank || !plan().peft) return;
        for (std::int64_t rank = plan().peft->r / 2; rank >= kLowestRank; rank /= 2)
            add("rank", fmt::format("adapters of rank {}", rank), {{key_of(knobs_.rank), std::to_string(rank)}});
    }

    void adapters() {
        if (plan().peft) return;
        add("adapters", "adapters are trained instead of all weights (LoRA)", knobs_.lora);
        add("adapters", "adapters are trained instead of all weights, over a 4-bit base (QLoRA)", knobs_.qlora);
    }

    const TrainerKnobs& knobs_;
    const Reading& reading_;
    std::vector<Proposal> out_;
};

}  // namespace

std::vector<Proposal> propose(const TrainerKnobs& knobs, const Reading& reading) {
    return Proposer(knobs, reading).all();
}

}  // namespace vramfit::trainers
