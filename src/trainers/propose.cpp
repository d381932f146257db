// What could be changed in a trainer's file so that the run needs less, cheapest first.
#include <algorithm>

#include <fmt/format.h>

#include "trainers/settle.hpp"

namespace vramfit::trainers {

namespace {

std::string number_at(const Reading& reading, std::string_view key, std::string_view otherwise) {
    for (const Input& input : reading.inputs)
        if (input.key == key) return input.value;
    return std::string(otherwise);
}

std::int64_t integer_at(const Reading& reading, const char* key, std::int64_t otherwise) {
    const Value value = plain_scalar(number_at(reading, key, std::to_string(otherwise)), {});
    return value.kind == Value::Kind::integer ? value.integer : otherwise;
}

/// "KEY=VALUE KEY=VALUE" as edits.
std::vector<TrainerEdit> edits_of(std::string_view text) {
    std::vector<TrainerEdit> out;
    while (!text.empty()) {
        const std::string_view word = text.substr(0, text.find(' '));
        const std::size_t equals = word.find('=');
        out.push_back({std::string(word.substr(0, equals)), std::string(word.substr(equals + 1))});
        text.remove_prefix(std::min(text.size(), word.size() + 1));
    }
    return out;
}

/// The same rows in more and smaller pieces: nothing but time is lost.
void propose_accumulation(const TrainerKnobs& knobs, const Reading& reading, std::vector<Proposal>& out) {
    if (!knobs.batch || !knobs.accumulation) return;
    const std::int64_t rows = integer_at(reading, knobs.batch, 1);
    const std::int64_t steps = integer_at(reading, knobs.accumulation, 1);
    for (std::int64_t part = 2; part <= rows; part *= 2) {
        if (rows % part != 0) break;
        out.push_back(
            {"accumulate",
             fmt::format("{} row{} at a time and {} times the accumulation: the same training, slower", rows / part,
                         rows / part == 1 ? "" : "s", part),
             {{knobs.batch, std::to_string(rows / part)}, {knobs.accumulation, std::to_string(steps * part)}}});
    }
}

void propose_length(const TrainerKnobs& knobs, const Reading& reading, std::vector<Proposal>& out) {
    if (!knobs.length || reading.rows.limit < 256) return;
    for (std::int64_t part = 2; part <= 4; part *= 2)
        out.push_back({"shorten",
                       fmt::format("rows of {} tokens: longer samples are cut or dropped", reading.rows.limit / part),
                       {{knobs.length, std::to_string(reading.rows.limit / part)}}});
}

}  // namespace

std::vector<Proposal> propose(const TrainerKnobs& knobs, const Reading& reading) {
    std::vector<Proposal> out;
    const TrainPlan& plan = reading.job.plan;
    propose_accumulation(knobs, reading, out);
    if (knobs.checkpointing && !plan.training.gradient_checkpointing)
        out.push_back({"checkpoint",
                       "activations are computed again in the backward pass: about a third slower",
                       {{knobs.checkpointing, knobs.checkpointing_on}}});
    const std::string& optimizer = plan.training.optim;
    const bool small = optimizer.find("8bit") != optimizer.npos || optimizer.find("paged") != optimizer.npos ||
                       optimizer == "sgd" || optimizer == "adafactor";
    if (knobs.optimizer && !small)
        out.push_back({"optimizer",
                       "optimizer states in 8 bit, paged to host memory where the card is full",
                       {{knobs.optimizer, knobs.optimizer_small}}});
    if (knobs.quantize && plan.peft && !plan.load.quantization)
        out.push_back({"quantize", "the frozen base in 4 bit (QLoRA)", edits_of(knobs.quantize)});
    propose_length(knobs, reading, out);
    if (knobs.rank && plan.peft && plan.peft->r >= 16)
        out.push_back({"rank",
                       fmt::format("adapters of rank {}", plan.peft->r / 2),
                       {{knobs.rank, std::to_string(plan.peft->r / 2)}}});
    return out;
}

}  // namespace vramfit::trainers
