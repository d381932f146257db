// The words of a shell script, with their places.
#include "trainers/shell_words.hpp"

#include <cctype>

#include "trainers/text_cursor.hpp"
#include "trainers/value.hpp"
#include "vramfit/base/error.hpp"

namespace vramfit::trainers {

namespace {

bool is_name_char(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

class ShellText : TextCursor {
  public:
    ShellText(std::string_view text, const std::string& file) : TextCursor(text), file_(file) {}

    std::vector<std::vector<ShellWord>> read() {
        while (!done()) read_one();
        end_command();
        return std::move(commands_);
    }

  private:
    void read_one() {
        const char c = peek();
        if (line_goes_on()) {
            while (peek() != '\n') step();
            step();
        } else if (c == ' ' || c == '\t' || c == '\r') {
            step();
        } else if (c == '#') {
            while (!done() && peek() != '\n') step();
        } else if (c == '\n' || c == ';' || c == '&' || c == '|' || c == '(' || c == ')') {
            end_command();
            step();
        } else {
            read_word();
        }
    }

    // A backslash at the end of a line.
    bool line_goes_on() const { return peek() == '\\' && (peek(1) == '\n' || (peek(1) == '\r' && peek(2) == '\n')); }

    void read_word() {
        ShellWord word{{}, here(), false};
        while (!done()) {
            const char c = peek();
            if (c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == ';' || c == '&' || c == '|' || c == ')') break;
            if (c == '\'' || c == '"') {
                read_quoted(word.text, c);
            } else if (c == '\\') {
                if (line_goes_on()) break;
                step();
                if (!done()) word.text += peek(), step();
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
            if (done())
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
        const std::size_t begin = braces ? 2 : 1;
        std::size_t end = begin;
        std::string name;
        while (is_name_char(peek(end))) name += peek(end++);
        const bool whole = !name.empty() && (!braces || peek(end) == '}');
        const auto found = whole ? variables_.find(name) : variables_.end();
        if (found == variables_.end()) {
            out += peek();
            step();
            return;
        }
        out += found->second;
        step(braces ? end + 1 : end);
        expanded_ += found->second.size();
        if (expanded_ > kLargestTrainerFile)
            throw Error(ErrorKind::invalid, text_of(FilePlace{file_, here()}), "variables grow without end",
                        "write the values out");
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

    std::string file_;
    std::size_t expanded_ = 0;  ///< bytes that variables stood for
    std::vector<ShellWord> command_;
    std::vector<std::vector<ShellWord>> commands_;
    std::map<std::string, std::string> variables_;
};

}  // namespace

std::vector<std::vector<ShellWord>> shell_commands(std::string_view text, const std::string& file) {
    return ShellText(text, file).read();
}

}  // namespace vramfit::trainers
