// The words of a shell script, with their places.
#include "trainers/shell_words.hpp"

#include <cctype>

#include "vramfit/base/error.hpp"

namespace vramfit::trainers {

namespace {

bool is_name_char(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

class ShellText {
  public:
    ShellText(std::string_view text, const std::string& file) : text_(text), file_(file) {}

    std::vector<std::vector<ShellWord>> read() {
        while (at_ < text_.size()) read_one();
        end_command();
        return std::move(commands_);
    }

  private:
    char peek(std::size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }
    Place here() const { return {line_, static_cast<int>(at_ - line_start_) + 1}; }

    void step() {
        if (peek() == '\n') {
            ++line_;
            line_start_ = at_ + 1;
        }
        ++at_;
    }

    void read_one() {
        const char c = peek();
        if (c == '\\' && (peek(1) == '\n' || (peek(1) == '\r' && peek(2) == '\n'))) {
            while (peek() != '\n') step();
            step();
        } else if (c == ' ' || c == '\t' || c == '\r') {
            step();
        } else if (c == '#') {
            while (at_ < text_.size() && peek() != '\n') step();
        } else if (c == '\n' || c == ';' || c == '&' || c == '|' || c == '(' || c == ')') {
            end_command();
            step();
        } else {
            read_word();
        }
    }

    void read_word() {
        ShellWord word{{}, here(), false};
        while (at_ < text_.size()) {
            const char c = peek();
            if (c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == ';' || c == '&' || c == '|' || c == ')') break;
            if (c == '\'' || c == '"') {
                read_quoted(word.text, c);
            } else if (c == '\\') {
                if (peek(1) == '\n' || peek(1) == '\r') break;
                step();
                if (at_ < text_.size()) word.text += peek(), step();
            } else if (c == '$') {
                read_variable(word.text);
            } else {
                word.text += c;
                step();
            }
        }
        command_.push_back(std::move(word));
    }

    void read_quoted(std::string& out, char quote) {
        const Place begin = here();
        step();
        while (peek() != quote) {
            if (at_ >= text_.size())
                throw Error(ErrorKind::invalid, text_of(FilePlace{file_, begin}), "a quote is never closed",
                            "close it, or take it out");
            if (quote == '"' && peek() == '$') {
                read_variable(out);
                continue;
            }
            if (quote == '"' && peek() == '\\' && peek(1) != '\0') step();
            out += peek();
            step();
        }
        step();
    }

    // $NAME and ${NAME}; other forms stay as they are written.
    void read_variable(std::string& out) {
        const bool braces = peek(1) == '{';
        std::size_t end = at_ + (braces ? 2 : 1);
        const std::size_t begin = end;
        while (end < text_.size() && is_name_char(text_[end])) ++end;
        const std::string name(text_.substr(begin, end - begin));
        const bool whole = !name.empty() && (!braces || (end < text_.size() && text_[end] == '}'));
        const auto found = whole ? variables_.find(name) : variables_.end();
        if (found == variables_.end()) {
            out += peek();
            step();
            return;
        }
        if (braces) ++end;
        out += found->second;
        while (at_ < end) step();
        if (out.size() > text_.size() + 100'000)
            throw Error(ErrorKind::invalid, text_of(FilePlace{file_, here()}), "variables grow without end");
    }

    void end_command() {
        if (command_.empty()) return;
        // NAME=value alone, or after export: known from here on.
        for (const ShellWord& word : command_) {
            if (word.text == "export" || word.text == "local" || word.text == "declare") continue;
            const std::size_t equals = word.text.find('=');
            std::size_t name = 0;
            while (name < word.text.size() && is_name_char(word.text[name])) ++name;
            if (equals == std::string::npos || name != equals || equals == 0) break;
            variables_[word.text.substr(0, equals)] = word.text.substr(equals + 1);
        }
        commands_.push_back(std::move(command_));
        command_.clear();
    }

    std::string_view text_;
    std::string file_;
    std::size_t at_ = 0;
    std::size_t line_start_ = 0;
    int line_ = 1;
    std::vector<ShellWord> command_;
    std::vector<std::vector<ShellWord>> commands_;
    std::map<std::string, std::string> variables_;
};

}  // namespace

std::vector<std::vector<ShellWord>> shell_commands(std::string_view text, const std::string& file) {
    return ShellText(text, file).read();
}

}  // namespace vramfit::trainers
