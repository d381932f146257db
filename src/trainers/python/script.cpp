// From a script's trainer to the keys that the formats read.
#include "trainers/python/script.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "trainers/common.hpp"
#include "trainers/python/evaluate.hpp"
#include "trainers/python/signatures.hpp"
#include "vramfit/base/error.hpp"

namespace vramfit::trainers::python {

namespace {

constexpr int kDeepestValue = 8;

/// Those that the formats have rows for.
constexpr std::string_view kTrainers[] = {
    "SFTTrainer",    "UnslothTrainer", "Trainer",    "DPOTrainer",  "GRPOTrainer", "ORPOTrainer",      "KTOTrainer",
    "RewardTrainer", "PPOTrainer",     "CPOTrainer", "RLOOTrainer", "GKDTrainer",  "OnlineDPOTrainer", "BCOTrainer"};

bool is_config(const Object& o) {
    if (!o.is(Kind::call)) return false;
    const std::string_view name = last_name(o.text);
    return name.ends_with("TrainingArguments") || (name.ends_with("Config") && name != "AutoConfig");
}

std::span<const std::string_view> names_of(const Object& called) {
    const std::string_view name = last_name(called.text);
    const bool fast = called.text.find("Fast") != std::string::npos;
    if (name == "DPOTrainer" || name == "KTOTrainer") return kReferenceTrainerNames;
    if (name == "BCOTrainer") return kBcoTrainerNames;
    if (name == "GRPOTrainer" || name == "RLOOTrainer") return kGroupTrainerNames;
    if (name == "GKDTrainer") return kDistillationTrainerNames;
    if (name == "OnlineDPOTrainer") return kOnlineTrainerNames;
    if (name.ends_with("Trainer")) return kTrainerNames;
    if (name == "LoraConfig") return kLoraNames;
    if (name == "BitsAndBytesConfig") return kBitsAndBytesNames;
    if (is_config(called)) return kConfigNames;
    if (name == "from_pretrained") return fast ? std::span<const std::string_view>(kFastNames) : kFromPretrainedNames;
    if (name == "get_peft_model") return fast ? std::span<const std::string_view>(kFastAdapterNames) : kAdapterNames;
    if (name == "prepare_model_for_kbit_training") return kPrepareNames;
    return {};
}

/// Its arguments under their names.
struct Named {
    std::string name;
    Ref value;
    Place place;
};

std::vector<Named> named_arguments(const Object& called, std::span<const std::string_view> names) {
    std::vector<Named> out;
    for (std::size_t i = 0; i < called.keys.size(); ++i) {
        std::string key = called.keys[i];
        const bool positional =
            !key.empty() && key.find_first_not_of("0123456789") == std::string::npos && key.size() < 3;
        if (positional) {
            const auto at = static_cast<std::size_t>(std::stoi(key));
            key = at < names.size() ? std::string(names[at]) : fmt::format("*{}", at);
        }
        out.push_back({std::move(key), called.items[i], called.place_of(called.keys[i])});
    }
    return out;
}

Ref argument(const Object& called, std::string_view name, Place* place = nullptr) {
    for (const Named& each : named_arguments(called, names_of(called)))
        if (each.name == name) {
            if (place) *place = each.place;
            return each.value;
        }
    return nullptr;
}

class SetUp {
  public:
    explicit SetUp(std::string file) : file_(std::move(file)) {}

    Value of(const Object& trainer) {
        root_ = Value::map(trainer.place);
        const std::string_view name = last_name(trainer.text);
        if (trainer.type)
            add("trainer_class", Value::of_text(std::string(trainer.type->text), trainer.type->place),
                trainer.type->place);
        const bool known = std::find(std::begin(kTrainers), std::end(kTrainers), name) != std::end(kTrainers);
        add(known ? std::string(name) : "other_trainer", Value::of_text(std::string(name), trainer.place),
            trainer.place);
        for (const Named& each : named_arguments(trainer, names_of(trainer))) {
            if (each.name == "args")
                read_config(*each.value, each.place);
            else if (each.name == "model")
                read_model(each.value, each.place, 0);
            else if (each.name == "peft_config")
                add_adapter(*each.value, each.place);
            else
                trainer_.emplace_back(each);
        }
        if (!trainer_.empty()) {
            Value own = Value::map(trainer.place);
            for (const Named& each : trainer_)
                if (!own.find(each.name))
                    own.add(each.name, each.place,
                            each.name == "data_collator" && each.value->is(Kind::call)
                                ? map_of(*each.value, each.place, 0)
                                : second_or_value(*each.value, each.name, each.place));
            add("trainer", std::move(own), trainer.place);
        }
        read_effects(on_model_of(trainer));
        return std::move(root_);
    }

  private:
    void add(std::string key, Value value, Place place) {
        if (!root_.find(key)) root_.add(std::move(key), place, std::move(value));
    }

    Value scalar(std::string text, Place place) {
        Value out = plain_scalar(std::move(text), {file_, place});
        out.place = place;
        return out;
    }

    /// What gives rewards or teaches may be a network, or several.
    Value second_or_value(const Object& o, std::string_view name, Place place) {
        if (name != "reward_funcs" && name != "teacher_model") return value_of(o, place, 0);
        if (o.is(Kind::list)) {
            Value out;
            out.place = place;
            out.kind = Value::Kind::list;
            for (const Ref item : o.items) out.items.push_back(second_or_value(*item, name, place));
            return out;
        }
        if (!o.is(Kind::call) || last_name(o.text) != "from_pretrained") return value_of(o, place, 0);
        Value out = map_of(o, o.place, 0);
        out.add("loader", o.place, Value::of_text(loader_of(o), o.place));
        return out;
    }

    /// The class of AutoModel.from_pretrained.
    static std::string loader_of(const Object& loading) {
        const std::string_view path = loading.text;
        return std::string(last_name(path.substr(0, path.size() - std::min<std::size_t>(path.size(), 16))));
    }

    /// The value as a file of YAML would hold it.
    Value value_of(const Object& o, Place place, int depth) {
        if (++values_ > kMostValues) throw Error(ErrorKind::invalid, file_, "nested too deep or too long");
        if (depth > kDeepestValue) return Value::unread("it is nested too deep", place);
        Value out;
        out.place = place;
        switch (o.kind) {
            case Kind::none: return out;
            case Kind::truth: return scalar(o.truth ? "true" : "false", place);
            case Kind::integer: return scalar(std::to_string(o.integer), place);
            case Kind::real: return scalar(fmt::format("{}", o.real), place);
            case Kind::text: return Value::of_text(o.text, place);
            case Kind::unknown: return Value::unread(o.text, place);
            case Kind::dotted: return dotted(o.text, place);
            case Kind::list:
                out.kind = Value::Kind::list;
                for (const Ref item : o.items) out.items.push_back(value_of(*item, place, depth + 1));
                return out;
            case Kind::dict: return map_of(o, place, depth);
            case Kind::call:
                if (is_config(o)) return map_of(o, place, depth);
                return Value::unread(fmt::format("it is the result of {}() in line {}", o.text, o.place.line), place);
            case Kind::part:
                if (last_name(o.owner->text).ends_with("Parser"))
                    return Value::unread(fmt::format("it comes from the command line ({} in line {})", o.owner->text,
                                                     o.owner->place.line),
                                         place);
                return Value::unread(
                    fmt::format("it is {} of what {} in line {} gives", o.text, o.owner->text, o.owner->place.line),
                    place);
            default: return Value::unread("it is no plain value", place);
        }
    }

    Value map_of(const Object& o, Place place, int depth) {
        Value out = Value::map(place);
        for (const Named& each : o.is(Kind::dict) ? of_dict(o) : named_arguments(o, names_of(o)))
            if (!out.find(each.name)) out.add(each.name, each.place, value_of(*each.value, each.place, depth + 1));
        return out;
    }

    static std::vector<Named> of_dict(const Object& o) {
        std::vector<Named> out;
        for (std::size_t i = 0; i < o.keys.size(); ++i) out.push_back({o.keys[i], o.items[i], o.place_of(o.keys[i])});
        return out;
    }

    /// Names from outside that stand for a word: torch.bfloat16, TaskType.CAUSAL_LM.
    static Value dotted(const std::string& name, Place place) {
        const std::string last(last_name(name));
        const std::string_view before =
            std::string_view(name).substr(0, name.size() - std::min(name.size(), last.size() + 1));
        if (name.starts_with("torch.")) return Value::of_text(name.substr(6), place);
        for (const std::string_view words : {"TaskType", "PeftType", "PromptTuningInit", "ReparameterizationType"})
            if (before.ends_with(words)) return Value::of_text(last, place);
        for (const std::string_view words : {"Strategy", "OptimizerNames", "SchedulerType"}) {
            if (!before.ends_with(words)) continue;
            std::string word = last;
            for (char& c : word) c = static_cast<char>(std::tolower(c));
            return Value::of_text(word, place);
        }
        return Value::unread(fmt::format("{} is set nowhere in this file", name), place);
    }

    void read_config(const Object& config, Place place) {
        if (config.is(Kind::none)) return;
        if (!is_config(config)) {
            const bool read = config.is(Kind::unknown);
            add("args", Value::unread(read ? config.text : value_of(config, place, 0).text, place), place);
            return;
        }
        add("config_class", Value::of_text(std::string(last_name(config.text)), config.place), config.place);
        for (const Named& each : named_arguments(config, names_of(config)))
            add(each.name, value_of(*each.value, each.place, 0), each.place);
    }

    void add_adapter(const Object& config, Place place) {
        if (config.is(Kind::none)) return;
        if (!config.is(Kind::call) || !is_config(config)) return add("peft_config", value_of(config, place, 0), place);
        Value map = map_of(config, config.place, 0);
        if (last_name(config.text) != "LoraConfig")
            map.add("peft_type", config.place, Value::of_text(std::string(last_name(config.text)), config.place));
        add("peft_config", std::move(map), place);
    }

    /// The network, from the last call that had it in its hands to the one that loads it.
    void read_model(Ref model, Place place, int depth) {
        if (!model->is(Kind::call) || depth > kDeepestValue) return add("model", value_of(*model, place, 0), place);
        read_effects(model->effects);
        const std::string_view name = last_name(model->text);
        const bool fast = model->text.find("Fast") != std::string::npos;
        Place inner = model->place;
        if (name == "from_pretrained" && model->text.find("Peft") == std::string::npos)
            return read_loading(*model, fast);
        if (name == "get_peft_model" && !fast) {
            Place at = model->place;
            add("adapted", scalar("true", at), at);
            if (const Ref config = argument(*model, "peft_config", &at)) add_adapter(*config, at);
        } else if (name == "get_peft_model" || name == "prepare_model_for_kbit_training") {
            Value map = map_of(*model, model->place, 0);
            map.erase("model");
            add(std::string(name), std::move(map), model->place);
        }
        if (name == "get_peft_model" || name == "prepare_model_for_kbit_training") {
            const Ref next = argument(*model, "model", &inner);
            if (next) return read_model(next, inner, depth + 1);
        }
        // Something else that is given a network and gives one.
        for (std::size_t i = 0; i < model->items.size(); ++i) {
            const Ref next = model->items[i];
            const std::string_view made_by = last_name(next->text);
            const bool is_network =
                next->is(Kind::call) && (made_by == "from_pretrained" || made_by == "get_peft_model" ||
                                         made_by == "prepare_model_for_kbit_training");
            if (!is_network || next->text.find("Tokenizer") != std::string::npos) continue;
            add("wrapped", Value::of_text(fmt::format("{}()", model->text), model->place), model->place);
            return read_model(next, model->place, depth + 1);
        }
        const Value why = value_of(*model, place, 0);
        add("model",
            why.kind == Value::Kind::unread
                ? why
                : Value::unread(fmt::format("it is the result of {}() in line {}", model->text, model->place.line),
                                place),
            place);
    }

    void read_loading(const Object& loading, bool fast) {
        const std::string loader = loader_of(loading);
        add("loader", Value::of_text(loader.empty() ? std::string(loading.text) : loader, loading.place),
            loading.place);
        Value map = map_of(loading, loading.place, 0);
        const char* key = fast ? "model_name" : "pretrained_model_name_or_path";
        if (const Value* named = map.find(key); named && !fast) {
            add("model", *named, map.place_of(key));
            map.erase(key);
        }
        add("from_pretrained", std::move(map), loading.place);
    }

    /// The key of what is done with the network or a part of it; empty: it only looks, or moves it.
    static std::string key_of(const Effect& effect) {
        const std::string_view last = last_name(effect.name);
        if (last == "requires_grad" || last == "requires_grad_") return "requires_grad_";
        const auto is_one_of = [&](std::initializer_list<std::string_view> words) {
            return std::find(words.begin(), words.end(), last) != words.end();
        };
        if (is_one_of({"numel", "size", "items", "dim", "to_string", "cuda", "element_size"})) return {};
        if (is_one_of({"half", "float", "bfloat16", "data", "weight", "bias"})) return "cast";
        if (last != "to") return effect.name;
        const auto& given = effect.value->items;
        const bool casts = std::any_of(given.begin(), given.end(), [](const Ref item) {
            return (item->is(Kind::dotted) && item->text.starts_with("torch.")) ||
                   (item->is(Kind::text) && (item->text.starts_with("float") || item->text.starts_with("bfloat")));
        });
        return casts ? "cast" : "";
    }

    /// What is done with trainer.model where the trainer has made it, or had it by position.
    static std::vector<Effect> on_model_of(const Object& trainer) {
        constexpr std::string_view kModel = "model.";
        std::vector<Effect> out;
        for (const Effect& effect : trainer.effects)
            if (effect.name.starts_with(kModel))
                out.push_back({effect.name.substr(kModel.size()), effect.value, effect.place});
        return out;
    }

    void read_effects(const std::vector<Effect>& effects) {
        for (const Effect& effect : effects) {
            const bool harmless = std::find(std::begin(kHarmlessMethods), std::end(kHarmlessMethods), effect.name) !=
                                  std::end(kHarmlessMethods);
            if (harmless || effect.name.starts_with("tokenizer")) continue;
            if (effect.name == "gradient_checkpointing_enable" || effect.name == "enable_input_require_grads" ||
                effect.name == "resize_token_embeddings") {
                const std::span<const std::string_view> names =
                    effect.name[0] == 'g' ? std::span<const std::string_view>(kEnableNames) : kResizeNames;
                Value map = Value::map(effect.place);
                for (const Named& each : named_arguments(*effect.value, names))
                    map.add(each.name, each.place, value_of(*each.value, each.place, 0));
                root_.erase(effect.name);
                add(effect.name, std::move(map), effect.place);
                continue;
            }
            const std::string key = "model." + key_of(effect);
            if (key == "model.") continue;
            const bool is_call = effect.value->is(Kind::dict);
            root_.erase(key);
            const bool is_setting = effect.name.find("config.") != std::string::npos;
            add(key,
                is_call      ? Value::of_text(effect.name + "()", effect.place)
                : is_setting ? value_of(*effect.value, effect.place, 0)
                             : Value::of_text(effect.name + " is set", effect.place),
                effect.place);
        }
    }

    std::string file_;
    Value root_;
    std::vector<Named> trainer_;
    std::size_t values_ = 0;
};

/// The first trainer that trains, as it is then; else the first one, as it is at the end.
struct Found {
    std::string file;
    Ref trainer = nullptr;
    Value value;
};

}  // namespace

Value set_up_by(std::string_view text, const std::string& file, bool bf16_card, std::string& program) {
    const std::vector<Statement> script = statements_of(text, file);
    Heap heap;
    Evaluator evaluator(heap, file, bf16_card);
    Found found{file, nullptr, {}};
    evaluator.context = &found;
    evaluator.on_train = [](void* context, Ref trainer) {
        Found& into = *static_cast<Found*>(context);
        if (into.trainer) return;
        into.trainer = trainer;
        into.value = SetUp(into.file).of(*trainer);
    };
    evaluator.run(script);
    const std::vector<Ref>& trainers = evaluator.trainers();
    if (trainers.empty())
        throw Error(ErrorKind::invalid, file, "no trainer is set up here that can be read",
                    "SFTTrainer, DPOTrainer, Trainer and UnslothTrainer are read where the script calls them; a "
                    "training loop of "
                    "its own is not");
    if (trainers.size() > 1)
        throw Error(ErrorKind::invalid, text_of(FilePlace{file, trainers[1]->place}),
                    fmt::format("a second trainer is set up here, beside the one in line {}", trainers[0]->place.line),
                    "check one training at a time: leave the other out");
    program = last_name(trainers[0]->text);
    Value out = found.trainer == trainers[0] ? std::move(found.value) : SetUp(file).of(*trainers[0]);
    for (const Effect& effect : trainers[0]->effects) {
        if (effect.name != "evaluate" || out.find(kCallsEvaluate)) continue;
        Value yes;
        yes.kind = Value::Kind::boolean;
        yes.boolean = true;
        yes.place = effect.place;
        out.add(kCallsEvaluate, effect.place, std::move(yes));
    }
    return out;
}

}  // namespace vramfit::trainers::python
