// JSON with the place of every value.
#include <fmt/format.h>

#include "trainers/read_text.hpp"
#include "trainers/text_cursor.hpp"
#include "vramfit/base/error.hpp"

namespace vramfit::trainers {

namespace {

class JsonText : TextCursor {
  public:
    JsonText(std::string_view text, Document& out) : TextCursor(text), out_(out) {}

    Value read() {
        Value value = read_value(0);
        skip_blanks();
        if (!done()) fail("something follows the end of the document");
        return value;
    }

  private:
    [[noreturn]] void fail(const std::string& what, std::string hint = "the file has to be JSON") const {
        throw Error(ErrorKind::invalid, text_of(out_.place(here())), fmt::format("broken JSON: {}", what),
                    std::move(hint));
    }

    void skip_blanks() {
        for (; !done(); step()) {
            const char c = peek();
            if (c == '/' && (peek(1) == '/' || peek(1) == '*'))
                fail("JSON has no comments", "remove the comment: the library refuses the file too");
            if (c != ' ' && c != '\t' && c != '\r' && c != '\n') return;
        }
    }

    void expect(char c) {
        if (peek() != c) fail(fmt::format("'{}' is missing", c));
        step();
    }

    Value read_value(int depth) {
        skip_blanks();
        if (depth > kDeepest) fail(fmt::format("nested more than {} times", kDeepest), "a flatter file");
        if (++values_ > kMostValues) fail(fmt::format("more than {} values", kMostValues), "a smaller file");
        const Place at = here();
        if (peek() == '{') return read_map(depth, at);
        if (peek() == '[') return read_list(depth, at);
        if (peek() == '"') return Value::of_text(read_text(), at);
        return read_word(at);
    }

    Value read_map(int depth, Place at) {
        Value out = Value::map(at);
        step();
        skip_blanks();
        if (peek() == '}') return step(), out;
        while (true) {
            skip_blanks();
            const Place key_place = here();
            if (peek() == '}') fail("a comma stands before the end", "remove the comma");
            if (peek() != '"') fail("a key in double quotes is missing");
            std::string key = read_text();
            skip_blanks();
            expect(':');
            Value value = read_value(depth + 1);
            if (Value* old = out.find(key)) {
                out_.remarks.push_back({key, key_place, "the key is there twice: the last one counts"});
                *old = std::move(value);
            } else {
                out.add(std::move(key), key_place, std::move(value));
            }
            skip_blanks();
            if (peek() == '}') return step(), out;
            expect(',');
        }
    }

    Value read_list(int depth, Place at) {
        Value out = Value::list(at);
        step();
        skip_blanks();
        if (peek() == ']') return step(), out;
        while (true) {
            skip_blanks();
            if (peek() == ']') fail("a comma stands before the end", "remove the comma");
            out.items.push_back(read_value(depth + 1));
            skip_blanks();
            if (peek() == ']') return step(), out;
            expect(',');
        }
    }

    Value read_word(Place at) {
        const TextCursor begin = *this;
        while (!done() && (std::isalnum(static_cast<unsigned char>(peek())) || peek() == '-' || peek() == '+' ||
                           peek() == '.' || peek() == '_'))
            step();
        const std::string word(since(begin.position()));
        const bool number = !word.empty() && (word[0] == '-' || (word[0] >= '0' && word[0] <= '9'));
        if (word == "true" || word == "false" || word == "null" || number) {
            Value value = plain_scalar(word, out_.place(at));
            if (value.kind != Value::Kind::text) return value;
        }
        // What Python's json writes and reads besides; no key that counts takes it.
        if (word == "Infinity" || word == "-Infinity" || word == "NaN") return Value::of_text(word, at);
        go_back(begin);
        fail(word.empty() ? "a value is missing" : fmt::format("'{}' is no value", word),
             "texts stand in double quotes");
    }

    std::string read_text() {
        std::string out;
        for (step(); !done() && peek() != '"'; step()) {
            if (static_cast<unsigned char>(peek()) < 0x20) fail("a text goes over the end of the line");
            if (peek() != '\\') {
                out += peek();
                continue;
            }
            step();
            read_escape(out);
        }
        if (done()) fail("a text has no end");
        step();
        return out;
    }

    void read_escape(std::string& out) {
        constexpr std::string_view kNames = "\"\\/bfnrt";
        constexpr std::string_view kMeant = "\"\\/\b\f\n\r\t";
        const std::size_t known = done() ? std::string_view::npos : kNames.find(peek());
        if (known != std::string_view::npos) {
            out += kMeant[known];
            return;
        }
        if (peek() != 'u') fail("an escape that JSON does not have");
        unsigned code = 0;
        for (int i = 0; i < 4; ++i) {
            step();
            const char c = peek();
            const bool digit = std::isxdigit(static_cast<unsigned char>(c)) != 0;
            if (!digit) fail("an escape that JSON does not have");
            code = code * 16 + static_cast<unsigned>(c <= '9' ? c - '0' : (c | 32) - 'a' + 10);
        }
        out += code < 0x80 ? static_cast<char>(code) : '?';  // no name of a key or a model has others
    }

    Document& out_;
    std::size_t values_ = 0;
};

}  // namespace

Document read_json(std::string_view text, const std::string& file) {
    check_text(text, file);
    Document out;
    out.file = file;
    out.syntax = Syntax::json;
    out.root = JsonText(text, out).read();
    return out;
}

}  // namespace vramfit::trainers
