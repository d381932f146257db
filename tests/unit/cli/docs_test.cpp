// Every command in the documents works.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <vector>

#include "cli/program.hpp"
#include "support/catch.hpp"

using namespace vramfit;

namespace {

/// The lines of ```sh blocks that are one command of this program, without pipes and the like.
std::vector<std::string> commands_in(const std::filesystem::path& file) {
    std::vector<std::string> commands;
    std::ifstream in(file);
    bool shell = false;
    for (std::string line; std::getline(in, line);) {
        if (line.starts_with("```")) shell = line == "```sh";
        const bool plain = line.find_first_of("|>'\"\\$") == std::string::npos;
        if (shell && plain && line.starts_with("vramfit ")) commands.push_back(line);
    }
    return commands;
}

int run(const std::string& command) {
    std::istringstream in(command.substr(0, command.find('#')));
    std::vector<std::string> words;
    for (std::string word; in >> word;) words.push_back(word);
    const auto output = std::find(words.begin(), words.end(), "--output");
    if (output == words.end())
        words.insert(words.end(), {"--output", "/dev/null"});
    else if (output + 1 != words.end())
        output[1] = "/dev/null";
    std::vector<const char*> argv;
    for (const std::string& word : words) argv.push_back(word.c_str());
    return cli::run_program(static_cast<int>(argv.size()), argv.data());
}

}  // namespace

TEST_CASE("the commands in the documents are answered", "[long]") {
    int count = 0;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(VRAMFIT_SOURCE_DIR "/docs")) {
        if (entry.path().extension() != ".md") continue;
        for (const std::string& command : commands_in(entry.path())) {
            CAPTURE(entry.path().string(), command);
            const int status = run(command);
            CHECK((status == 0 || status == 1));
            ++count;
        }
    }
    CHECK(count > 0);
}
