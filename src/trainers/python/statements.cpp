// Python's statements, from tokens with indentation.
#include <fmt/format.h>

#include "trainers/python/expressions.hpp"
#include "trainers/value.hpp"
#include "vramfit/base/error.hpp"

namespace vramfit::trainers::python {

namespace {

using Block = std::vector<Statement>;

class StatementReader : ExpressionReader {
  public:
    using ExpressionReader::ExpressionReader;

    Block all() {
        Block out;
        while (token().kind != Token::Kind::end) {
            const Token::Kind kind = token().kind;
            if (kind == Token::Kind::indent || kind == Token::Kind::dedent || kind == Token::Kind::newline)
                take();  // an indentation that opens nothing: a pasted cell
            else
                read_statement(out);
        }
        return out;
    }

  private:
    bool ends_line() const { return token().kind == Token::Kind::newline || token().kind == Token::Kind::end; }

    static Statement made(StatementKind kind, Place place) {
        Statement out;
        out.kind = kind;
        out.place = place;
        return out;
    }

    void read_statement(Block& out) {
        while (is_sign("@")) {
            take();
            (void)expression();
            if (token().kind == Token::Kind::newline) take();
        }
        const Place at = token().place;
        if (is_word("async")) take();
        if (is_word("if")) return out.push_back(read_branch(at));
        if (is_word("for")) return out.push_back(read_for(at));
        if (is_word("while")) return out.push_back(read_while(at));
        if (is_word("try")) return out.push_back(read_attempt(at));
        if (is_word("with")) return out.push_back(read_with(at));
        if (is_word("def")) return out.push_back(read_function(at));
        if (is_word("class")) return out.push_back(read_class(at));
        if (is_match()) return out.push_back(read_match(at));
        read_simple_line(out);
    }

    void read_simple_line(Block& out) {
        do {
            if (ends_line()) break;
            out.push_back(read_simple(token().place));
        } while (take_sign(";"));
        if (!ends_line()) refuse();
        take();
    }

    Block read_block() {
        if (++depth_ > kDeepest)
            throw Error(ErrorKind::invalid, text_of(FilePlace{*file_, token().place}), "nested too deep or too long");
        Block out;
        want_sign(":");
        if (token().kind != Token::Kind::newline) {
            read_simple_line(out);
        } else {
            take();
            if (token().kind != Token::Kind::indent) refuse();
            take();
            while (token().kind != Token::Kind::dedent && token().kind != Token::Kind::end) {
                if (token().kind == Token::Kind::indent || token().kind == Token::Kind::newline) refuse();
                read_statement(out);
            }
            if (token().kind == Token::Kind::dedent) take();
        }
        --depth_;
        return out;
    }

    Statement read_branch(Place at) {
        take();
        Statement out = made(StatementKind::branch, at);
        out.items.push_back(expression());
        out.body = read_block();
        const Place next = token().place;
        if (is_word("elif")) {
            if (++depth_ > kDeepest * 4) refuse();
            out.other.push_back(read_branch(next));
            --depth_;
        } else if (take_word("else")) {
            out.other = read_block();
        }
        return out;
    }

    Statement read_for(Place at) {
        take();
        Statement out = made(StatementKind::loop, at);
        out.items.push_back(targets());
        if (!take_word("in")) refuse();
        out.items.push_back(expressions());
        out.body = read_block();
        if (take_word("else")) out.other = read_block();
        return out;
    }

    Statement read_while(Place at) {
        take();
        Statement out = made(StatementKind::loop, at);
        out.items.push_back(expression());
        out.body = read_block();
        if (take_word("else")) out.other = read_block();
        return out;
    }

    Statement read_attempt(Place at) {
        take();
        Statement out = made(StatementKind::attempt, at);
        out.body = read_block();
        while (take_word("except")) {
            (void)take_sign("*");
            if (!is_sign(":")) (void)expressions();
            if (take_word("as")) (void)want_name();
            out.blocks.push_back(read_block());
        }
        if (take_word("else")) out.other = read_block();
        if (take_word("finally"))
            for (Statement& each : read_block()) out.other.push_back(std::move(each));
        return out;
    }

    Statement read_with(Place at) {
        take();
        Statement out = made(StatementKind::with, at);
        const bool bracket = take_sign("(");
        do {
            if (is_sign(")")) break;
            out.items.push_back(expression());
            if (!take_word("as")) continue;
            Statement unread = made(StatementKind::assign, token().place);
            unread.items.push_back(expression());
            unread.items.emplace_back();
            out.body.push_back(std::move(unread));
        } while (take_sign(","));
        if (bracket) want_sign(")");
        for (Statement& each : read_block()) out.body.push_back(std::move(each));
        return out;
    }

    Statement read_function(Place at) {
        take();
        Statement out = made(StatementKind::function, at);
        out.text = want_name();
        want_sign("(");
        while (!take_sign(")")) {
            const bool star = is_sign("*") || is_sign("**");
            std::string name = star ? take().text : std::string();
            if (!take_sign("/") && !is_sign(",") && !is_sign(")")) name += want_name();
            if (take_sign(":")) (void)expression();
            out.items.emplace_back();
            out.items.back().place = token().place;
            if (take_sign("=")) out.items.back() = expression();
            out.words.push_back(out.items.back().source.empty() ? "" : "=");
            out.names.push_back(std::move(name));
            if (!is_sign(")")) want_sign(",");
        }
        if (take_sign("->")) (void)expression();
        out.body = read_block();
        return out;
    }

    Statement read_class(Place at) {
        take();
        Statement out = made(StatementKind::type, at);
        out.text = want_name();
        if (take_sign("("))
            while (!take_sign(")")) {
                (void)take_sign("*");
                const bool keyword = token().kind == Token::Kind::name && is_sign("=", 1);
                if (keyword) take(), take();
                Expression base = expression();
                if (!keyword) out.items.push_back(std::move(base));
                if (!is_sign(")")) want_sign(",");
            }
        out.body = read_block();
        return out;
    }

    /// `match` is a word of its own only where a block follows.
    bool is_match() const {
        if (!is_word("match")) return false;
        std::size_t ahead = 1;
        const auto ends = [&] {
            return token(ahead).kind == Token::Kind::newline || token(ahead).kind == Token::Kind::end;
        };
        while (!ends()) ++ahead;
        return ahead > 2 && is_sign(":", ahead - 1) && is_word("case", ahead + 2);
    }

    Statement read_match(Place at) {
        take();
        Statement out = made(StatementKind::attempt, at);
        (void)expressions();
        want_sign(":");
        take();
        take();
        while (take_word("case")) {
            while (!is_sign(":") || token(1).kind != Token::Kind::newline) {
                if (ends_line()) refuse();
                take();
            }
            out.blocks.push_back(read_block());
        }
        if (token().kind == Token::Kind::dedent) take();
        return out;
    }

    Statement read_import(Place at) {
        Statement out = made(StatementKind::import, at);
        const auto dotted = [&] {
            std::string name;
            while (is_sign(".") || is_sign("...")) take();
            if (!is_word("import")) name = want_name();
            while (take_sign(".")) name += "." + want_name();
            return name;
        };
        const bool from = take().text == "from";
        std::string module;
        if (from) {
            module = dotted();
            if (!take_word("import")) refuse();
        }
        const bool bracket = take_sign("(");
        do {
            if (is_sign(")") || take_sign("*")) break;
            const std::string name = dotted();
            const bool renamed = take_word("as");
            const std::string known = renamed ? want_name() : from ? name : name.substr(0, name.find('.'));
            out.names.push_back(known);
            out.words.push_back(from ? fmt::format("{}.{}", module, name) : renamed ? name : known);
        } while (take_sign(","));
        if (bracket) want_sign(")");
        return out;
    }

    Statement read_simple(Place at) {
        if (is_word("import") || is_word("from")) return read_import(at);
        for (const std::string_view word : {"pass", "break", "continue"})
            if (take_word(word)) return made(StatementKind::pass, at);
        if (is_word("global") || is_word("nonlocal")) {
            const bool global = take().text == "global";
            Statement out = made(StatementKind::pass, at);
            do out.names.push_back(want_name());
            while (take_sign(","));
            if (!global) out.names.clear();
            return out;
        }
        if (is_word("return")) return read_return(at);
        if (is_word("raise") || is_word("assert") || is_word("del")) return read_unused(at);
        return read_assignment(at);
    }

    Statement read_return(Place at) {
        take();
        Statement out = made(StatementKind::give, at);
        if (!ends_line() && !is_sign(";")) out.items.push_back(expressions());
        return out;
    }

    Statement read_unused(Place at) {
        const bool leaves = take().text == "raise";
        if (!ends_line() && !is_sign(";")) (void)expressions();
        if (take_word("from")) (void)expression();
        return made(leaves ? StatementKind::give : StatementKind::pass, at);
    }

    Statement read_assignment(Place at) {
        Statement out = made(StatementKind::expression, at);
        out.items.push_back(expressions());
        if (take_sign(":")) {  // an annotation
            (void)expression();
            if (!is_sign("=")) return made(StatementKind::pass, at);
        }
        while (take_sign("=")) {
            out.kind = StatementKind::assign;
            out.items.push_back(expressions());
        }
        if (out.kind == StatementKind::assign) return out;
        for (const std::string_view sign :
             {"+=", "-=", "*=", "/=", "//=", "%=", "**=", "@=", "&=", "|=", "^=", ">>=", "<<="}) {
            if (!take_sign(sign)) continue;
            out.kind = StatementKind::augment;
            out.text = sign.substr(0, sign.size() - 1);
            out.items.push_back(expressions());
            return out;
        }
        (void)take_sign("?");
        return out;
    }

    int depth_ = 0;
};

}  // namespace

std::vector<Statement> statements_of(std::string_view text, const std::string& file) {
    const std::vector<Token> tokens = tokens_of(text, file);
    return StatementReader(text, file, tokens).all();
}

}  // namespace vramfit::trainers::python
