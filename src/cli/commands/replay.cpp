// vramfit replay: a text file of allocator events, replayed.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "base/text_table.hpp"
#include "cli/commands.hpp"
#include "cli/flags/values.hpp"
#include "cli/help.hpp"
#include "cli/input.hpp"
#include "cli/output.hpp"
#include "cli/words.hpp"
#include "vramfit/alloc/replay_file.hpp"

namespace vramfit::cli {

namespace {

constexpr Named<AddressRule> kAddresses[] = {
    {"cuda", AddressRule::small_up_large_down}, {"rising", AddressRule::rising}, {"first-fit", AddressRule::first_fit}};
constexpr Named<TieRule> kTies[] = {
    {"address", TieRule::address}, {"segment", TieRule::segment_creation}, {"block", TieRule::block_creation}};

struct ReplayFlags {
    std::string file;
    std::string addresses = "first-fit";
    std::string ties = "address";
    std::string output = "-";
};

ExitStatus run_replay(const ReplayFlags& flags) {
    if (flags.file.empty())
        throw Error(ErrorKind::invalid, "FILE", "no file given", "vramfit replay FILE, or - for standard input");
    ReplayFileOptions options;
    options.addresses = value_from(flags.addresses, "--addresses", kAddresses);
    options.ties = value_from(flags.ties, "--ties", kTies);
    const std::string name = name_of_input(flags.file);
    const ReplayFileResult result = replay_text(read_input(flags.file, "FILE"), name, options);
    write_result(result.text, flags.output);
    for (const ReplayMismatch& mismatch : result.summary.mismatches) {
        fmt::print(stderr, "{}:{}: {}: expected {}, got {}\n", name, mismatch.line, mismatch.vector, mismatch.expected,
                   mismatch.actual);
    }
    return result.summary.mismatches.empty() ? kFits : kTooLarge;
}

Run add_replay(CLI::App& app, const GivenWords&) {
    auto flags = std::make_shared<ReplayFlags>();
    add_value(app, "FILE", flags->file, "", "Allocations and frees, one a line; - is standard input");
    offer(add_value(app, "--addresses", flags->addresses, "RULE",
                    "Where new segments lie: cuda (what CUDA was seen to do), rising, first-fit [first-fit]"),
          words_of<kAddresses>());
    offer(add_value(app, "--ties", flags->ties, "RULE",
                    "Which of equal free blocks is taken: address, segment or block [address]"),
          words_of<kTies>());
    add_value(app, "--output", flags->output, "FILE", "Write the result to FILE; - is standard output [-]");
    app.footer(
        wrapped("Every event is written again with the values of the replay. Where the file has expected values "
                "that differ, lines on standard error say so and the exit status is 1.",
                80));
    return [flags] { return run_replay(*flags); };
}

}  // namespace

extern const Command replay_command;
const Command replay_command = {"replay", "Replay a file of allocations and frees through the caching allocator.",
                                "vramfit replay events.txt", add_replay};

}  // namespace vramfit::cli
