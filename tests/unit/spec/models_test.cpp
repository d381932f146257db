// The built-in models, parameter counts, and models by path or from the Hugging Face cache.
#include "vramfit/spec/models.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>

#include <fmt/format.h>
#include <unistd.h>

#include "expect.hpp"
#include "spec/hub_cache.hpp"
#include "spec/json_parse.hpp"
#include "support/catch.hpp"
#include "support/sanitized.hpp"
#include "vramfit/spec/config.hpp"
#include "vramfit/spec/suggest.hpp"

using namespace vramfit;
namespace fs = std::filesystem;

namespace {

// A folder that is removed at the end of the test.
struct Folder {
    fs::path path = fs::temp_directory_path() / fmt::format("vramfit-models-{}", getpid());
    Folder() { fs::create_directories(path); }
    ~Folder() { fs::remove_all(path); }
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;
    void write(const fs::path& name, const std::string& text) const {
        fs::create_directories((path / name).parent_path());
        std::ofstream(path / name) << text;
    }
};

constexpr const char* kSmall = R"({"model_type": "llama", "hidden_size": 64, "num_hidden_layers": 3})";

}  // namespace

TEST_CASE("every built-in model loads, is counted and is found by all its names") {
    CHECK(built_in_models().size() >= 100);
    std::set<std::string> names;
    for (std::size_t i = 0; const BuiltInModel& model : built_in_models()) {
        if (!test::is_tried(i++, 12)) continue;
        INFO(model.name);
        const ModelSpec spec = spec_of(model);
        CHECK(spec.name == model.name);
        CHECK(total_parameters(spec) > 10'000'000);
        CHECK(names.insert(lower_case(model.name)).second);
        CHECK(find_built_in(model.name) == &model);
        CHECK(find_built_in(model.id) == &model);
        CHECK(load_model(model.id, {}).name == model.name);
        CHECK(facts_of(model) == ModelFacts{spec.model_type, total_parameters(spec), spec.num_hidden_layers,
                                            spec.max_position_embeddings});
    }
}

TEST_CASE("checkpoints of recorded types are known by name, or refused for what stands against them", "[long]") {
    for (const char* name :
         {"olmo-3-7b-instruct", "allenai/Olmo-3-7B-Think", "unsloth/Olmo-3-7B-Instruct", "Qwen/Qwen3.5-9B-Base",
          "qwen3-next-80b-a3b-instruct", "EleutherAI/gpt-j-6B", "opt-1.3b", "LiquidAI/LFM2-1.2B", "zai-org/GLM-4.6",
          "deepseek-ai/DeepSeek-V3-0324-BF16", "tiiuae/falcon-40b-instruct", "mosaicml/mpt-7b", "facebook/opt-350m",
          "microsoft/Phi-mini-MoE-instruct", "meta-llama/Llama-4-Scout-17B-16E", "bigscience/bloom",
          "stabilityai/stablelm-2-12b"}) {
        INFO(name);
        CHECK(load_model(name, {}).recording);
    }
    CHECK(load_model("qwen3.5-9b", {}).is_text_part);
    CHECK_FALSE(load_model("olmo-3-1025-7b", {}).is_text_part);
    CHECK(says(error_of([] { load_model("deepseek-ai/DeepSeek-R1", {}); }), "--model", "published in FP8"));
    CHECK(says(error_of([] { load_model("microsoft/Phi-3.5-MoE-instruct", {}); }), "--model", "another rope_scaling"));
    CHECK(says(error_of([] { load_model("unsloth/LFM2-1.2B-unsloth-bnb-4bit", {}); }), "--model", "quantized already"));
    CHECK(says(error_of([] { load_model("olmo-3-1025", {}); }), "--model", "did you mean 'olmo-3-1025-7b'?"));
}

TEST_CASE("of Gemma 3 the whole is loaded, unless the text part is asked for") {
    const auto count = [](const char* name, bool text_part) {
        return total_parameters(as_loaded(load_model(name, {}), text_part));
    };
    // Hub safetensors totals: google/gemma-3-4b-it, gemma-3-12b-it, gemma-3-27b-it.
    CHECK(count("gemma-3-4b-it", false) == 4'300'079'472);
    CHECK(count("gemma-3-12b-it", false) == 12'187'325'040);
    CHECK(count("gemma-3-27b-it", false) == 27'432'406'640);
    CHECK(count("gemma-3-4b-it", true) == 3'880'263'168);
    const ModelSpec whole = as_loaded(load_model("gemma-3-4b-it", {}), false);
    CHECK(has_towers(whole));
    CHECK(whole.num_hidden_layers == 34);
    CHECK(as_loaded(load_model("gemma-3-1b-it", {}), false).model_type == "gemma3_text");
    // A model that is written down is read back as it is.
    CHECK(to_config_text(as_loaded(read_config(to_config_text(whole), "config.json"), false)) == to_config_text(whole));
    CHECK(says(error_of([] {
                   as_loaded(read_config(R"({"model_type": "gemma3", "text_config": {"hidden_size": 64},
                       "vision_config": {"model_type": "siglip_vision_model", "hidden_size": 48, "image_size": 448,
                       "patch_size": 14, "vision_use_head": false}})",
                                         "config.json"),
                             false);
               }),
               "config.json /vision_config/image_size", "448 was not recorded"));
}

TEST_CASE("of Gemma 4 the whole is loaded, of Qwen3.5 where that is said", "[long]") {
    const auto count = [](const char* name, std::optional<bool> text_part) {
        return total_parameters(as_loaded(load_model(name, {}), text_part));
    };
    // Hub safetensors totals without the layer of multi-token prediction, which is not loaded: Qwen/Qwen3.5-0.8B, 2B,
    // 4B, 9B and 27B.
    CHECK(count("qwen3.5-0.8b", false) == 873'438'784 - 20'452'864);
    CHECK(count("qwen3.5-2b", false) == 2'274'069'824 - 60'828'160);
    CHECK(count("qwen3.5-4b", false) == 4'659'865'088 - 120'599'552);
    CHECK(count("qwen3.5-9b", false) == 9'653'104'368 - 243'290'624);
    CHECK(count("qwen3.5-27b", false) == 27'781'427'952 - 424'699'392);
    CHECK(count("qwen3.5-35b-a3b", false) == 35'951'822'704 - 844'640'768);
    CHECK(count("qwen3.5-4b", std::nullopt) == 4'205'751'296);
    // google/gemma-4-31B and 26B-A4B: their totals have the tied head a second time.
    CHECK(count("gemma-4-31b", std::nullopt) == 32'682'372'656 - std::int64_t{262144} * 5376);
    CHECK(count("gemma-4-26b-a4b", std::nullopt) == 26'544'131'376 - std::int64_t{262144} * 2816);
    CHECK(count("gemma-4-31b", true) == 30'697'345'280);
    CHECK(has_towers(as_loaded(load_model("gemma-4-31b", {}), std::nullopt)));
    CHECK_FALSE(has_towers(as_loaded(load_model("qwen3.5-4b", {}), std::nullopt)));
    CHECK(has_towers(load_model("ministral-3-8b", {})));
    CHECK(load_model("mistralai/Mistral-Small-3.2-24B-Instruct-2506", {}).num_hidden_layers == 40);
    CHECK(says(error_of([] { load_model("mistralai/Ministral-3-8B-Instruct-2512", {}); }), "--model",
               "published in FP8"));
    CHECK(says(error_of([] {
                   read_config(R"({"model_type": "mistral3", "text_config": {"model_type": "llama"},
                       "vision_config": {"patch_size": 14}})",
                               "config.json");
               }),
               "config.json /text_config/model_type", "was not recorded"));
}

TEST_CASE("parameters are counted as published") {
    const auto lines = lines_of("model_counts.jsonl");
    CHECK(lines.size() == 401);
    for (std::size_t i = 0; const std::string& line : lines) {
        if (!test::is_tried(i++, 12)) continue;
        Problems problems("counts");
        const JsonValue row = parse_json(line, problems);
        REQUIRE(problems.none());
        INFO(row.find("id")->text);
        const ModelSpec spec = read_config(to_text(*row.find("config")), "config.json");
        CHECK(total_parameters(spec) == row.find("parameters")->integer);
    }
}

TEST_CASE("models are found by names in any case, and typing mistakes are answered") {
    for (const char* name :
         {"gemma-2b", "GEMMA-2B", "google/gemma-2b", "llama-3.1-8b", "meta-llama/Llama-3.1-8B-Instruct", "qwen2.5-0.5b",
          "Qwen/Qwen2.5-0.5B-Instruct", "mistral-7b-v0.1", "qwen3-8b", "gemma-2-9b", "tinyllama-1.1b", "smollm2-135m",
          "microsoft/phi-4", "google/gemma-3-1b-it", "EleutherAI/pythia-1b", "gpt2", "bigcode/starcoder2-3b",
          "TinyLlama/TinyLlama-1.1B-Chat-v1.0", "meta-llama/Llama-2-7b-hf"}) {
        INFO(name);
        CHECK(find_built_in(name) != nullptr);
        CHECK_NOTHROW(load_model(name, {}));
    }
    CHECK(says(error_of([] { load_model("gema-2b", {}); }), "--model", "did you mean 'gemma-2b'?"));
    CHECK(says(error_of([] { load_model("nothing/like-this-at-all", {}); }), "--model", "vramfit models"));
    CHECK(error_of([] { load_model("", {}); }));
    CHECK(load_model("mistral-7b-v0.1", {}).sliding_window == 4096);
    CHECK_FALSE(load_model("mistral-7b-v0.3", {}).sliding_window);
    CHECK(load_model("qwen1.5-0.5b", {}).tie_word_embeddings);
}

TEST_CASE("models are read from folders and files") {
    const Folder folder;
    folder.write("config.json", kSmall);
    folder.write("other.json", "{\"model_type\": \"llama\", \"hidden_size\": 0}");
    fs::create_directories(folder.path / "empty");
    CHECK(load_model(folder.path.string(), {}).num_hidden_layers == 3);
    CHECK(load_model((folder.path / "config.json").string(), {}).hidden_size == 64);
    const std::string other = (folder.path / "other.json").string();
    CHECK(says(error_of([&] { load_model(other, {}); }), other + " /hidden_size", "0 is not between"));
    CHECK(says(error_of([&] { load_model((folder.path / "empty").string(), {}); }), (folder.path / "empty").string(),
               "no config.json"));
}

TEST_CASE("the Hugging Face cache is where huggingface_hub looks") {
    Environment environment;
    CHECK(hub_cache(environment).empty());
    environment.home = "/home/x";
    CHECK(hub_cache(environment) == "/home/x/.cache/huggingface/hub");
    environment.xdg_cache_home = "/cache";
    CHECK(hub_cache(environment) == "/cache/huggingface/hub");
    environment.hf_home = "~/hf";
    CHECK(hub_cache(environment) == "/home/x/hf/hub");
    environment.huggingface_hub_cache = "/older";
    CHECK(hub_cache(environment) == "/older");
    environment.hf_hub_cache = "/newer";
    CHECK(hub_cache(environment) == "/newer");
}

TEST_CASE("models are read from the Hugging Face cache") {
    const Folder folder;
    folder.write("models--org--tiny/refs/main", "abc123\n");
    folder.write("models--org--tiny/snapshots/abc123/config.json", kSmall);
    folder.write("models--org--tiny/snapshots/other/config.json", "{}");
    folder.write("models--org--single/snapshots/one/config.json", kSmall);
    folder.write("models--org--two/snapshots/one/config.json", kSmall);
    folder.write("models--org--two/snapshots/two/config.json", kSmall);
    Environment environment;
    environment.hf_hub_cache = folder.path.string();
    CHECK(load_model("org/tiny", environment).name == "org/tiny");
    CHECK(load_model("org/single", environment).num_hidden_layers == 3);
    CHECK(error_of([&] { load_model("org/two", environment); }));
    CHECK(error_of([&] { load_model("org/../tiny", environment); }));
    CHECK(error_of([&] { load_model("org/tiny", {}); }));
}
