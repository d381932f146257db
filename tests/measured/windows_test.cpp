// Runs on an H200 and an H100, window by window against the program; the test writes docs/measured.md.
#include <fmt/format.h>

#include <cmath>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/generated.hpp"
#include "support/traced.hpp"

namespace vramfit::test {

namespace {

/// What a name begins with, and what the runs of that name vary.
const std::vector<std::pair<std::string, std::string>> kGroups = {
    {"solo", "an 8B model with QLoRA; four layers, alone on the GPU"},
    {"real", "published models of 0.5B to 8B: full, LoRA, QLoRA"},
    {"attention", "attention: kernel, dtype, head size, mask, length"},
    {"checkpoints", "gradient checkpointing, both kinds"},
    {"optimizers", "optimizers, accumulation, clipping"},
    {"precisions", "autocast"},
    {"four-bits", "4-bit layers by tokens, fp4, paged optimizers"},
    {"loads", "loading: shards, resized, float16, int8"},
    {"loops", "Trainer, SFTTrainer, plain loop, emptied cache, expandable segments"},
    {"workspaces", "workspaces of cuBLAS and cublasLt by their variables"},
    {"near", "limits between the allocated and the reserved peak"},
    {"walk", "random runs of 16 families"},
    {"type", "recorded types: LoRA, QLoRA, autocast"},
    {"dpo", "DPO"},
    {"kto", "KTO"},
    {"reward", "reward models"},
    {"grpo", "GRPO"},
    {"unsloth", "Unsloth's own step"},
};

/// Runs whose data decide: a batch of them had no padded row (the sampler shuffles), or int8 found no outliers.
const std::set<std::string> kByData = {
    "attention-left_padded", "attention-right_padded", "attention-h100-left_padded", "loads-int8", "walk-11-mistral",
    "walk-20-mistral",       "walk-35-llama"};

/// Runs of which windows differ, and how many: loading by the order of the loader's threads, by 2 KiB; generations by
/// the workspace of cuDNN's attention for one token.
const std::map<std::string, std::size_t> kDiffering = {
    {"kto-2", 1}, {"reward-2", 1}, {"grpo-pad-qwen2-qlora-150-tokens", 2}};

struct Group {
    std::size_t jobs = 0, windows = 0, requested = 0, allocated = 0, reserved = 0, jobs_equal = 0;
    double worst = 0;  ///< of the reserved peak, in percent
};

std::string group_of(const std::string& name) {
    for (const auto& [prefix, what] : kGroups)
        if (name.rfind(prefix + "-", 0) == 0) return prefix;
    return "";
}

std::size_t differing(const std::string& run) {
    const auto known = kDiffering.find(run);
    return known == kDiffering.end() ? 0 : known->second;
}

double percent(std::size_t part, std::size_t all) {
    return 100.0 * static_cast<double>(part) / static_cast<double>(all);
}

void add(const Comparison& c, Group& to) {
    to.windows += c.windows;
    to.requested += c.requested_equal;
    to.allocated += c.allocated_equal;
    to.reserved += c.reserved_equal;
    to.jobs_equal += c.reserved_equal == c.windows && c.allocated_equal == c.windows && c.requested_equal == c.windows;
    if (std::abs(c.reserved_peak_percent) > std::abs(to.worst)) to.worst = c.reserved_peak_percent;
}

std::string row(const std::string& what, const Group& g) {
    return fmt::format("| {} | {} | {} | {} | {:.1f} % | {:.1f} % | {:.1f} % | {:+.2f} % |\n", what, g.jobs,
                       g.jobs_equal, g.windows, percent(g.requested, g.windows), percent(g.allocated, g.windows),
                       percent(g.reserved, g.windows), g.worst);
}

}  // namespace

TEST_CASE("runs on an H200 and an H100: every window requests what is predicted, verdicts are right") {
    std::map<std::string, Group> groups;
    Group all;
    std::size_t out_of_memory = 0;
    for (const Trace& run : traces_of("measured_windows.jsonl")) {
        const Comparison c = compare(run);
        const std::string group = group_of(run.name);
        INFO(run.name << " " << c.message << (c.differing.empty() ? "" : c.differing[0]));
        REQUIRE(!group.empty());
        CHECK_FALSE(c.refused);
        REQUIRE_FALSE(c.unsupported);
        CHECK(c.ending_equal);
        out_of_memory += !run.oom_window.empty();
        if (kByData.count(run.name) == 0) CHECK(c.requested_equal + differing(run.name) == c.windows);
        for (Group* to : {&groups[group], &all}) {
            ++to->jobs;
            add(c, *to);
        }
    }
    CHECK(out_of_memory >= 8);
    CHECK(percent(all.allocated, all.windows) >= 95);
    CHECK(percent(all.reserved, all.windows) >= 92);
    CHECK(std::abs(all.worst) <= 7);
    std::string table =
        "| runs | jobs | all equal | windows | requested | allocated | reserved | worst reserved peak |\n"
        "|---|--:|--:|--:|--:|--:|--:|--:|\n";
    for (const auto& [prefix, what] : kGroups) table += row(what, groups[prefix]);
    check_generated("docs/measured.md", table + row("all", all));
}

}  // namespace vramfit::test
