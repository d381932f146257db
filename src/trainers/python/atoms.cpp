// Python's atoms, calls and subscripts.
#include <algorithm>
#include <cctype>

#include "trainers/python/expressions.hpp"

namespace vramfit::trainers::python {

Expression ExpressionReader::call(Expression callee, const Token& first) {
    Expression made{.kind = ExpressionKind::call};
    made.items.push_back(std::move(callee));
    take();
    while (!take_sign(")")) {
        made.places.push_back(token().place);
        if (is_sign("*") || is_sign("**")) {
            made.names.push_back(take().text);
        } else if (token().kind == Token::Kind::name && is_sign("=", 1)) {
            made.names.push_back(take().text);
            take();
        } else {
            made.names.emplace_back();
        }
        made.items.push_back(expression());
        if (is_word("for") || is_word("async")) {
            skip_comprehension(")");
            made.items.back() = done({}, first);
        }
        if (!is_sign(")")) want_sign(",");
    }
    return done(std::move(made), first);
}

Expression ExpressionReader::subscript(Expression base, const Token& first) {
    take();
    Expression made{.kind = ExpressionKind::subscript};
    made.items.push_back(std::move(base));
    bool is_slice = false;
    while (!take_sign("]")) {
        if (take_sign(":") || take_sign(",")) {
            is_slice = true;
            continue;
        }
        Expression index = starred();
        if (made.items.size() == 1)
            made.items.push_back(std::move(index));
        else
            is_slice = true;
        if (!is_sign("]") && !is_sign(":") && !is_sign(",")) refuse();
    }
    if (made.items.size() == 1 && !is_slice) refuse();
    return done(is_slice ? Expression{} : std::move(made), first);
}

/// From `for` to the closing bracket, which stays.
void ExpressionReader::skip_comprehension(std::string_view closing) {
    while (!is_sign(closing)) {
        if (take_word("async")) continue;
        if (take_word("for")) {
            (void)targets();
            if (!take_word("in")) refuse();
            (void)either();
        } else if (take_word("if")) {
            (void)either();
        } else {
            refuse();
        }
    }
}

Expression ExpressionReader::bracketed(const Token& first) {
    const std::string_view closing = is_sign("(") ? ")" : "]";
    take();
    if (closing == ")" && is_word("yield")) {
        (void)expression();
        want_sign(")");
        return done({}, first);
    }
    Expression made{.kind = ExpressionKind::list, .place = {}, .text = closing == ")" ? "()" : "[]"};
    bool comma = closing == "]";
    while (!take_sign(closing)) {
        made.items.push_back(starred());
        if (is_word("for") || is_word("async")) {
            skip_comprehension(closing);
            take();
            return done({}, first);
        }
        if (is_sign(closing)) continue;
        want_sign(",");
        comma = true;
    }
    if (!comma && made.items.size() == 1) {
        const std::string_view inner = made.items.front().source;
        Expression one = std::move(made.items.front());
        one.source = inner;
        return one;
    }
    return done(std::move(made), first);
}

Expression ExpressionReader::braces(const Token& first) {
    take();
    Expression made{.kind = ExpressionKind::dict};
    while (!take_sign("}")) {
        if (take_sign("**")) {
            Expression more{.kind = ExpressionKind::name, .place = {}, .text = "**"};
            made.items.push_back(done(std::move(more), token()));
            made.items.push_back(expression());
        } else {
            made.items.push_back(starred());
            if (take_sign(":"))
                made.items.push_back(expression());
            else
                made.kind = ExpressionKind::opaque;  // a set
        }
        if (is_word("for") || is_word("async")) {
            skip_comprehension("}");
            take();
            return done({}, first);
        }
        if (!is_sign("}")) want_sign(",");
    }
    if (made.kind == ExpressionKind::opaque) {
        made.kind = ExpressionKind::list;
        made.text = "{}";
    }
    return done(std::move(made), first);
}

Expression ExpressionReader::format(const std::string& text, const Token& first) {
    Expression made{.kind = ExpressionKind::format};
    std::string_view rest = text;
    std::string plain;
    while (!rest.empty()) {
        const char c = rest[0];
        if ((c == '{' || c == '}') && rest.size() > 1 && rest[1] == c) {
            plain += c;
            rest.remove_prefix(2);
        } else if (c == '{') {
            const std::size_t end = rest.find('}');
            std::string_view name = rest.substr(1, end == rest.npos ? end : end - 1);
            const bool simple = end != rest.npos && !name.empty() && name.size() < 100 &&
                                std::all_of(name.begin(), name.end(), [](char each) {
                                    return std::isalnum(static_cast<unsigned char>(each)) || each == '_' || each == '.';
                                });
            if (!simple) return done({}, first);
            made.items.push_back({.kind = ExpressionKind::text, .place = first.place, .text = std::move(plain)});
            plain.clear();
            Expression value{.kind = ExpressionKind::name,
                             .place = first.place,
                             .text = std::string(name.substr(0, name.find('.')))};
            while (name.find('.') != name.npos) {
                name.remove_prefix(name.find('.') + 1);
                Expression attribute{.kind = ExpressionKind::attribute,
                                     .place = first.place,
                                     .text = std::string(name.substr(0, name.find('.')))};
                attribute.items.push_back(std::move(value));
                value = std::move(attribute);
            }
            made.items.push_back(std::move(value));
            rest.remove_prefix(end + 1);
        } else {
            plain += c;
            rest.remove_prefix(1);
        }
    }
    made.items.push_back({.kind = ExpressionKind::text, .place = first.place, .text = std::move(plain)});
    return done(std::move(made), first);
}

Expression ExpressionReader::texts(const Token& first) {
    Expression made{.kind = ExpressionKind::text};
    bool is_format = false;
    int count = 0;
    while (token().kind == Token::Kind::text) {
        is_format = is_format || token().is_format;
        made.text += take().text;
        ++count;
    }
    if (is_format && count > 1) return done({}, first);  // braces of plain texts are none of the format
    return is_format ? format(made.text, first) : done(std::move(made), first);
}

Expression ExpressionReader::atom() {
    const Token first = token();
    switch (first.kind) {
        case Token::Kind::name: {
            Expression made{.kind = ExpressionKind::name, .place = {}, .text = want_name()};
            return done(std::move(made), first);
        }
        case Token::Kind::number: {
            Expression made{.kind = ExpressionKind::number, .place = {}, .text = take().text};
            return done(std::move(made), first);
        }
        case Token::Kind::text: return texts(first);
        case Token::Kind::sign: break;
        default: refuse();
    }
    if (is_sign("(") || is_sign("[")) return bracketed(first);
    if (is_sign("{")) return braces(first);
    if (take_sign("...")) return done({}, first);
    refuse();
}

}  // namespace vramfit::trainers::python
