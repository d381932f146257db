// The command line as values: commands and flags with all that help says of them, read from CLI11's tree.
#pragma once

#include <string>
#include <vector>

namespace vramfit::cli {

struct FlagDescription {
    std::vector<std::string> names;  ///< "-q", "--quiet"; of an argument without a flag: "MODEL"
    std::string value;               ///< what stands for the value in help: "CARD,..."; empty: takes none
    std::string text;                ///< what it does
    std::string group;               ///< heading in help; empty: another spelling, understood and not listed
    std::vector<std::string> words;  ///< values that are known
    bool files = false;              ///< the value may be a file
    bool positional = false;
    bool optional = false;  ///< may be given without its value
    bool repeats = false;   ///< may be given several times, or take several values

    bool listed() const { return !group.empty(); }
    /// "--quiet" of -q, --quiet.
    const std::string& longest() const;
};

struct CommandDescription {
    std::string name;  ///< "predict"; empty: vramfit itself
    std::string summary;
    std::string example;
    std::string footer;
    std::vector<FlagDescription> flags;  ///< in the order of help
};

/// vramfit itself, then its commands in the order of help.
std::vector<CommandDescription> described_commands();

}  // namespace vramfit::cli
