// JSON with the place of every value.
#include <fmt/format.h>

#include "trainers/read_text.hpp"
#include "vramfit/base/error.hpp"

namespace vramfit::trainers {

namespace {

class JsonText {
  public:
    JsonText(std::string_view text, Document& out) : text_(text), out_(out) {}

    Value read() {
        Value value = read_value(0);
        skip_blanks();
        if (at_ < text_.size()) fail("something follows the end of the document");
        return value;
    }

  private:
    [[noreturn]] void fail(const std::string& what, std::string hint = "the file has to be JSON") const {
        throw Error(ErrorKind::invalid, text_of(out_.place(here())), fmt::format("broken JSON: {}", what),
                    std::move(hint));
    }

    Place here() const { return {line_, static_cast<int>(at_ - line_start_) + 1}; }
    bool done() const { return at_ >= text_.size(); }
    char next() const { return done() ? '\0' : text_[at_]; }

    void skip_blanks() {
        for (; !done(); ++at_) {
            const char c = text_[at_];
            if (c == '\n') {
                ++line_;
                line_start_ = at_ + 1;
            } else if (c == '/' && at_ + 1 < text_.size() && (text_[at_ + 1] == '/' || text_[at_ + 1] == '*')) {
                fail("JSON has no comments", "remove the comment: the library refuses the file too");
            } else if (c != ' ' && c != '\t' && c != '\r') {
                return;
            }
        }
    }

    void expect(char c) {
        if (next() != c) fail(fmt::format("'{}' is missing", c));
        ++at_;
    }

    Value read_value(int depth) {
        skip_blanks();
        if (depth > kDeepest) fail(fmt::format("nested more than {} times", kDeepest), "a flatter file");
        if (++values_ > kMostValues) fail(fmt::format("more than {} values", kMostValues), "a smaller file");
        const Place at = here();
        if (next() == '{') return read_map(depth, at);
        if (next() == '[') return read_list(depth, at);
        if (next() == '"') return Value::of_text(read_text(), at);
        return read_word(at);
    }

    Value read_map(int depth, Place at) {
        Value out = Value::map(at);
        ++at_;
        skip_blanks();
        if (next() == '}') return ++at_, out;
        while (true) {
            skip_blanks();
            const Place key_place = here();
            if (next() == '}') fail("a comma stands before the end", "remove the comma");
            if (next() != '"') fail("a key in double quotes is missing");
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
            if (next() == '}') return ++at_, out;
            expect(',');
        }
    }

    Value read_list(int depth, Place at) {
        Value out = Value::list(at);
        ++at_;
        skip_blanks();
        if (next() == ']') return ++at_, out;
        while (true) {
            skip_blanks();
            if (next() == ']') fail("a comma stands before the end", "remove the comma");
            out.items.push_back(read_value(depth + 1));
            skip_blanks();
            if (next() == ']') return ++at_, out;
            expect(',');
        }
    }

    Value read_word(Place at) {
        const std::size_t begin = at_;
        while (!done() && (std::isalnum(static_cast<unsigned char>(next())) || next() == '-' || next() == '+' ||
                           next() == '.' || next() == '_'))
            ++at_;
        const std::string word(text_.substr(begin, at_ - begin));
        const bool number = !word.empty() && (word[0] == '-' || (word[0] >= '0' && word[0] <= '9'));
        if (word == "true" || word == "false" || word == "null" || number) {
            Value value = plain_scalar(word, out_.place(at));
            if (value.kind != Value::Kind::text) return value;
        }
        at_ = begin;
        fail(word.empty() ? "a value is missing" : fmt::format("'{}' is no value", word),
             "texts stand in double quotes");
    }

    std::string read_text() {
        std::string out;
        for (++at_; !done() && next() != '"'; ++at_) {
            if (static_cast<unsigned char>(next()) < 0x20) fail("a text goes over the end of the line");
            if (next() != '\\') {
                out += next();
                continue;
            }
            ++at_;
            read_escape(out);
        }
        if (done()) fail("a text has no end");
        ++at_;
        return out;
    }

    void read_escape(std::string& out) {
        constexpr std::string_view kNames = "\"\\/bfnrt";
        constexpr std::string_view kMeant = "\"\\/\b\f\n\r\t";
        const std::size_t known = done() ? std::string_view::npos : kNames.find(next());
        if (known != std::string_view::npos) {
            out += kMeant[known];
            return;
        }
        if (next() != 'u') fail("an escape that JSON does not have");
        unsigned code = 0;
        for (int i = 0; i < 4; ++i) {
            ++at_;
            const char c = next();
            const bool digit = std::isxdigit(static_cast<unsigned char>(c)) != 0;
            if (!digit) fail("an escape that JSON does not have");
            code = code * 16 + static_cast<unsigned>(c <= '9' ? c - '0' : (c | 32) - 'a' + 10);
        }
        out += code < 0x80 ? static_cast<char>(code) : '?';  // no name of a key or a model has others
    }

    std::string_view text_;
    Document& out_;
    std::size_t at_ = 0;
    std::size_t line_start_ = 0;
    int line_ = 1;
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
