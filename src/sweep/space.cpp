// Numbering of the rows of a space, and the paper's space.
#include "vramfit/sweep/space.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "base/split.hpp"
#include "vramfit/base/checked.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/spec/modules.hpp"
#include "vramfit/spec/suggest.hpp"

namespace vramfit {

namespace {

constexpr std::int64_t kMostRowsOfSpace = 1'000'000'000;

void check_axis(const std::vector<std::int64_t>& axis, const char* name) {
    if (axis.empty()) throw Error(ErrorKind::invalid, name, "no value given", "give a number or a list like 8,16,32");
    std::set<std::int64_t> seen;
    for (const std::int64_t v : axis) {
        if (v < 1) throw Error(ErrorKind::invalid, name, fmt::format("{} is below 1", v), "give 1 or more");
        if (!seen.insert(v).second)
            throw Error(ErrorKind::invalid, name, fmt::format("{} is given twice", v), "keep one of the two");
    }
}

std::vector<std::int64_t> powers_of_two(std::int64_t first, std::int64_t last) {
    std::vector<std::int64_t> out;
    for (std::int64_t v = first; v <= last; v *= 2) out.push_back(v);
    return out;
}

/// "a+b" -> {"a", "b"}.
std::vector<std::string> parts_of(const std::string& name) {
    const auto parts = split(name, '+');
    return {parts.begin(), parts.end()};
}

bool same_modules(const TargetSet& a, const TargetSet& b) {
    return std::is_permutation(a.modules.begin(), a.modules.end(), b.modules.begin(), b.modules.end());
}

bool is_module(const ModelSpec& model, const std::string& name) {
    LoraPlan plan;
    plan.target_modules = std::vector<std::string>{name};
    return !name.empty() && !lora_targets(model, plan).empty();
}

[[noreturn]] void refuse_target(const ModelSpec& model, const std::string& name, const std::string& where) {
    std::vector<std::string> names = {"attention", "mlp", "embedding"};
    for (const std::string& module : targetable_names(model)) names.push_back(module);
    const std::vector<std::string_view> known(names.begin(), names.end());
    if (name.empty())
        throw Error(ErrorKind::invalid, where, "a set has an empty name",
                    "attention+mlp, or module names: q_proj+v_proj");
    throw Error(ErrorKind::invalid, where, fmt::format("'{}' matches no module of the network", name),
                did_you_mean(name, known, fmt::format("known: {}; sets are joined by +", fmt::join(names, ", "))));
}

}  // namespace

std::size_t row_count(const SweepSpace& space) {
    check_axis(space.ranks, "--rank");
    check_axis(space.batches, "--batch");
    check_axis(space.lengths, "--seq");
    if (space.targets.empty())
        throw Error(ErrorKind::invalid, "--targets", "no set of target modules given",
                    "attention+mlp, or module names: q_proj+v_proj");
    for (auto set = space.targets.begin(); set != space.targets.end(); ++set)
        if (std::any_of(space.targets.begin(), set, [&](const TargetSet& other) { return same_modules(other, *set); }))
            throw Error(ErrorKind::invalid, "--targets", fmt::format("'{}' is given twice", set->name),
                        "keep one of the two");
    const std::array<std::int64_t, 4> sizes{
        static_cast<std::int64_t>(space.targets.size()), static_cast<std::int64_t>(space.ranks.size()),
        static_cast<std::int64_t>(space.batches.size()), static_cast<std::int64_t>(space.lengths.size())};
    const std::int64_t rows = checked_product(sizes);
    if (rows > kMostRowsOfSpace)
        throw Error(ErrorKind::invalid, "sweep", fmt::format("{} configurations are too many", rows),
                    fmt::format("at most {} rows: shorten an axis", kMostRowsOfSpace));
    return static_cast<std::size_t>(rows);
}

std::size_t row_at(const SweepSpace& space, const Coordinates& at) {
    return ((at.target * space.ranks.size() + at.rank) * space.batches.size() + at.batch) * space.lengths.size() +
           at.length;
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
        const TargetSet& targets = space.targets[c.target];
        if (!targets.modules.empty()) plan.peft->target_modules = targets.modules;
    }
    return plan;
}

SweepSpace paper_space(const ModelSpec& model) {
    SweepSpace space;
    space.ranks = powers_of_two(1, 128);
    space.batches = {1, 2, 4, 8};
    space.lengths = powers_of_two(16, 512);
    for (const char* name : {"embedding", "attention", "mlp", "embedding+attention", "embedding+mlp", "attention+mlp",
                             "embedding+attention+mlp"}) {
        const std::vector<std::string> parts = parts_of(name);
        const bool whole = std::none_of(parts.begin(), parts.end(),
                                        [&](const std::string& group) { return group_names(model, group).empty(); });
        if (whole) space.targets.push_back(target_set(model, name));
    }
    return space;
}

TargetSet target_set(const ModelSpec& model, const std::string& name, const std::string& where) {
    TargetSet set{name, {}};
    std::set<std::string> of_groups;  // two may share a name: gpt2's attention and mlp both have a c_proj
    const std::vector<std::string> all = parts_of(name);
    for (const std::string& part : all) {
        const bool group = is_module_group(part);
        if (std::count(all.begin(), all.end(), part) > 1)
            throw Error(ErrorKind::invalid, where, fmt::format("'{}' has {} twice", name, part), "name it once");
        if (group ? group_names(model, part).empty() : !is_module(model, part)) refuse_target(model, part, where);
        for (const std::string& module : group ? group_names(model, part) : std::vector{part}) {
            const bool is_new = std::find(set.modules.begin(), set.modules.end(), module) == set.modules.end();
            if (!is_new && group && of_groups.contains(module)) continue;
            if (!is_new)
                throw Error(ErrorKind::invalid, where, fmt::format("'{}' has {} twice", name, module), "name it once");
            if (group) of_groups.insert(module);
            set.modules.push_back(module);
        }
    }
    return set;
}

}  // namespace vramfit
