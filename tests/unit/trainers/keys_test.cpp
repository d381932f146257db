// The keys of each trainer's newest release stand in the table of its format: tests/data/trainer_keys.
#include <algorithm>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "unit/trainers/asked.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/spec/stacks.hpp"
#include "vramfit/trainers/reading.hpp"

using namespace vramfit;
using test::asked_of;

namespace {

/// The keys of a list; its first line is the release.
std::vector<std::string> keys_of(const std::string& list) {
    std::ifstream stream(VRAMFIT_TEST_DATA_DIR "/trainer_keys/" + list + ".txt");
    std::vector<std::string> keys;
    std::string line;
    std::getline(stream, line);
    while (std::getline(stream, line)) keys.push_back(line.substr(0, line.find(" = ")));
    return keys;
}

const KnownTrainer& trainer(const std::string& name) {
    static const std::vector<KnownTrainer> all = known_trainers();
    const auto found =
        std::find_if(all.begin(), all.end(), [&](const KnownTrainer& each) { return each.name == name; });
    REQUIRE(found != all.end());
    return *found;
}

/// A row for the key, for all below a map that it is in, or for that map as a whole.
bool stands_in_table(const KnownTrainer& known, const std::string& key) {
    return std::any_of(known.keys.begin(), known.keys.end(),
                       [&](const KnownKey& row) {
                           if (row.key == key) return true;
                           const bool all_below = row.key.ends_with(".*");
                           const std::string above = all_below ? row.key.substr(0, row.key.size() - 1) : row.key + ".";
                           return key.starts_with(above);
                       }) ||
           std::any_of(known.keys.begin(), known.keys.end(), [&](const KnownKey& row) {
               return row.key.starts_with(key + ".");  // a map that is read key by key
           });
}

}  // namespace

TEST_CASE("every key of a trainer's newest release stands in the table of its format") {
    // A file of one trainer may hold the arguments of what it is built upon.
    const std::multimap<std::string, std::string> lists = {
        {"accelerate", "accelerate"},
        {"axolotl", "axolotl"},
        {"deepspeed", "deepspeed"},
        {"litgpt", "litgpt"},
        {"llama-factory", "llama-factory"},
        {"llama-factory", "training-args"},
        {"ms-swift", "ms-swift"},
        {"ms-swift", "training-args"},
        {"peft-adapter", "peft-adapter"},
        {"torchtune", "torchtune"},
        {"training-args", "training-args"},
        {"trl", "trl"},
        {"trl", "training-args"},
        {"unsloth-studio", "unsloth-studio"},
        {"trl-preferences", "training-args"},
        {"trl-grpo", "training-args"},
        {"trl-rloo", "training-args"},
    };
    for (const auto& [format, list] : lists) {
        const std::vector<std::string> keys = keys_of(list);
        INFO(format << ": " << list);
        REQUIRE(keys.size() > 20);
        std::string missing;
        for (const std::string& key : keys)
            if (!stands_in_table(trainer(format), key)) missing += key + "\n";
        CHECK(missing == "");
    }
}

namespace {

/// What is wrong with the file, or nothing.
std::string problem_of(const std::string& name, const std::string& text, std::vector<std::string> assume_off = {}) {
    TrainerQuestion question = asked_of({{name, text}});
    question.seq = 128;
    question.assume_off = std::move(assume_off);
    try {
        (void)read_trainer_files(question);
    } catch (const Error& error) {
        CHECK(error.kind() == ErrorKind::invalid);
        return error.problems().front().where + ": " + error.problems().front().what;
    }
    return "";
}

}  // namespace

TEST_CASE("a key of no release is a mistake where a trainer alone reads the file") {
    const std::string sft = "model_name_or_path: llama-3.2-1b\nmax_length: 64\nlern_rate: 1\n";
    CHECK(problem_of("f.yaml", sft) == "f.yaml:3:1 lern_rate: unknown key, not in any release of TRL up to 1.16");
    CHECK(problem_of("f.yaml", sft, {"lern_rate"}) == "");
    CHECK(problem_of("f.yaml", "model_name_or_path: llama-3.2-1b\nmax_length: 64\nlern_rate:\n") == "");
    const std::string arguments = " --model_name_or_path llama-3.2-1b --max_length 64 --lern_rate 1\n";
    CHECK(problem_of("f.sh", "trl sft" + arguments) != "");
    CHECK(problem_of("f.sh", "trl gkd" + arguments) == "");
    CHECK(problem_of("f.sh", "python mine.py" + arguments) == "");
}

TEST_CASE("keys of adapters are known for LoRA alone") {
    const std::string keys = R"("base_model_name_or_path": "llama-3.2-1b", "rank": 8})";
    CHECK(problem_of("f.json", R"({"peft_type": "LORA", )" + keys) ==
          "f.json:1:66 rank: unknown key, not in any release of PEFT up to 0.21");
    CHECK(problem_of("f.json", R"({"peft_type": "LOHA", )" + keys) == "");
}

TEST_CASE("keys below a map are judged, and a map may be written as a text") {
    const std::string text = "model_name_or_path: llama-3.2-1b\nmax_length: 64\ngradient_checkpointing_kwargs: ";
    CHECK(problem_of("f.yaml", text + "{use_reentrant: true}\n") == "");
    CHECK(problem_of("f.yaml", text + "'{\"use_reentrant\": true}'\n") == "");
    CHECK(problem_of("f.yaml", text + "false\n") == "");
    CHECK(problem_of("f.yaml", text + "reentrant\n") ==
          "f.yaml:3:1 gradient_checkpointing_kwargs: a map is wanted, not 'reentrant'");
}
