// Reads the files of trainers together: recognises, finds the model, reads each with its format, settles rows and
// cards.
#include <algorithm>

#include <fmt/format.h>

#include "trainers/loaded_class.hpp"
#include "trainers/recognised.hpp"
#include "trainers/settle.hpp"
#include "trainers/text_maps.hpp"
#include "trainers/trainer_format.hpp"
#include "trainers/unknown_keys.hpp"
#include "trainers/unsloth.hpp"
#include "vramfit/spec/attention.hpp"
#include "vramfit/spec/config.hpp"
#include "vramfit/spec/models.hpp"
#include "vramfit/spec/stacks.hpp"
#include "vramfit/spec/suggest.hpp"

namespace vramfit {

using namespace trainers;

namespace {

std::vector<const TrainerFormat*> in_order() {
    const auto all = all_trainer_formats();
    std::vector<const TrainerFormat*> sorted(all.begin(), all.end());
    std::sort(sorted.begin(), sorted.end(),
              [](const TrainerFormat* a, const TrainerFormat* b) { return a->order < b->order; });
    return sorted;
}

const TrainerFormat& format_by_name(std::string_view name) {
    if (const TrainerFormat* found = find_trainer_format(name)) return *found;
    std::vector<std::string_view> names;
    for (const TrainerFormat* each : all_trainer_formats()) names.emplace_back(each->name);
    throw Error(ErrorKind::invalid, "--format-of", fmt::format("unknown format '{}'", name),
                did_you_mean(name, names, fmt::format("known: {}", fmt::join(names, ", "))));
}

const TrainerFormat& recognise(const Document& document) {
    for (const TrainerFormat* format : in_order())
        if (format->recognises && format->recognises(document)) return *format;
    std::string seen;
    for (const std::string& key : document.root.keys) {
        if (seen.size() > 60) break;
        seen += (seen.empty() ? "" : ", ") + key;
    }
    throw Error(ErrorKind::invalid, document.file,
                document.root.kind == Value::Kind::map && !seen.empty()
                    ? fmt::format("no trainer's file has these keys: {}", seen)
                    : "this is no file of a trainer",
                "say which it is with --format-of; vramfit check --help lists the formats");
}

std::vector<Document> documents_of(const TrainerFile& file, bool bf16_card) {
    switch (syntax_of(file.text, file.name)) {
        case Syntax::yaml: return {read_yaml(file.text, file.name)};
        case Syntax::json: return {read_json(file.text, file.name)};
        case Syntax::python: return {read_python(file.text, file.name, bf16_card)};
        case Syntax::notebook: return {read_notebook(file.text, file.name, bf16_card)};
        case Syntax::shell: break;
    }
    return read_shell(file.text, file.name);
}

std::string_view last_part(std::string_view path) { return path.substr(path.rfind('/') + 1); }

/// What a command line names: as it lies there, or as it is given besides.
std::optional<std::string> text_of_named(const TrainerQuestion& question, const std::string& path) {
    if (question.open)
        if (auto text = question.open(path)) return text;
    for (const TrainerFile& given : question.files)
        if (last_part(given.name) == last_part(path)) return given.text;
    return std::nullopt;
}

/// A file named on a command line: what stands there beside its name goes before its content. Returns the files.
std::vector<TrainerFile> follow_named_files(const TrainerQuestion& question, std::vector<Document>& documents) {
    std::vector<TrainerFile> followed;
    for (std::size_t i = 0; i < documents.size(); ++i) {
        const Value* named = documents[i].root.find("<config>");
        if (documents[i].syntax != Syntax::shell || !named) continue;
        const std::string path = named->text;
        const auto text = text_of_named(question, path);
        if (!text)
            throw Error(ErrorKind::invalid, text_of(documents[i].place(named->place)),
                        fmt::format("the file {} cannot be read", path),
                        "give it as a further FILE, or its right path");
        if (const Syntax syntax = syntax_of(*text, path); syntax != Syntax::yaml && syntax != Syntax::json)
            throw Error(ErrorKind::invalid, text_of(documents[i].place(named->place)),
                        fmt::format("{} is no file of keys", path), "a YAML or JSON file is wanted here");
        documents[i].root.erase("<config>");
        Document inner = documents_of({path, *text}, question.bf16_card).front();
        for (std::size_t k = 0; k < documents[i].root.keys.size(); ++k) {
            Value& item = documents[i].root.items[k];
            item.file = documents[i].file;
            item.place = documents[i].root.key_places[k];
            inner.root.put(documents[i].root.keys[k], std::move(item));
        }
        inner.program = documents[i].program;
        inner.launcher = documents[i].launcher;
        documents[i] = std::move(inner);
        followed.push_back({path, *text});
    }
    return followed;
}

/// The documents of each file; a file that a command line names as well has been read with it.
std::vector<Document> all_documents(const TrainerQuestion& question) {
    std::vector<std::vector<Document>> of_file;
    std::vector<TrainerFile> followed;
    for (const TrainerFile& file : question.files) {
        of_file.push_back(documents_of(file, question.bf16_card));
        for (TrainerFile& named : follow_named_files(question, of_file.back())) followed.push_back(std::move(named));
    }
    std::vector<Document> out;
    for (std::size_t i = 0; i < of_file.size(); ++i) {
        const TrainerFile& file = question.files[i];
        const bool known = std::any_of(followed.begin(), followed.end(), [&](const TrainerFile& named) {
            return last_part(named.name) == last_part(file.name) && named.text == file.text;
        });
        if (known) continue;
        for (Document& document : of_file[i]) out.push_back(std::move(document));
    }
    return out;
}

std::vector<Recognised> recognise_all(const TrainerQuestion& question) {
    std::vector<Recognised> out;
    for (Document& document : all_documents(question)) {
        const bool named = out.empty() && !question.format_of.empty();
        const TrainerFormat& format = named ? format_by_name(question.format_of) : recognise(document);
        if (document.root.kind != Value::Kind::map)
            throw Error(ErrorKind::invalid, document.file, "this is no file of a trainer", "a map of keys is wanted");
        out.push_back({std::move(document), &format});
    }
    take_out_engines(question, out);
    const auto role = [](const Recognised& r) { return static_cast<int>(r.format->part); };
    std::stable_sort(out.begin(), out.end(),
                     [&](const Recognised& a, const Recognised& b) { return role(a) < role(b); });
    if (out.size() > 1 && out[1].format->part == TrainerPart::training)
        throw Error(ErrorKind::invalid, out[1].document.file,
                    fmt::format("{} is a training of its own beside {}", out[1].document.file, out[0].document.file),
                    "check one training at a time");
    return out;
}

Value edited(const std::string& text) {
    const bool structured = text.starts_with('[') || text.starts_with('{');
    if (!structured) return plain_scalar(text, {});
    return read_yaml(text, "--set").root;
}

/// "${batch_size}": the value of another key of the file (OmegaConf); others stay as they are.
void interpolate(const Value& root, Value& value, int depth) {
    for (Value& item : value.items) interpolate(root, item, depth);
    if (value.kind != Value::Kind::text || !value.text.starts_with("${") || !value.text.ends_with("}")) return;
    const Value* found = root.at(std::string_view(value.text).substr(2, value.text.size() - 3));
    if (!found || !found->is_scalar() || depth > 4) return;
    const Place place = value.place;
    value = *found;
    value.place = place;
    interpolate(root, value, depth + 1);
}

/// --assume-off and edits, before anything is read.
void prepare(const TrainerQuestion& question, std::vector<Recognised>& all, Reading& reading) {
    for (const std::string& key : question.assume_off) {
        bool found = false;
        for (Recognised& each : all) found = each.document.root.erase(key) || found;
        reading.notes.push_back({RemarkKind::assumed_off,
                                 found ? fmt::format("{} is left out: the answer is about a run without it", key)
                                       : fmt::format("{} is assumed to be off", key),
                                 "without --assume-off it is refused"});
    }
    for (Recognised& each : all) {
        read_text_maps(each);
        const Value root = each.document.root;
        if (each.document.syntax == Syntax::yaml) interpolate(root, each.document.root, 0);
    }
    for (const TrainerEdit& edit : question.edits) {
        Value& root = all.front().document.root;
        if (edit.value.empty())
            root.erase(edit.key);
        else
            root.put(edit.key, edited(edit.value));
    }
}

struct ModelMention {
    std::string name;
    std::string network;  ///< the text of a config.json that stands for it
    std::string key;
    FilePlace place;
    ModelLoader loader = {};
};

ModelMention model_name(const TrainerQuestion& question, std::vector<Recognised>& all, Reading& scratch,
                        Problems& problems) {
    if (!question.model.empty()) return {question.model, {}, "--model", {}};  // whatever loads it
    for (Recognised& each : all) {
        if (!each.format->model) continue;
        Reader reader(each.document, each.format->keys, question, scratch, problems);
        std::string name = each.format->model(reader);
        if (name.empty()) continue;
        std::string key;
        for (const std::string& asked : reader.asked())
            if (reader.has(asked)) key = asked;
        std::string network = each.format->network ? each.format->network(reader) : std::string();
        const FilePlace place = reader.place(key);
        return {std::move(name), std::move(network), key, place, model_loader(each.format->name, reader)};
    }
    return {};
}

/// Trainers that leave the tower as it is loaded: LLaMA-Factory and ms-swift freeze it and keep adapters out of it
/// (0.9.5 hparams/finetuning_args.py freeze_vision_tower, 4.6 arguments freeze_vit), Unsloth has a step of its own.
bool loads_whole_as_it_is(std::string_view format) {
    return format.empty() || format.starts_with("trl") || format == "trainer-script" || format == "training-args" ||
           format == "axolotl";
}

/// Models of which no class loads the text part alone (mistral3): AutoModelForCausalLM of transformers 5.17 does not
/// know their type (models/auto/modeling_auto.py MODEL_FOR_CAUSAL_LM_MAPPING_NAMES).
void refuse_tower(const ModelMention& named, const Draft& draft, Reading& reading) {
    if (!has_towers(draft.job.model)) return;
    const bool unknown = named.loader.named == "AutoModelForCausalLM";
    if (loads_whole_as_it_is(named.loader.format) && !unknown) return;
    reading.refusals.push_back(
        {named.key, named.place,
         unknown ? fmt::format("AutoModelForCausalLM does not load {}, which takes images too", draft.job.model.name)
                 : fmt::format("{} takes images too: what this trainer does with its vision tower is not predicted",
                               draft.job.model.name),
         unknown ? "AutoModelForImageTextToText" : "axolotl, trl and Trainer leave it as it is loaded"});
}

/// What sees images stays on the GPU even where only text is trained, and adapters are put into it too.
void refuse_text_part(const ModelMention& named, Draft& draft, Reading& reading) {
    if (!draft.job.model.is_text_part) return refuse_tower(named, draft, reading);
    const LoadedClass loaded = loaded_class(named.loader, draft.job.model.model_type);
    if (!loaded.text_alone && loads_whole_as_it_is(named.loader.format)) {
        draft.job.model = under_release(as_loaded(draft.job.model, false), draft.job.stack);
        if (!draft.job.model.is_text_part) {
            draft.job.plan.load.text_part = false;
            return;
        }
    }
    draft.job.plan.load.text_part = true;  // said here
    if (loaded.text_alone) return;
    const bool is_gemma = draft.job.model.model_type == "gemma3_text";
    const std::string checkpoint =
        fmt::format("a checkpoint of the text part (model type {}), its config.json as --model-config{}",
                    draft.job.model.model_type, is_gemma ? "; gemma-3-1b-it and gemma-3-270m have no tower" : "");
    reading.refusals.push_back(
        {named.key, named.place,
         fmt::format("{} takes images too: {}, whose vision tower takes memory as well and is not predicted",
                     draft.job.model.name,
                     loaded.what.empty() ? "trainers load its class for images and text" : loaded.what),
         loaded.text_by.empty()
             ? checkpoint
             : fmt::format("the text part alone is loaded by {}; or {}", loaded.text_by, checkpoint)});
}

/// Loads the network; what is unsupported about it is a refusal of the key that names it.
void find_model(const TrainerQuestion& question, const ModelMention& named, Draft& draft, Reading& reading,
                Problems& problems) {
    const std::string where =
        named.place.file.empty() ? named.key : fmt::format("{} {}", text_of(named.place), named.key);
    try {
        const std::string& text = question.model_config.empty() ? named.name : question.model_config;
        if (named.network.empty() || !question.model_config.empty())
            draft.job.model = question.models->load(text, question.environment, where);
        else
            draft.job.model = read_config(named.network, where, named.name);
        if (!named.name.empty()) draft.job.model.name = named.name;
        draft.job.model = under_release(draft.job.model, question.stack);
        draft.has_model = true;
        refuse_text_part(named, draft, reading);
        draft.job.plan.load.attention = default_attention(draft.job.model);
        const bool flag = named.place.file.empty();
        reading.inputs.push_back(
            {"model", draft.job.model.name, flag ? InputSource::flag : InputSource::file, named.key, named.place});
    } catch (const Error& error) {
        for (Problem problem : error.problems()) {
            if (error.kind() == ErrorKind::unsupported) {
                const bool here = problem.where == where;
                reading.refusals.push_back(
                    {named.key, named.place, here ? problem.what : problem.where + ": " + problem.what, problem.hint});
            } else {
                if (problem.where == where)
                    problem.hint +=
                        fmt::format("{}to fetch it: hf download {} config.json; or give --model-config FILE",
                                    problem.hint.empty() ? "" : "; ", named.name);
                problems.invalid(problem.where, problem.what, problem.hint);
            }
        }
    }
}

/// The question with the stack of the trainer's release where none was asked for, and where it is from.
TrainerQuestion with_stack(const TrainerQuestion& asked, const TrainerFormat& format, Reading& reading) {
    TrainerQuestion question = asked;
    InputSource source = InputSource::flag;
    std::string key = "--stack";
    if (asked.stack.name.empty()) {
        question.stack = stack_from(format.stack ? format.stack : "").stack;
        source = InputSource::trainer_default;
        key = format.stack ? format.title : "";
    }
    reading.inputs.push_back({"stack", question.stack.name, source, std::move(key), {}});
    return question;
}

void refuse_nameless(const std::vector<Recognised>& all, Problems& problems) {
    problems.invalid(all.front().document.file, "no file names a model",
                     "give the trainer's own file too, or --model NAME");
}

void note_remarks(const Recognised& each, Reading& reading) {
    for (const Remark& remark : each.document.remarks)
        reading.notes.push_back(
            {RemarkKind::odd_value,
             fmt::format("{} {}: {}", text_of(each.document.place(remark.place)), remark.key, remark.text),
             "remove one of them"});
}

}  // namespace

Reading read_trainer_files(const TrainerQuestion& asked) {
    if (asked.files.empty())
        throw Error(ErrorKind::invalid, "FILE", "no file given", "vramfit check FILE, or - for standard input");
    Reading reading;
    Problems problems("");
    std::vector<Recognised> all = recognise_all(asked);
    const TrainerQuestion question = with_stack(asked, *all.front().format, reading);
    check_keys_of_flags(question, all);
    std::vector<std::vector<std::string>> named_keys;  // before they are replaced by what they name
    for (const Recognised& each : all) named_keys.push_back(named_by_values(each.document.root));
    prepare(question, all, reading);
    reading.trainer_file = all.front().document.file;
    Draft draft;
    draft.job.stack = question.stack;
    reading.job.stack = question.stack;
    for (std::size_t i = 0; i < all.size(); ++i) {
        const Recognised& each = all[i];
        reading.files.push_back({each.document.file, each.format->name, each.format->title});
        note_remarks(each, reading);
        Reader(each.document, each.format->keys, question, reading, problems)
            .judge_keys({releases_of(each), named_keys[i]});
    }
    Reading scratch;
    const ModelMention named = model_name(question, all, scratch, problems);
    if (!named.name.empty() || !question.model_config.empty()) find_model(question, named, draft, reading, problems);
    const bool nameless = named.name.empty() && question.model_config.empty();
    if (!draft.has_model) {
        if (!reading.refusals.empty()) return reading;
        // What the file says without a network is still read: a refusal there tells more than the missing name.
        Problems ignored("");
        Reading trial = reading;
        for (const Recognised& each : all) {
            Reader reader(each.document, each.format->keys, question, trial, ignored);
            try {
                if (each.format->read) each.format->read(reader, draft);
            } catch (const Error&) {
                break;  // what depends on the network
            }
        }
        if (!trial.refusals.empty()) return trial;
        if (nameless && problems.none()) refuse_nameless(all, problems);
        problems.throw_if_any();
    }
    for (const Recognised& each : all) {
        Reader reader(each.document, each.format->keys, question, reading, problems);
        if (each.format->read) each.format->read(reader, draft);
    }
    problems.throw_if_any();
    settle(question, draft, reading, problems);
    settle_unsloth(question, draft, reading);
    if (reading.refusals.empty()) problems.throw_if_any();
    reading.job = std::move(draft.job);
    reading.bf16_card = question.bf16_card;
    if (all.front().format->part == TrainerPart::training)
        reading.proposals = propose(all.front().format->knobs, reading);
    return reading;
}

void throw_refusals(const Reading& reading) {
    if (reading.refusals.empty()) return;
    std::vector<Problem> problems;
    for (const Refusal& each : reading.refusals)
        problems.push_back({fmt::format("{}{}{}", text_of(each.place), each.place.file.empty() ? "" : " ", each.key),
                            each.what, each.hint});
    throw Error(ErrorKind::unsupported, std::move(problems));
}

}  // namespace vramfit
