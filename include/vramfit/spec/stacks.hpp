// The named stacks, and how a stack is chosen by name, by versions or by a list of installed packages.
#pragma once

#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "vramfit/base/note.hpp"
#include "vramfit/spec/stack.hpp"

namespace vramfit {

inline constexpr std::string_view kDefaultStack = "hf-2026-11";

/// The stacks named by their date, oldest first.
const std::vector<Stack>& named_stacks();

/// The stacks that releases of trainers are installed with, named after them.
const std::vector<Stack>& trainer_stacks();

/// A stack and what had to be assumed for it.
struct StackChoice {
    Stack stack;
    Notes notes;
};

/// A library's name ("torch") and its version as text; "unknown" means: as in the nearest named stack.
using LibraryVersion = std::pair<std::string_view, std::string_view>;

/// "hf-2024-04", "torch=2.6.0,peft=0.13", "hf-2024-04,torch=2.3.1", or empty text for the default.
/// Libraries that neither the text nor a name fixes come from the named stack nearest to the known ones.
/// `where` names the flag or file in errors.
StackChoice stack_from(std::string_view text, std::string_view where = "--stack");

/// The same from single versions; libraries not in the list count as unknown.
StackChoice stack_from_versions(std::span<const LibraryVersion> versions, std::string_view where);

/// The same from the output of `pip freeze`; lines about other packages are skipped.
StackChoice stack_from_pip_freeze(std::string_view text, std::string_view where);

/// The names that `stack_from_versions` takes.
std::span<const std::string_view> stack_libraries();

/// The version of a library by its name; a Version of zeros: the stack does not hold that library.
const Version& version_of(const Stack& stack, std::string_view library);

}  // namespace vramfit
