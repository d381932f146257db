// Numbering of the rows of a space, and the paper's space.
#include "vramfit/sweep/space.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "vramfit/base/checked.hpp"
#include "vramfit/base/error.hpp"

namespace vramfit {

namespace {

constexpr std::int64_t kMostRows = 10'000'000;

void check_axis(const std::vector<std::int64_t>& axis, const char* name) {
    if (axis.empty()) throw Error(ErrorKind::invalid, name, "no value given", "give a number or a list like 8,16,32");
    std::set<std::int64_t> seen;
    for (const std::int64_t v : axis) {
        if (v < 1) throw Error(ErrorKind::invalid, name, fmt::format("{} is below 1", v));
        if (!seen.insert(v).second) throw Error(ErrorKind::invalid, name, fmt::format("{} is given twice", v));
    }
}

std::vector<std::int64_t> powers_of_two(std::int64_t first, std::int64_t last) {
    std::vector<std::int64_t> out;
    for (std::int64_t v = first; v <= last; v *= 2) out.push_back(v);
    return out;
}

}  // namespace

std::size_t row_count(const SweepSpace& space) {
    check_axis(space.ranks, "--rank");
    check_axis(space.batches, "--batch");
    check_axis(space.lengths, "--seq");
    if (space.targets.empty()) throw Error(ErrorKind::invalid, "--targets", "no set of target modules given");
    const std::array<std::int64_t, 4> sizes{
        static_cast<std::int64_t>(space.targets.size()), static_cast<std::int64_t>(space.ranks.size()),
        static_cast<std::int64_t>(space.batches.size()), static_cast<std::int64_t>(space.lengths.size())};
    const std::int64_t rows = checked_product(sizes);
    if (rows > kMostRows)
        throw Error(ErrorKind::invalid, "sweep", fmt::format("{} configurations are too many", rows),
                    fmt::format("at most {} rows: shorten an axis", kMostRows));
    return static_cast<std::size_t>(rows);
}

Coordinates coordinates_of(const SweepSpace& space, std::size_t row) {
    Coordinates c;
    c.length = row % space.lengths.size();
    row /= space.lengths.size();
    c.batch = row % space.batches.size();
    row /= space.batches.size();
    c.rank = row % space.ranks.size();
    c.target = row / space.ranks.size();
    return c;
}

TrainPlan plan_of(const SweepSpace& space, const TrainPlan& base, std::size_t row) {
    const Coordinates c = coordinates_of(space, row);
    TrainPlan plan = base;
    plan.training.per_device_train_batch_size = space.batches[c.batch];
    plan.batch.sequence_length = space.lengths[c.length];
    if (plan.peft) {
        plan.peft->r = space.ranks[c.rank];
        plan.peft->target_modules = space.targets[c.target].modules;
    }
    return plan;
}

std::vector<std::string> target_group(const std::string& name) {
    std::vector<std::string> out;
    std::size_t begin = 0;
    while (begin <= name.size()) {
        const std::size_t end = std::min(name.find('+', begin), name.size());
        const std::string part = name.substr(begin, end - begin);
        if (part == "embedding")
            out.insert(out.end(), {"embed_tokens"});
        else if (part == "attention")
            out.insert(out.end(), {"q_proj", "k_proj", "v_proj", "o_proj"});
        else if (part == "mlp")
            out.insert(out.end(), {"gate_proj", "up_proj", "down_proj"});
        else
            return {};
        begin = end + 1;
    }
    return out;
}

SweepSpace paper_space() {
    SweepSpace space;
    space.ranks = powers_of_two(1, 128);
    space.batches = {1, 2, 4, 8};
    space.lengths = powers_of_two(16, 512);
    for (const char* name : {"embedding", "attention", "mlp", "embedding+attention", "embedding+mlp", "attention+mlp",
                             "embedding+attention+mlp"})
        space.targets.push_back({name, target_group(name)});
    return space;
}

}  // namespace vramfit
