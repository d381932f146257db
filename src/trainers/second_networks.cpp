// trl 1.16.0 trainer/grpo_trainer.py GRPOTrainer.__init__: a name is a model's, loaded by
// AutoModelForSequenceClassification with the policy's model_init_kwargs; scripts/grpo.py, rloo.py.
#include "trainers/second_networks.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "trainers/common.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/spec/config.hpp"
#include "vramfit/spec/models.hpp"
#include "vramfit/spec/plan_names.hpp"

namespace vramfit::trainers {

namespace {

constexpr const char* kRewardFunctions = "trainer.reward_funcs";
constexpr const char* kClassifier = "AutoModelForSequenceClassification";

/// What a value under `key` says, read as if it stood at the root of a file.
class Said {
  public:
    Said(Reader& reader, std::string_view key, const Value& map) : reader_(reader), key_(key), map_(map) {}

    std::string word(const char* name) const {
        const Value* value = map_.find(name);
        return value && value->is_scalar() ? value->text : std::string();
    }
    bool has(const char* name) const {
        const Value* value = map_.find(name);
        return value && value->kind != Value::Kind::null;
    }
    void refuse(std::string what, std::string hint = {}) const {
        reader_.refuse(key_, std::move(what), std::move(hint));
    }

  private:
    Reader& reader_;
    std::string_view key_;
    const Value& map_;
};

/// The dtype of a word; nothing: the checkpoint's ("auto", or none is said).
bool set_dtype(const Said& said, SecondNetwork& out) {
    for (const char* key : {"dtype", "torch_dtype"}) {
        std::string word = said.word(key);
        if (word.starts_with("torch.")) word.erase(0, 6);
        if (word.empty() || word == "auto") continue;
        const auto known = std::find_if(std::begin(kLoadDTypes), std::end(kLoadDTypes),
                                        [&](const Named<DType>& each) { return each.name == word; });
        if (known == std::end(kLoadDTypes)) {
            said.refuse(fmt::format("weights of the dtype '{}' are not supported", word));
            return false;
        }
        out.dtype = known->value;
    }
    return true;
}

/// Arguments of from_pretrained.
bool set_loading(const Said& said, SecondNetwork& out) {
    if (said.has("quantization_config") || said.has("load_in_4bit") || said.has("load_in_8bit")) {
        said.refuse("a second network that a script quantizes is not predicted",
                    "one in 16 bits; a job file can say it (loop.reward_models)");
        return false;
    }
    const std::string attention = said.word("attn_implementation");
    for (const Named<AttentionImplementation>& each : kAttentionNames)
        if (each.name == attention) out.attention = each.value;
    out.on_device = said.has("device_map") && said.word("device_map") != "cpu";
    return set_dtype(said, out);
}

/// One of them, given as a name or as what from_pretrained gives; false: it is a function, or was refused.
bool is_model(const Value& each) { return each.kind == Value::Kind::text || each.kind == Value::Kind::map; }

void add_model(Reader& reader, const Value& each, Draft& draft) {
    if (each.kind == Value::Kind::text) {
        auto second = second_by_name(reader, kRewardFunctions, each.text);
        const Value* const kwargs = reader.value("model_init_kwargs");
        if (second && kwargs && kwargs->kind == Value::Kind::map &&
            !set_loading({reader, kRewardFunctions, *kwargs}, *second))
            return;
        if (second) draft.job.plan.reward_models.push_back(std::move(*second));
        return;
    }
    const Said said(reader, kRewardFunctions, each);
    const std::string loader = said.word("loader"), name = said.word("pretrained_model_name_or_path");
    if (loader != kClassifier)
        return said.refuse(fmt::format("a reward model that {} loads is not predicted", loader), kClassifier);
    if (const std::string labels = said.word("num_labels"); !labels.empty() && labels != "1")
        return said.refuse(fmt::format("a reward model gives one number, not {}", labels), "num_labels=1");
    if (name.empty()) return said.refuse("the reward model's name cannot be read", "write it as a text");
    auto second = second_by_name(reader, kRewardFunctions, name);
    if (second && set_loading(said, *second)) draft.job.plan.reward_models.push_back(std::move(*second));
}

}  // namespace

std::optional<SecondNetwork> second_by_name(Reader& reader, std::string_view key, const std::string& name) {
    SecondNetwork out;
    try {
        out.model = as_loaded(reader.question().models->load(name, reader.question().environment, key), {});
    } catch (const Error& error) {
        for (const Problem& problem : error.problems()) {
            if (error.kind() == ErrorKind::unsupported)
                reader.refuse(key, problem.what, problem.hint);
            else
                reader.invalid(key, problem.what, problem.hint);
        }
        return std::nullopt;
    }
    out.model.name = name;
    return out;
}

// trl 1.16.0 experimental/gkd/gkd_trainer.py GKDTrainer.__init__: AutoModelForCausalLM with teacher_model_init_kwargs.
void read_teacher_of_script(Reader& reader, Draft& draft) {
    constexpr const char* kKey = "trainer.teacher_model";
    const Value* given = reader.value(kKey);
    const Value* const kwargs = reader.value("teacher_model_init_kwargs");
    if (!given) return reader.invalid("GKDTrainer", "it is given no teacher_model", "teacher_model=...");
    const bool by_name = given->kind == Value::Kind::text;
    if (!by_name && given->kind != Value::Kind::map)
        return reader.refuse(kKey, "the teacher cannot be read",
                             "a name, or AutoModelForCausalLM.from_pretrained(...)");
    const Said said(reader, kKey, *given);
    if (!by_name && said.word("loader") != "AutoModelForCausalLM")
        return said.refuse(fmt::format("a teacher that {} loads is not predicted", said.word("loader")),
                           "AutoModelForCausalLM");
    const std::string name = by_name ? given->text : said.word("pretrained_model_name_or_path");
    if (name.empty()) return said.refuse("the teacher's name cannot be read", "write it as a text");
    auto second = second_by_name(reader, kKey, name);
    if (!second) return;
    if (!by_name && !set_loading(said, *second)) return;
    if (by_name && kwargs && kwargs->kind == Value::Kind::map && !set_loading({reader, kKey, *kwargs}, *second)) return;
    draft.job.plan.teacher = std::move(*second);
}

void read_reward_model_of_trl(Reader& reader, Draft& draft) {
    constexpr const char* kKey = "reward_model_name_or_path";
    TrainPlan& plan = draft.job.plan;
    const auto name = reader.text(kKey);
    const Value* functions = reader.value("reward_funcs");
    const bool several = functions && functions->kind == Value::Kind::list && !functions->items.empty();
    plan.preference.grpo.reward_functions =
        several ? static_cast<std::int64_t>(functions->items.size()) : (functions || !name ? 1 : 0);
    if (!name) return;
    auto second = second_by_name(reader, kKey, *name);
    if (!second) return;
    second->dtype = plan.load.dtype;
    second->attention = plan.load.attention;
    plan.reward_models.push_back(std::move(*second));
}

void read_reward_sources(Reader& reader, Draft& draft) {
    const Value* given = reader.value(kRewardFunctions);
    if (!given) return;
    const std::vector<Value> one{*given};
    const std::vector<Value>& all = given->kind == Value::Kind::list ? given->items : one;
    const auto models = std::count_if(all.begin(), all.end(), is_model);
    for (const Value& each : all)
        if (is_model(each)) add_model(reader, each, draft);
    draft.job.plan.preference.grpo.reward_functions = static_cast<std::int64_t>(all.size()) - models;
}

}  // namespace vramfit::trainers
