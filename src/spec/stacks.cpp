// The named stacks, and the choice of one by name, by versions or from a list of installed packages.
#include "vramfit/spec/stacks.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "vramfit/base/error.hpp"
#include "vramfit/spec/suggest.hpp"

namespace vramfit {

namespace {

struct Library {
    std::string_view name;
    Version Stack::*version;
};

constexpr Library kLibraries[] = {
    {"torch", &Stack::torch},
    {"transformers", &Stack::transformers},
    {"peft", &Stack::peft},
    {"bitsandbytes", &Stack::bitsandbytes},
    {"accelerate", &Stack::accelerate},
    {"trl", &Stack::trl},
    {"deepspeed", &Stack::deepspeed},
    {"flash_attn", &Stack::flash_attn},
    {"unsloth", &Stack::unsloth},
};

constexpr std::string_view kLibraryNames[] = {"torch", "transformers", "peft",       "bitsandbytes", "accelerate",
                                              "trl",   "deepspeed",    "flash_attn", "unsloth"};

const Library* library_named(std::string_view name) {
    const auto* found =
        std::find_if(std::begin(kLibraries), std::end(kLibraries), [&](const Library& l) { return l.name == name; });
    return found == std::end(kLibraries) ? nullptr : found;
}

bool is_none(const Version& version) { return version == Version{}; }

// A version as a number whose order is that of versions; only used to interpolate between neighbouring stacks.
double as_number(const Version& v) { return v.major * 1e6 + v.minor * 1e3 + std::min(v.patch, 999); }

// Where `version` lies among the named stacks' versions of the same library: 0 = like the oldest or older,
// 1.5 = halfway between the second and the third.
double place_of(const Version& version, Version Stack::*member) {
    std::optional<double> place;
    const Stack* lower = nullptr;
    const auto& stacks = named_stacks();
    for (std::size_t i = 0, lower_index = 0; i < stacks.size(); ++i) {
        const Version& known = stacks[i].*member;
        if (is_none(known)) continue;
        if (version <= known) {
            if (!lower || version == known) return static_cast<double>(i);
            const double share =
                (as_number(version) - as_number(lower->*member)) / (as_number(known) - as_number(lower->*member));
            return static_cast<double>(lower_index) + share * static_cast<double>(i - lower_index);
        }
        lower = &stacks[i];
        lower_index = i;
        place = static_cast<double>(i);
    }
    return place.value_or(static_cast<double>(stacks.size() - 1));
}

using Known = std::map<std::string_view, Version>;  // library -> version, "unknown" left out

const Stack& nearest_stack(const Known& known) {
    if (const auto unsloth = known.find("unsloth"); unsloth != known.end())
        for (const Stack& stack : trainer_stacks())
            if (stack.unsloth == unsloth->second) return stack;
    const auto& stacks = named_stacks();
    const Stack* best = &stacks.back();
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < stacks.size(); ++i) {
        double distance = 0;
        for (const auto& [name, version] : known) {
            const auto member = library_named(name)->version;
            if (!is_none(stacks.back().*member))
                distance += std::abs(place_of(version, member) - static_cast<double>(i));
        }
        if (distance < least || (known.empty() && i + 1 == stacks.size())) {
            least = distance;
            best = &stacks[i];
        }
    }
    return *best;
}

// The versions that were read lie between the oldest and the newest named stack.
void note_out_of_range(const Known& known, Notes& notes) {
    for (const auto& [name, version] : known) {
        const auto member = library_named(name)->version;
        const Version& newest = named_stacks().back().*member;
        Version oldest;
        for (const Stack& stack : named_stacks()) {
            if (is_none(oldest)) oldest = stack.*member;
        }
        if (is_none(newest)) continue;
        const bool old = version < oldest;
        if (!old && version <= newest) continue;
        notes.push_back(
            {NoteKind::version_out_of_range,
             fmt::format("{} {} is {} than {}, the {} version whose behaviour is known", name, text_of(version),
                         old ? "older" : "newer", text_of(old ? oldest : newest), old ? "oldest" : "newest"),
             "compare with a run of these versions, or name one of the known stacks (vramfit stacks)"});
    }
}

// The stack of `base` with the known versions put in; says in a note what was taken from `base`.
StackChoice combine(const Stack& base, bool base_was_named, const Known& known) {
    StackChoice choice{base, {}};
    std::vector<std::string_view> taken;
    std::string changed;
    for (const Library& library : kLibraries) {
        const auto found = known.find(library.name);
        if (found == known.end()) {
            // flash_attn follows from torch, below.
            if (!is_none(base.*library.version) && library.name != "flash_attn") taken.push_back(library.name);
            continue;
        }
        if (base.*library.version != found->second)
            changed += fmt::format(",{}={}", library.name, text_of(found->second));
        choice.stack.*library.version = found->second;
    }
    choice.stack.name = base.name + changed;
    // flash_attn's layouts changed with 2.6; the reference pairs torch below 2.4 with 2.5.9, later ones with 2.7.3.
    if (!known.contains("flash_attn"))
        choice.stack.flash_attn = choice.stack.torch < Version{2, 4, 0} ? Version{2, 5, 9} : Version{2, 7, 3};
    if (!base_was_named && !taken.empty()) {
        choice.notes.push_back({NoteKind::version_unknown,
                                fmt::format("no version given for {}: taken from {}, the nearest named stack",
                                            fmt::join(taken, ", "), base.name),
                                "give all versions, or a named stack"});
    }
    note_out_of_range(known, choice.notes);
    return choice;
}

// Reads the versions into `known`; problems are collected.
Known read_versions(std::span<const LibraryVersion> versions, std::string_view where, std::vector<Problem>& problems) {
    Known known;
    for (const auto& [name, text] : versions) {
        const Library* library = library_named(name);
        if (!library) {
            problems.push_back({std::string(where), fmt::format("unknown library '{}' in a stack", name),
                                did_you_mean(name, kLibraryNames,
                                             "known: torch, transformers, peft, bitsandbytes, accelerate, trl, "
                                             "deepspeed, flash_attn, unsloth")});
            continue;
        }
        if (text.starts_with("unknown")) continue;
        const auto version = version_from(text);
        if (!version || is_none(*version)) {
            problems.push_back({std::string(where), fmt::format("'{}' is no version of {}", text, name),
                                "write it like 2.6.0, or \"unknown\""});
            continue;
        }
        if (!known.emplace(library->name, *version).second)
            problems.push_back({std::string(where), fmt::format("{} is given twice", name), "keep one of the two"});
    }
    return known;
}

const Stack* stack_named(std::string_view name) {
    for (const auto* stacks : {&named_stacks(), &trainer_stacks()})
        for (const Stack& stack : *stacks)
            if (stack.name == name) return &stack;
    return nullptr;
}

Problem unknown_stack(std::string_view name, std::string_view where) {
    std::vector<std::string_view> names;
    for (const auto* stacks : {&named_stacks(), &trainer_stacks()})
        for (const Stack& stack : *stacks) names.push_back(stack.name);
    return {std::string(where), fmt::format("unknown stack '{}'", name),
            did_you_mean(name, names,
                         fmt::format("known: {}; or versions like torch=2.6.0,peft=0.13.2", fmt::join(names, ", ")))};
}

}  // namespace

const std::vector<Stack>& named_stacks() {
    // Each is a set of releases that were current together and are installable together.
    // Fields: torch, transformers, peft, bitsandbytes, accelerate, trl, deepspeed, flash_attn, unsloth.
    static const std::vector<Stack> stacks = {
        {"hf-2024-04", {2, 2, 2}, {4, 40, 2}, {0, 10, 0}, {0, 43, 1}, {0, 29, 3}, {0, 8, 6}, {}, {2, 5, 9}, {}},
        {"hf-2024-08", {2, 3, 1}, {4, 44, 2}, {0, 12, 0}, {0, 43, 3}, {0, 33, 0}, {}, {}, {2, 5, 9}, {}},
        {"hf-2025-01", {2, 5, 1}, {4, 48, 3}, {0, 14, 0}, {0, 45, 0}, {1, 2, 1}, {}, {}, {2, 7, 3}, {}},
        {"hf-2025-07", {2, 7, 1}, {4, 53, 3}, {0, 16, 0}, {0, 46, 1}, {1, 8, 1}, {}, {}, {2, 7, 3}, {}},
        {"hf-2026-01", {2, 10, 0}, {5, 0, 0}, {0, 19, 1}, {0, 50, 2}, {1, 13, 0}, {}, {}, {2, 7, 3}, {}},
        {"hf-2026-11", {2, 11, 0}, {5, 17, 0}, {0, 21, 2}, {0, 50, 2}, {1, 15, 0}, {1, 16, 0}, {}, {2, 7, 3}, {}},
        {"hf-2026-11-24", {2, 15, 0}, {5, 23, 0}, {0, 21, 2}, {0, 50, 2}, {1, 15, 0}, {1, 16, 0}, {}, {2, 7, 3}, {}},
    };
    return stacks;
}

const std::vector<Stack>& trainer_stacks() {
    // What `pip install` brings with a release of a trainer: its pins, and the newest release of what it leaves open.
    static const std::vector<Stack> stacks = {
        {"axolotl-0.19", {2, 13, 0}, {5, 16, 1}, {0, 20, 0}, {0, 50, 2}, {1, 13, 0}, {1, 9, 0}, {}, {2, 7, 3}, {}},
        {"llamafactory-0.9.5",
         {2, 15, 0},
         {5, 6, 0},
         {0, 18, 1},
         {0, 50, 2},
         {1, 11, 0},
         {0, 24, 0},
         {},
         {2, 7, 3},
         {}},
        {"swift-4.6", {2, 15, 0}, {5, 19, 0}, {0, 20, 0}, {0, 50, 2}, {1, 15, 0}, {0, 29, 1}, {}, {2, 7, 3}, {}},
        {"unsloth-2026.10",
         {2, 11, 0},
         {5, 17, 0},
         {0, 21, 2},
         {0, 50, 2},
         {1, 15, 0},
         {1, 15, 0},
         {},
         {2, 7, 3},
         {2026, 10, 7}},
        {"unsloth-2026.10.9",
         {2, 11, 0},
         {5, 17, 0},
         {0, 21, 2},
         {0, 50, 2},
         {1, 15, 0},
         {1, 15, 0},
         {},
         {2, 7, 3},
         {2026, 10, 9}},
    };
    return stacks;
}

std::span<const std::string_view> stack_libraries() { return kLibraryNames; }

const Version& version_of(const Stack& stack, std::string_view library) {
    const Library* known = library_named(library);
    if (!known)
        throw Error(ErrorKind::invalid, "", fmt::format("unknown library '{}' in a stack", library),
                    fmt::format("known: {}", fmt::join(kLibraryNames, ", ")));
    return stack.*known->version;
}

StackChoice stack_from_versions(std::span<const LibraryVersion> versions, std::string_view where) {
    std::vector<Problem> problems;
    const Known known = read_versions(versions, where, problems);
    if (!problems.empty()) throw Error(ErrorKind::invalid, std::move(problems));
    return combine(nearest_stack(known), false, known);
}

StackChoice stack_from(std::string_view text, std::string_view where) {
    const Stack* base = text.empty() ? stack_named(kDefaultStack) : nullptr;
    std::vector<LibraryVersion> versions;
    std::vector<Problem> problems;
    bool first = true;
    while (!text.empty()) {
        const std::string_view part = text.substr(0, text.find(','));
        text.remove_prefix(std::min(text.size(), part.size() + 1));
        const std::size_t equals = part.find('=');
        if (equals != std::string_view::npos) {
            const std::size_t value = part.find_first_not_of('=', equals);  // "torch=2.6.0" or pip's "torch==2.6.0"
            versions.emplace_back(part.substr(0, equals),
                                  value == std::string_view::npos ? std::string_view{} : part.substr(value));
        } else if (first && stack_named(part)) {
            base = stack_named(part);
        } else {
            problems.push_back(unknown_stack(part, where));
        }
        first = false;
    }
    const Known known = read_versions(versions, where, problems);
    if (!problems.empty()) throw Error(ErrorKind::invalid, std::move(problems));
    return base ? combine(*base, true, known) : combine(nearest_stack(known), false, known);
}

StackChoice stack_from_pip_freeze(std::string_view text, std::string_view where) {
    std::vector<LibraryVersion> versions;
    while (!text.empty()) {
        std::string_view line = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(text.size(), line.size() + 1));
        while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.remove_suffix(1);
        const std::size_t equals = line.find("==");
        if (equals == std::string_view::npos) continue;
        const std::string_view name = line.substr(0, equals);
        const Library* library = library_named(name == "flash-attn" ? std::string_view("flash_attn") : name);
        if (library) versions.emplace_back(library->name, line.substr(equals + 2));
    }
    if (versions.empty())
        throw Error(ErrorKind::invalid, std::string(where),
                    "no line names torch, transformers, peft or another library of a stack",
                    "give the output of `pip freeze`");
    return stack_from_versions(versions, where);
}

}  // namespace vramfit
