// Python scripts: the calls that set up a training, with their literal arguments. Nothing is run.
#include <cctype>
#include <map>

#include <fmt/format.h>

#include "trainers/read_text.hpp"
#include "trainers/text_cursor.hpp"
#include "vramfit/base/error.hpp"

namespace vramfit::trainers {

namespace {

/// Calls whose arguments are kept, by the last parts of their names.
constexpr std::string_view kCalls[] = {
    "FastLanguageModel.from_pretrained",
    "FastModel.from_pretrained",
    "FastVisionModel.from_pretrained",
    "FastLanguageModel.get_peft_model",
    "FastModel.get_peft_model",
    "FastVisionModel.get_peft_model",
    "SFTConfig",
    "TrainingArguments",
    "UnslothTrainingArguments",
    "SFTTrainer",
    "UnslothTrainer",
    "DPOTrainer",
    "GRPOTrainer",
    "ORPOTrainer",
    "KTOTrainer",
};

class PythonText : TextCursor {
  public:
    PythonText(std::string_view text, Document& out) : TextCursor(text), out_(out) {}

    void read() {
        while (!done()) {
            skip_blanks();
            if (done()) return;
            if (is_name_start(peek())) {
                read_name();
            } else if (peek() == '"' || peek() == '\'') {
                (void)read_text();
            } else {
                step();
            }
        }
    }

  private:
    static bool is_name_start(char c) { return std::isalpha(static_cast<unsigned char>(c)) || c == '_'; }
    static bool is_name_char(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.'; }

    void skip_blanks() {
        while (!done()) {
            if (peek() == '#') {
                while (!done() && peek() != '\n') step();
            } else if (std::isspace(static_cast<unsigned char>(peek())) || peek() == '\\') {
                step();
            } else {
                return;
            }
        }
    }

    std::string read_word() {
        const std::size_t begin = position();
        while (!done() && is_name_char(peek())) step();
        return std::string(since(begin));
    }

    void read_name() {
        const Place at = here();
        const std::string name = read_word();
        skip_blanks();
        if (peek() == '=' && peek(1) != '=') {
            step();
            skip_blanks();
            const TextCursor begin = *this;
            const std::size_t before = values_;
            Value value = read_value(0);
            if (!is_open_expression()) variables_[name] = {std::move(value), values_ - before};
            return go_back(begin);  // the right side may hold a call
        }
        if (peek() != '(') return;
        for (const std::string_view call : kCalls) {
            const bool whole = name == call || name.ends_with("." + std::string(call));
            if (!whole) continue;
            step();
            std::string key(call);
            if (const std::size_t dot = key.find('.'); dot != std::string::npos) {
                if (key.starts_with("FastVision")) out_.root.add("vision", at, plain_scalar("true", {"", at}));
                key.erase(0, dot + 1);
            }
            Value arguments = read_arguments(0);
            if (!out_.root.find(key)) out_.root.add(key, at, std::move(arguments));
            return;
        }
    }

    [[noreturn]] void refuse_long() const {
        throw Error(ErrorKind::invalid, text_of(out_.place(here())), "nested too deep or too long");
    }

    void count(std::size_t values) {
        values_ += values;
        if (values_ > kMostValues) refuse_long();
    }

    /// Whether the expression goes on behind the literal: then it is no literal.
    bool is_open_expression() {
        while (!done() && (peek() == ' ' || peek() == '\t')) step();
        const char c = peek();
        return !(c == '\0' || c == '\n' || c == '\r' || c == '#' || c == ',' || c == ')' || c == ']' || c == '}' ||
                 c == ';');
    }

    /// The arguments up to the closing bracket; those without a name are called "0", "1".
    Value read_arguments(int depth) {
        Value out = Value::map(here());
        int number = 0;
        while (!done()) {
            skip_blanks();
            if (peek() == ')') {
                step();
                return out;
            }
            if (peek() == ',') {
                step();
                continue;
            }
            const Place at = here();
            std::string key = std::to_string(number);
            if (is_name_start(peek())) {
                const TextCursor begin = *this;
                std::string word = read_word();
                skip_blanks();
                if (peek() == '=' && peek(1) != '=') {
                    step();
                    skip_blanks();
                    key = std::move(word);
                } else {
                    go_back(begin);
                    ++number;
                }
            } else {
                ++number;
            }
            const std::size_t before = position();
            Value value = read_value(depth + 1);
            if (is_open_expression()) value = expression(at);
            if (position() == before) step();  // a bracket that closes nothing
            if (!out.find(key)) out.add(std::move(key), at, std::move(value));
        }
        return out;
    }

    /// Everything up to the next comma or bracket of this depth; its text says that it is no literal.
    Value expression(Place at) {
        int open = 0;
        while (!done()) {
            const char c = peek();
            if (c == '"' || c == '\'') {
                (void)read_text();
                continue;
            }
            if (open == 0 && (c == ',' || c == ')' || c == ']' || c == '}')) break;
            if (c == '(' || c == '[' || c == '{') ++open;
            if (c == ')' || c == ']' || c == '}') --open;
            step();
        }
        return Value::of_text("an expression", at);
    }

    Value read_value(int depth) {
        count(1);
        if (depth > kDeepest) refuse_long();
        skip_blanks();
        const Place at = here();
        const char c = peek();
        if (c == '"' || c == '\'') return Value::of_text(read_text(), at);
        if (c == '[' || c == '(') return read_list(depth, at);
        if (c == '{') return read_dict(depth, at);
        if (std::isdigit(static_cast<unsigned char>(c)) || c == '-' || c == '.') return read_number(at);
        if (is_name_start(c)) return read_known_name(at);
        return expression(at);
    }

    Value read_number(Place at) {
        std::string digits;
        while (!done() && (std::isalnum(static_cast<unsigned char>(peek())) || peek() == '.' || peek() == '_' ||
                           ((peek() == '-' || peek() == '+') && (digits.empty() || (digits.back() | 32) == 'e')))) {
            digits += peek();
            step();
        }
        Value out = plain_scalar(digits, {out_.file, at});
        out.place = at;
        return out;
    }

    Value read_known_name(Place at) {
        const std::string word = read_word();
        if (word == "True") return plain_scalar("true", {"", at});
        if (word == "False") return plain_scalar("false", {"", at});
        if (word == "None") {
            Value out;
            out.place = at;
            return out;
        }
        if (word.starts_with("torch.")) return Value::of_text(word.substr(6), at);
        if (const auto found = variables_.find(word); found != variables_.end() && peek() != '(') {
            count(found->second.size);
            Value out = found->second.value;
            out.place = at;
            return out;
        }
        if (peek() == '(') {
            step();
            (void)read_arguments(1);
            return Value::of_text(word + "()", at);
        }
        if (word == "not") {
            skip_blanks();
            const Value inner = read_known_name(here());
            return Value::of_text("not " + inner.text, at);
        }
        return Value::of_text(word, at);
    }

    Value read_list(int depth, Place at) {
        Value out = Value::list(at);
        step();
        while (!done()) {
            skip_blanks();
            if (peek() == ']' || peek() == ')') {
                step();
                return out;
            }
            if (peek() == ',') {
                step();
                continue;
            }
            const std::size_t before = position();
            out.items.push_back(read_value(depth + 1));
            if (is_open_expression()) out.items.back() = expression(out.items.back().place);
            if (position() == before) step();
        }
        return out;
    }

    Value read_dict(int depth, Place at) {
        Value out = Value::map(at);
        step();
        while (!done()) {
            skip_blanks();
            if (peek() == '}') {
                step();
                return out;
            }
            const std::size_t before = position();
            const Value key = read_value(depth + 1);
            skip_blanks();
            if (peek() == ':') {
                step();
                Value value = read_value(depth + 1);
                if (is_open_expression()) value = expression(value.place);
                if (!out.find(key.text)) out.add(key.text, key.place, std::move(value));
            }
            skip_blanks();
            if (peek() == ',' || position() == before) step();
        }
        return out;
    }

    std::string read_text() {
        const char quote = peek();
        const bool triple = peek(1) == quote && peek(2) == quote;
        step(triple ? 3 : 1);
        std::string out;
        while (!done()) {
            if (triple ? peek() == quote && peek(1) == quote && peek(2) == quote : peek() == quote) break;
            if (!triple && peek() == '\n') break;
            if (peek() == '\\') step();
            out += peek();
            step();
        }
        for (int i = 0; i < (triple ? 3 : 1) && !done(); ++i) step();
        return out;
    }

    struct Variable {
        Value value;
        std::size_t size = 1;  ///< values in it
    };

    Document& out_;
    std::size_t values_ = 0;  ///< with those that variables stand for: x = [x, x] doubles them
    std::map<std::string, Variable> variables_;
};

}  // namespace

Document read_python(std::string_view text, const std::string& file) {
    check_text(text, file);
    if (text.size() > (std::size_t{1} << 20))
        throw Error(ErrorKind::invalid, file, "more than 1 MiB", "a training script is a small file");
    Document out;
    out.file = file;
    out.syntax = Syntax::python;
    out.root = Value::map({1, 1});
    PythonText(text, out).read();
    return out;
}

}  // namespace vramfit::trainers
