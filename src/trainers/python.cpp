// Python scripts: the calls that set up a training, with their literal arguments. Nothing is run.
#include <cctype>
#include <map>

#include <fmt/format.h>

#include "trainers/read_text.hpp"
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

class PythonText {
  public:
    PythonText(std::string_view text, Document& out) : text_(text), out_(out) {}

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
    bool done() const { return at_ >= text_.size(); }
    char peek(std::size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }
    Place here() const { return {line_, static_cast<int>(at_ - line_start_) + 1}; }

    void step() {
        if (peek() == '\n') {
            ++line_;
            line_start_ = at_ + 1;
        }
        ++at_;
    }

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
        const std::size_t begin = at_;
        while (!done() && is_name_char(peek())) step();
        return std::string(text_.substr(begin, at_ - begin));
    }

    void read_name() {
        const Place at = here();
        const std::string name = read_word();
        skip_blanks();
        if (peek() == '=' && peek(1) != '=') {
            step();
            skip_blanks();
            const Spot begin = spot();
            Value value = read_value(0);
            if (!is_open_expression()) variables_[name] = std::move(value);
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

    struct Spot {
        std::size_t at = 0;
        std::size_t line_start = 0;
        int line = 1;
    };
    Spot spot() const { return {at_, line_start_, line_}; }
    void go_back(const Spot& to) {
        at_ = to.at;
        line_start_ = to.line_start;
        line_ = to.line;
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
                const Spot begin = spot();
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
            const std::size_t before = at_;
            Value value = read_value(depth + 1);
            if (is_open_expression()) value = expression(at);
            if (at_ == before) step();  // a bracket that closes nothing
            if (!out.find(key)) out.add(std::move(key), at, std::move(value));
        }
        return out;
    }

    /// Everything up to the next comma or bracket of this depth; its text says that it is no literal.
    Value expression(Place at) {
        const std::size_t begin = at_;
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
        (void)begin;
        Value out = Value::of_text("an expression", at);
        return out;
    }

    Value read_value(int depth) {
        if (depth > kDeepest || ++values_ > kMostValues)
            throw Error(ErrorKind::invalid, text_of(out_.place(here())), "nested too deep or too long");
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
            Value out = found->second;
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
            const std::size_t before = at_;
            out.items.push_back(read_value(depth + 1));
            if (is_open_expression()) out.items.back() = expression(out.items.back().place);
            if (at_ == before) step();
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
            const std::size_t before = at_;
            const Value key = read_value(depth + 1);
            skip_blanks();
            if (peek() == ':') {
                step();
                Value value = read_value(depth + 1);
                if (is_open_expression()) value = expression(value.place);
                if (!out.find(key.text)) out.add(key.text, key.place, std::move(value));
            }
            skip_blanks();
            if (peek() == ',' || at_ == before) step();
        }
        return out;
    }

    std::string read_text() {
        const char quote = peek();
        const bool triple = peek(1) == quote && peek(2) == quote;
        for (int i = 0; i < (triple ? 3 : 1); ++i) step();
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

    std::string_view text_;
    Document& out_;
    std::size_t at_ = 0;
    std::size_t line_start_ = 0;
    int line_ = 1;
    std::size_t values_ = 0;
    std::map<std::string, Value> variables_;
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
