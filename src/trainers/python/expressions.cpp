// Python's expressions: recursive descent in the order of its operators.
#include "trainers/python/expressions.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "trainers/value.hpp"
#include "vramfit/base/error.hpp"

namespace vramfit::trainers::python {

namespace {

constexpr std::string_view kWords[] = {
    "and",      "as",     "assert",  "async", "await", "break",  "class", "continue", "def",  "del",  "elif",
    "else",     "except", "finally", "for",   "from",  "global", "if",    "import",   "in",   "is",   "lambda",
    "nonlocal", "not",    "or",      "pass",  "raise", "return", "try",   "while",    "with", "yield"};

/// Binary operators from those that bind least.
constexpr std::string_view kLevels[][5] = {{"|"}, {"^"}, {"&"}, {"<<", ">>"}, {"+", "-"}, {"*", "/", "//", "%", "@"}};

struct Deeper {
    explicit Deeper(int& depth) : depth_(depth) { ++depth_; }
    ~Deeper() { --depth_; }
    Deeper(const Deeper&) = delete;
    Deeper& operator=(const Deeper&) = delete;
    int& depth_;
};

}  // namespace

const Token& ExpressionReader::token(std::size_t ahead) const {
    return (*tokens_)[std::min(at_ + ahead, tokens_->size() - 1)];
}

Token ExpressionReader::take() {
    const Token taken = token();
    if (at_ + 1 < tokens_->size()) ++at_;
    return taken;
}

bool ExpressionReader::is_sign(std::string_view sign, std::size_t ahead) const {
    return token(ahead).kind == Token::Kind::sign && token(ahead).text == sign;
}

bool ExpressionReader::is_word(std::string_view word, std::size_t ahead) const {
    return token(ahead).kind == Token::Kind::name && token(ahead).text == word;
}

bool ExpressionReader::take_sign(std::string_view sign) {
    const bool found = is_sign(sign);
    if (found) ++at_;
    return found;
}

bool ExpressionReader::take_word(std::string_view word) {
    const bool found = is_word(word);
    if (found) ++at_;
    return found;
}

void ExpressionReader::want_sign(std::string_view sign) {
    if (!take_sign(sign)) refuse();
}

std::string ExpressionReader::want_name() {
    const bool is_keyword = std::find(std::begin(kWords), std::end(kWords), token().text) != std::end(kWords);
    if (token().kind != Token::Kind::name || is_keyword) refuse();
    return take().text;
}

void ExpressionReader::refuse() const {
    const Token& here = token();
    const std::string_view word = source_.substr(here.begin, std::min<std::size_t>(here.end - here.begin, 40));
    const bool is_text = here.kind == Token::Kind::name || here.kind == Token::Kind::number ||
                         here.kind == Token::Kind::sign || here.kind == Token::Kind::text;
    throw Error(ErrorKind::invalid, text_of(FilePlace{*file_, here.place}),
                is_text ? fmt::format("this is no Python that can be read, at {}", word)
                        : std::string("this is no Python that can be read: the line ends too early"));
}

Expression ExpressionReader::done(Expression made, const Token& first) const {
    made.place = first.place;
    const std::size_t end = at_ > 0 ? (*tokens_)[at_ - 1].end : first.end;
    made.source = end > first.begin ? source_.substr(first.begin, end - first.begin) : std::string_view();
    return made;
}

Expression ExpressionReader::starred() {
    const Token first = token();
    if (!take_sign("*") && !take_sign("**")) return expression();
    (void)expression();
    return done({}, first);
}

Expression ExpressionReader::expressions() {
    const Token first = token();
    Expression one = starred();
    if (!is_sign(",")) return one;
    Expression all{.kind = ExpressionKind::list, .place = {}, .text = "()"};
    all.items.push_back(std::move(one));
    while (take_sign(",")) {
        const Token& next = token();
        const bool ends = next.kind == Token::Kind::newline || next.kind == Token::Kind::end || is_sign("=") ||
                          is_sign(")") || is_sign("]") || is_sign("}") || is_sign(":") || is_sign(";");
        if (ends) break;
        all.items.push_back(starred());
    }
    return done(std::move(all), first);
}

Expression ExpressionReader::targets() {
    const Token first = token();
    Expression all{.kind = ExpressionKind::list};
    do {
        if (is_word("in")) break;
        (void)take_sign("*");
        all.items.push_back(postfix());
    } while (take_sign(","));
    if (all.items.size() == 1) return std::move(all.items.front());
    return done(std::move(all), first);
}

Expression ExpressionReader::expression() {
    const Deeper deeper(depth_);
    if (depth_ > kDeepest)
        throw Error(ErrorKind::invalid, text_of(FilePlace{*file_, token().place}), "nested too deep or too long");
    const Token first = token();
    if (is_word("lambda")) return lambda(first);
    if (is_word("yield") || is_word("await")) {
        take();
        (void)take_word("from");
        const Token& next = token();
        if (next.kind != Token::Kind::newline && !is_sign(")")) (void)expressions();
        return done({}, first);
    }
    Expression value = either();
    if (take_sign(":=")) {
        (void)expression();
        return done({}, first);
    }
    if (!take_word("if")) return value;
    Expression choice{.kind = ExpressionKind::conditional};
    choice.items.push_back(std::move(value));
    choice.items.push_back(either());
    if (!take_word("else")) refuse();
    choice.items.push_back(expression());
    return done(std::move(choice), first);
}

Expression ExpressionReader::lambda(const Token& first) {
    take();
    int open = 0;
    while (open > 0 || !is_sign(":")) {
        const Token& next = token();
        if (next.kind == Token::Kind::newline || next.kind == Token::Kind::end) refuse();
        open += is_sign("(") || is_sign("[") || is_sign("{");
        open -= is_sign(")") || is_sign("]") || is_sign("}");
        take();
    }
    take();
    (void)expression();
    return done({}, first);
}

Expression ExpressionReader::either() {
    const Token first = token();
    Expression left = both();
    while (take_word("or")) {
        Expression made{.kind = ExpressionKind::logic, .place = {}, .text = "or"};
        made.items.push_back(std::move(left));
        made.items.push_back(both());
        left = done(std::move(made), first);
    }
    return left;
}

Expression ExpressionReader::both() {
    const Token first = token();
    Expression left = negation();
    while (take_word("and")) {
        Expression made{.kind = ExpressionKind::logic, .place = {}, .text = "and"};
        made.items.push_back(std::move(left));
        made.items.push_back(negation());
        left = done(std::move(made), first);
    }
    return left;
}

Expression ExpressionReader::negation() {
    const Token first = token();
    if (!take_word("not")) return comparison();
    const Deeper deeper(depth_);
    if (depth_ > kDeepest) refuse();
    Expression made{.kind = ExpressionKind::unary, .place = {}, .text = "not"};
    made.items.push_back(negation());
    return done(std::move(made), first);
}

Expression ExpressionReader::comparison() {
    const Token first = token();
    Expression left = binary(0);
    while (true) {
        std::string sign;
        for (const std::string_view each : {"==", "!=", "<=", ">=", "<", ">"})
            if (is_sign(each)) sign = each;
        if (is_word("in")) sign = "in";
        if (is_word("is")) sign = is_word("not", 1) ? "is not" : "is";
        if (is_word("not") && is_word("in", 1)) sign = "not in";
        if (sign.empty()) return left;
        take();
        if (sign == "is not" || sign == "not in") take();
        Expression made{
            .kind = left.kind == ExpressionKind::comparison ? ExpressionKind::opaque : ExpressionKind::comparison,
            .place = {},
            .text = sign};
        made.items.push_back(std::move(left));
        made.items.push_back(binary(0));
        left = done(std::move(made), first);
    }
}

Expression ExpressionReader::binary(int level) {
    if (level == static_cast<int>(std::size(kLevels))) return unary();
    const Token first = token();
    Expression left = binary(level + 1);
    while (true) {
        std::string_view sign;
        for (const std::string_view each : kLevels[level])
            if (!each.empty() && is_sign(each)) sign = each;
        if (sign.empty()) return left;
        take();
        Expression made{.kind = ExpressionKind::binary, .place = {}, .text = std::string(sign)};
        made.items.push_back(std::move(left));
        made.items.push_back(binary(level + 1));
        left = done(std::move(made), first);
    }
}

Expression ExpressionReader::unary() {
    const Token first = token();
    if (!is_sign("-") && !is_sign("+") && !is_sign("~")) return power();
    const Deeper deeper(depth_);
    if (depth_ > kDeepest) refuse();
    Expression made{.kind = ExpressionKind::unary, .place = {}, .text = take().text};
    made.items.push_back(unary());
    return done(std::move(made), first);
}

Expression ExpressionReader::power() {
    const Token first = token();
    if (take_word("await")) {
        (void)postfix();
        return done({}, first);
    }
    Expression base = postfix();
    if (!take_sign("**")) return base;
    Expression made{.kind = ExpressionKind::binary, .place = {}, .text = "**"};
    made.items.push_back(std::move(base));
    made.items.push_back(unary());
    return done(std::move(made), first);
}

Expression ExpressionReader::postfix() {
    const Token first = token();
    Expression made = atom();
    for (int chain = 0;; ++chain) {
        if (chain > kDeepest) refuse();
        if (take_sign(".")) {
            Expression attribute{.kind = ExpressionKind::attribute, .place = {}, .text = want_name()};
            attribute.items.push_back(std::move(made));
            made = done(std::move(attribute), first);
        } else if (is_sign("(")) {
            made = call(std::move(made), first);
        } else if (is_sign("[")) {
            made = subscript(std::move(made), first);
        } else {
            return made;
        }
    }
}

}  // namespace vramfit::trainers::python
