// Launch lines: which program a shell script trains with, its arguments, and those of its launcher.
#include <algorithm>

#include <fmt/format.h>

#include "trainers/read_text.hpp"
#include "trainers/shell_words.hpp"
#include "vramfit/base/error.hpp"

namespace vramfit::trainers {

namespace {

using Words = std::vector<ShellWord>;

bool is_assignment_word(std::string_view text) {
    const std::size_t equals = text.find('=');
    if (equals == 0 || equals == std::string_view::npos) return false;
    return std::all_of(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(equals),
                       [](unsigned char c) { return std::isalnum(c) || c == '_'; });
}

std::string file_part(std::string_view path) {
    const std::size_t slash = path.rfind('/');
    return std::string(slash == std::string_view::npos ? path : path.substr(slash + 1));
}

bool is_file_of_keys(std::string_view text) {
    return text.ends_with(".yaml") || text.ends_with(".yml") || text.ends_with(".json");
}

Value argument(const ShellWord& word) {
    Value value = plain_scalar(word.text, {"", word.place});
    if (value.kind == Value::Kind::null && !word.text.empty()) value = Value::of_text(word.text, word.place);
    value.place = word.place;
    return value;
}

/// A number may begin with a minus, a flag does too.
bool is_flag(std::string_view text) {
    return text.size() > 1 && text[0] == '-' && text.find_first_not_of('-') != std::string_view::npos &&
           !(std::isdigit(static_cast<unsigned char>(text[1])) || text[1] == '.');
}

class Command {
  public:
    Command(const Words& words, const std::string& file) : words_(words), file_(file) {}

    /// The documents of the command; none if it trains nothing.
    std::vector<Document> read() {
        skip_prefixes();
        if (done()) return {};
        const std::string first = file_part(take().text);
        if (first == "accelerate" && !done() && peek() == "launch") return take(), read_launcher("accelerate launch");
        if (first == "torchrun" || first == "deepspeed") return read_launcher(first);
        if (first == "python" || first == "python3") return read_python_command();
        return read_program(first);
    }

  private:
    bool done() const { return at_ >= words_.size(); }
    const std::string& peek() const { return words_[at_].text; }
    const ShellWord& take() { return words_[at_++]; }

    Document document() const {
        Document out;
        out.file = file_;
        out.syntax = Syntax::shell;
        out.root = Value::map(words_.front().place);
        return out;
    }

    void skip_prefixes() {
        cards_ = document();
        while (!done()) {
            const std::string& text = peek();
            if (is_assignment_word(text)) {
                note_environment(words_[at_]);
            } else if (text != "nohup" && text != "time" && text != "exec" && text != "env" && text != "sudo" &&
                       text != "uv" && text != "poetry" && text != "run" && text != "export") {
                return;
            }
            ++at_;
        }
    }

    void note_environment(const ShellWord& word) {
        const std::size_t equals = word.text.find('=');
        const std::string name = word.text.substr(0, equals);
        if (name != "NPROC_PER_NODE" && name != "CUDA_VISIBLE_DEVICES" && name != "NNODES") return;
        ShellWord value{word.text.substr(equals + 1), word.place, false};
        if (name == "CUDA_VISIBLE_DEVICES")
            value.text = std::to_string(std::count(value.text.begin(), value.text.end(), ',') + 1);
        cards_.root.erase(name);
        cards_.root.add(name, word.place, argument(value));
    }

    /// --key value, --key=value, --switch, up to the first word that is no flag's value (launchers) or the end.
    void read_flags(Value& root, bool to_the_end) {
        while (!done() && (to_the_end || is_flag(peek()))) {
            const ShellWord& word = take();
            if (!is_flag(word.text)) {
                read_positional(root, word);
                continue;
            }
            std::string key = word.text.substr(word.text.find_first_not_of('-'));
            std::vector<ShellWord> values;
            if (const std::size_t equals = key.find('='); equals != std::string::npos) {
                values.push_back({key.substr(equals + 1), word.place, false});
                key.resize(equals);
            } else {
                while (!done() && !is_flag(peek()) && (to_the_end || values.empty())) {
                    if (!to_the_end && (peek().ends_with(".py") || is_switch(key))) break;
                    values.push_back(take());
                }
            }
            std::replace(key.begin(), key.end(), '-', '_');
            if (key == "config" && values.size() == 1) key = "<config>";
            put(root, key, word.place, values);
        }
    }

    static bool is_switch(std::string_view key) {
        for (const std::string_view name : {"multi_gpu", "multi-gpu", "use_deepspeed", "use_fsdp", "standalone",
                                            "debug", "no_python", "module", "m", "cpu", "tpu", "quiet", "q"})
            if (key == name) return true;
        return false;
    }

    static void put(Value& root, const std::string& key, Place place, const std::vector<ShellWord>& values) {
        Value value;
        if (values.empty()) {
            value = plain_scalar("true", {"", place});
        } else if (values.size() == 1) {
            value = argument(values.front());
        } else {
            value = Value::list(values.front().place);
            for (const ShellWord& word : values) value.items.push_back(argument(word));
        }
        root.put(key, std::move(value));
        for (std::size_t i = 0; i < root.keys.size(); ++i)
            if (root.keys[i] == key) root.key_places[i] = place;
    }

    /// A file of keys, or KEY=VALUE.
    static void read_positional(Value& root, const ShellWord& word) {
        if (is_file_of_keys(word.text) && !root.find("<config>")) return put(root, "<config>", word.place, {word});
        const std::size_t equals = word.text.find('=');
        if (equals == 0 || equals == std::string::npos) return;
        put(root, word.text.substr(0, equals), word.place, {{word.text.substr(equals + 1), word.place, false}});
    }

    std::vector<Document> read_launcher(const std::string& launcher) {
        Document flags = document();
        flags.launcher = launcher;
        for (std::size_t i = 0; i < cards_.root.keys.size(); ++i)
            flags.root.add(cards_.root.keys[i], cards_.root.items[i].place, cards_.root.items[i]);
        cards_ = document();
        bool module = false;
        read_flags(flags.root, false);
        if (flags.root.erase("m") || flags.root.erase("module")) module = true;
        if (const Value* config = flags.root.find("config_file"); config && config->kind == Value::Kind::text) {
            Value named = *config;
            flags.root.erase("config_file");
            flags.root.add("<config>", named.place, named);
        }
        if (done()) return {};
        std::vector<Document> out = read_program(module ? take().text : file_part(take().text));
        out.push_back(std::move(flags));
        return out;
    }

    std::vector<Document> read_python_command() {
        while (!done() && is_flag(peek()) && peek() != "-m") ++at_;
        if (done()) return {};
        if (peek() == "-m") {
            ++at_;
            if (done()) return {};
            const std::string module = take().text;
            if (module == "torch.distributed.run" || module == "torch.distributed.launch")
                return read_launcher("torchrun");
            if (module == "accelerate.commands.launch") return read_launcher("accelerate launch");
            return read_program(module);
        }
        if (!peek().ends_with(".py")) return {};
        return read_program(file_part(take().text));
    }

    std::vector<Document> read_program(std::string program) {
        if (program == "axolotl.cli.train") program = "axolotl train";
        if (program.starts_with("trl.scripts.")) program.replace(3, 9, " ");
        const bool two_words = program == "axolotl" || program == "trl" || program == "swift" || program == "tune" ||
                               program == "llamafactory-cli" || program == "litgpt";
        if (two_words) {
            if (done()) return {};
            program += " " + take().text;
        }
        const bool trains = two_words || program.ends_with(".py") || program.find('.') != std::string::npos ||
                            program == "axolotl train" || program.starts_with("trl ");
        if (!trains) return {};
        Document out = document();
        out.program = program;
        read_flags(out.root, true);
        if (out.root.keys.empty()) return {};
        std::vector<Document> all;
        all.push_back(std::move(out));
        if (!cards_.root.keys.empty()) {
            cards_.launcher = "environment";
            all.push_back(cards_);
        }
        return all;
    }

    const Words& words_;
    std::string file_;
    std::size_t at_ = 0;
    Document cards_;
};

}  // namespace

std::vector<Document> read_shell(std::string_view text, const std::string& file) {
    check_text(text, file);
    for (const Words& words : shell_commands(text, file)) {
        if (words.empty()) continue;
        std::vector<Document> documents = Command(words, file).read();
        if (!documents.empty()) return documents;
    }
    throw Error(
        ErrorKind::invalid, file, "no command in the script trains anything",
        "known: python FILE.py, accelerate launch, torchrun, deepspeed, trl, swift, llamafactory-cli, axolotl, tune");
}

}  // namespace vramfit::trainers
