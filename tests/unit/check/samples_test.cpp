// Public configuration files through the whole of `check`: predicted, or refused by the name of a key; none misread.
// VRAMFIT_ACCEPT=1 writes docs/reference/trainer-files.txt, the table of what became of each kind of file.
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "support/catch.hpp"
#include "support/sanitized.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/check/check.hpp"
#include "vramfit/spec/devices.hpp"
#include "vramfit/spec/stacks.hpp"

using namespace vramfit;

namespace {

enum class Outcome { predicted, refused, incomplete };

struct Sample {
    std::string file;
    Outcome outcome = Outcome::incomplete;
    std::string format;
    std::string why;  ///< the key, or the problem
    bool several_cards = false;
    bool other_than_text = false;
    bool no_training = false;
};

bool has_any(std::string_view text, std::initializer_list<std::string_view> words) {
    for (const std::string_view word : words)
        if (text.find(word) != std::string_view::npos) return true;
    return false;
}

void judge_refusals(const Reading& reading, Sample& sample) {
    sample.outcome = Outcome::refused;
    for (const Refusal& each : reading.refusals) {
        sample.why += (sample.why.empty() ? "" : ", ") + each.key;
        sample.several_cards = sample.several_cards || has_any(each.what, {"DeepSpeed", "sharded", "GPUs", "machines",
                                                                           "Megatron", "Automodel", "FSDP"});
        sample.other_than_text = sample.other_than_text ||
                                 has_any(each.what, {"images", "sound", "reward model", "classification", "diffusion"});
        sample.no_training = sample.no_training || has_any(each.what, {"trains nothing", "not training", "TPUs"});
    }
}

Sample judged(const std::string& file, const std::string& text) {
    CheckQuestion question;
    question.trainer.files = {{file, text}};
    question.trainer.stack = stack_from("").stack;
    question.devices = {device_from("H100")};
    question.price_changes = false;
    Sample sample;
    sample.file = file;
    sample.several_cards = has_any(text, {"\nfsdp:\n  - ", "\nfsdp_config:\n  "});
    std::string unknown;
    for (int attempt = 0; attempt < 6; ++attempt) {
        try {
            const CheckResult result = check(question);
            sample.format = result.reading.files.front().format;
            sample.why.clear();
            sample.outcome = Outcome::predicted;
            if (result.refused()) judge_refusals(result.reading, sample);
            if (!unknown.empty()) {
                sample.outcome = Outcome::incomplete;
                sample.why = unknown;
            }
            return sample;
        } catch (const Error& error) {
            sample.why = error.problems().front().what;
            sample.no_training =
                has_any(sample.why, {"no file names a model", "no trainer's file has", "is no value"}) ||
                file.starts_with("peft/");
            // What the data or the launcher decides is given; a mistake in a key does not hide what the file is.
            const std::string& where = error.problems().front().where;
            if (sample.why.starts_with("unknown key")) {
                unknown = sample.why;
                question.trainer.assume_off.push_back(where.substr(where.rfind(' ') + 1));
            } else if (sample.why.find("how long sequences are") != std::string::npos)
                question.trainer.seq = 2048;
            else if (sample.why.find("how long prompts are") != std::string::npos)
                question.trainer.prompt = 512;
            else if (sample.why.find("how many GPUs") != std::string::npos)
                question.trainer.gpus = 4;
            else
                return sample;
            sample.several_cards = sample.several_cards || question.trainer.gpus;
        }
    }
    return sample;
}

/// Of the files; with sanitizers all of them take minutes.
constexpr std::size_t kEvery = test::kSanitized ? 40 : 1;

const std::vector<Sample>& samples() {
    static const std::vector<Sample> all = [] {
        std::vector<Sample> out;
        std::ifstream stream(VRAMFIT_TEST_DATA_DIR "/trainer_files.jsonl");
        std::size_t number = 0;
        for (std::string line; std::getline(stream, line);) {
            if (number++ % kEvery != 0) continue;
            const auto row = nlohmann::json::parse(line);
            out.push_back(judged(row.at("file"), row.at("text")));
        }
        return out;
    }();
    return all;
}

std::string table() {
    struct Row {
        int files = 0, predicted = 0, refused = 0, incomplete = 0;
        std::map<std::string, int> why;
    };
    std::map<std::string, Row> rows;
    for (const Sample& sample : samples()) {
        Row& row = rows[sample.file.substr(0, sample.file.find('/'))];
        ++row.files;
        if (sample.outcome == Outcome::predicted) ++row.predicted;
        if (sample.outcome == Outcome::refused) ++row.refused;
        if (sample.outcome == Outcome::incomplete) ++row.incomplete;
        if (sample.outcome == Outcome::refused) ++row.why[sample.why.substr(0, sample.why.find(','))];
    }
    std::string out =
        "| files of | files | predicted | refused | not answerable | refused most often for "
        "|\n|---|---|---|---|---|---|\n";
    for (const auto& [tool, row] : rows) {
        std::vector<std::pair<int, std::string>> reasons;
        for (const auto& [key, count] : row.why) reasons.emplace_back(-count, key);
        std::sort(reasons.begin(), reasons.end());
        std::string text;
        for (std::size_t i = 0; i < std::min<std::size_t>(reasons.size(), 4); ++i)
            text += fmt::format("{}`{}` ({})", i ? ", " : "", reasons[i].second, -reasons[i].first);
        out += fmt::format("| {} | {} | {} | {} | {} | {} |\n", tool, row.files, row.predicted, row.refused,
                           row.incomplete, text);
    }
    return out;
}

/// Training of a text model on one card, as far as the file says.
bool is_in_question(const Sample& sample) {
    const bool trainer =
        sample.format.empty() ||
        has_any(sample.format, {"axolotl", "llama-factory", "trl", "torchtune", "litgpt", "ms-swift", "training-args"});
    return trainer && sample.format != "llama-factory-v1" && !sample.several_cards && !sample.other_than_text &&
           !sample.no_training;
}

}  // namespace

// One test for both, since the files take long.
TEST_CASE("public files of trainers are predicted or refused by the name of a key, and counted in the documents") {
    REQUIRE(samples().size() > 500 / kEvery);
    int asked = 0;
    int predicted = 0;
    for (const Sample& sample : samples()) {
        INFO(sample.file << ": " << sample.why);
        if (sample.outcome == Outcome::refused) CHECK(!sample.why.empty());
        if (!is_in_question(sample)) continue;
        ++asked;
        if (sample.outcome == Outcome::predicted) ++predicted;
    }
    INFO(predicted << " of " << asked);
    if (kEvery > 1) return;
    CHECK(predicted * 100 >= asked * 60);
    const std::string path = VRAMFIT_SOURCE_DIR "/docs/reference/trainer-files.txt";
    if (std::getenv("VRAMFIT_ACCEPT")) {
        std::ofstream(path) << table();
        return;
    }
    std::ifstream stream(path);
    std::stringstream text;
    text << stream.rdbuf();
    CHECK(text.str() == table());
}
