// Python's lexical analysis.
#include "trainers/python/token.hpp"

#include <cctype>

#include <fmt/format.h>

#include "trainers/text_cursor.hpp"
#include "trainers/value.hpp"
#include "vramfit/base/error.hpp"

namespace vramfit::trainers::python {

namespace {

bool starts_name(char c) { return std::isalpha(static_cast<unsigned char>(c)) || c == '_' || (c & 0x80) != 0; }
bool continues_name(char c) { return starts_name(c) || std::isdigit(static_cast<unsigned char>(c)); }

constexpr std::string_view kLongSigns[] = {"**=", "//=", ">>=", "<<=", "...", "==", "!=", "<=", ">=", "->", ":=", "+=",
                                           "-=",  "*=",  "/=",  "%=",  "@=",  "&=", "|=", "^=", "**", "//", "<<", ">>"};

class Tokenizer : TextCursor {
  public:
    Tokenizer(std::string_view text, const std::string& file) : TextCursor(text), file_(file) {}

    std::vector<Token> run() {
        while (!done()) read_line();
        if (!open_.empty())
            throw Error(ErrorKind::invalid, text_of(FilePlace{file_, open_.back().place}),
                        fmt::format("the bracket {} is not closed", open_.back().text));
        if (!out_.empty() && out_.back().kind != Token::Kind::newline)
            add(Token::Kind::newline, {}, here(), position());
        while (indents_.size() > 1) close_block();
        add(Token::Kind::end, {}, here(), position());
        return std::move(out_);
    }

  private:
    void add(Token::Kind kind, std::string text, Place place, std::size_t begin) {
        out_.push_back({kind, std::move(text), false, place, begin, position()});
    }

    void close_block() {
        indents_.pop_back();
        add(Token::Kind::dedent, {}, here(), position());
    }

    void skip_line() {
        while (!done() && peek() != '\n') {
            if (peek() == '\\') step();
            step();
        }
    }

    void read_line() {
        int column = 0;
        for (; peek() == ' ' || peek() == '\t' || peek() == '\f'; step())
            column = peek() == '\t' ? column / 8 * 8 + 8 : column + 1;
        const char c = peek();
        if (c == '\r' || c == '\n' || c == '\0') return step();
        if (c == '#') return skip_line();
        indent_to(column);
        if (c == '%' || c == '!') {
            const Place at = here();
            const std::size_t begin = position();
            skip_line();
            add(Token::Kind::name, "pass", at, begin);
        } else {
            read_tokens();
        }
        add(Token::Kind::newline, {}, here(), position());
    }

    void indent_to(int column) {
        if (column > indents_.back()) {
            if (indents_.size() > kDeepest) refuse(here(), "nested too deep or too long");
            indents_.push_back(column);
            add(Token::Kind::indent, {}, here(), position());
        }
        while (column < indents_.back()) close_block();
    }

    [[noreturn]] void refuse(Place at, const char* what) const {
        throw Error(ErrorKind::invalid, text_of(FilePlace{file_, at}), what);
    }

    /// Up to the end of a line that no bracket goes beyond.
    void read_tokens() {
        while (!done()) {
            const char c = peek();
            if (c == '\n') {
                step();
                if (open_.empty()) return;
            } else if (c == '\\') {
                step();
                while (peek() == ' ' || peek() == '\t' || peek() == '\r') step();
                step();
            } else if (std::isspace(static_cast<unsigned char>(c))) {
                step();
            } else if (c == '#') {
                while (!done() && peek() != '\n') step();
            } else {
                read_token(c);
            }
        }
    }

    void read_token(char c) {
        const Place at = here();
        const std::size_t begin = position();
        if (out_.size() > kMostValues) refuse(at, "nested too deep or too long");
        if (starts_name(c)) {
            while (continues_name(peek())) step();
            std::string word(since(begin));
            if ((peek() == '"' || peek() == '\'') && is_prefix(word)) return read_text(at, begin, word);
            return add(Token::Kind::name, std::move(word), at, begin);
        }
        const bool point = c == '.' && std::isdigit(static_cast<unsigned char>(peek(1)));
        if (std::isdigit(static_cast<unsigned char>(c)) || point) return read_number(at, begin);
        if (c == '"' || c == '\'') return read_text(at, begin, {});
        read_sign(at, begin);
    }

    static bool is_prefix(std::string_view word) {
        return word.size() <= 2 && word.find_first_not_of("rRbBfFuUtT") == std::string_view::npos;
    }

    void read_number(Place at, std::size_t begin) {
        std::string digits;
        const bool hex = peek() == '0' && (peek(1) | 32) == 'x';
        while (std::isalnum(static_cast<unsigned char>(peek())) || peek() == '.' || peek() == '_' ||
               (!hex && (peek() == '-' || peek() == '+') && !digits.empty() && (digits.back() | 32) == 'e')) {
            if (peek() != '_') digits += peek();
            step();
        }
        add(Token::Kind::number, std::move(digits), at, begin);
    }

    void read_sign(Place at, std::size_t begin) {
        for (const std::string_view sign : kLongSigns) {
            bool same = true;
            for (std::size_t i = 0; i < sign.size(); ++i) same = same && peek(i) == sign[i];
            if (!same) continue;
            step(sign.size());
            return add(Token::Kind::sign, std::string(sign), at, begin);
        }
        const char c = peek();
        step();
        add(Token::Kind::sign, std::string(1, c), at, begin);
        if (c == '(' || c == '[' || c == '{') open_.push_back(out_.back());
        if (c != ')' && c != ']' && c != '}') return;
        const char wanted = c == ')' ? '(' : c == ']' ? '[' : '{';
        if (open_.empty() || open_.back().text[0] != wanted)
            throw Error(ErrorKind::invalid, text_of(FilePlace{file_, at}),
                        fmt::format("the bracket {} closes nothing", c));
        open_.pop_back();
    }

    void read_text(Place at, std::size_t begin, std::string_view prefix) {
        const char quote = peek();
        const bool triple = peek(1) == quote && peek(2) == quote;
        const bool raw = prefix.find_first_of("rR") != std::string_view::npos;
        step(triple ? 3 : 1);
        std::string out;
        while (!(triple ? peek() == quote && peek(1) == quote && peek(2) == quote : peek() == quote)) {
            if (done() || (!triple && peek() == '\n')) refuse(at, "the text is not closed");
            if (peek() == '\\' && (raw || done())) {
                out += peek();
                step();
            } else if (peek() == '\\') {
                step();
                const char c = peek();
                if (c == 'n' || c == 't' || c == 'r')
                    out += c == 'n' ? '\n' : c == 't' ? '\t' : '\r';
                else if (c == '\\' || c == '\'' || c == '"')
                    out += c;
                else if (c != '\n')
                    out += {'\\', c};
                step();
                continue;
            }
            if (done()) refuse(at, "the text is not closed");
            out += peek();
            step();
        }
        step(triple ? 3 : 1);
        add(Token::Kind::text, std::move(out), at, begin);
        out_.back().is_format = prefix.find_first_of("fFtT") != std::string_view::npos;
    }

    const std::string& file_;
    std::vector<Token> out_;
    std::vector<Token> open_;
    std::vector<int> indents_{0};
};

}  // namespace

std::vector<Token> tokens_of(std::string_view text, const std::string& file) { return Tokenizer(text, file).run(); }

}  // namespace vramfit::trainers::python
