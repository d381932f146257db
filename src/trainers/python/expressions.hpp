// Reads Python's expressions from tokens.
#pragma once

#include <string_view>
#include <vector>

#include "trainers/python/syntax.hpp"
#include "trainers/python/token.hpp"

namespace vramfit::trainers::python {

class ExpressionReader {
  public:
    ExpressionReader(std::string_view source, const std::string& file, const std::vector<Token>& tokens)
        : source_(source), file_(&file), tokens_(&tokens) {}

    /// One expression without commas: a lambda, a conditional, `name := value`.
    Expression expression();
    /// Expressions between commas, a list of them if there is a comma; `*x` is allowed.
    Expression expressions();
    /// What stands left of `in` in a loop.
    Expression targets();

  protected:
    const Token& token(std::size_t ahead = 0) const;
    Token take();
    bool is_sign(std::string_view sign, std::size_t ahead = 0) const;
    bool is_word(std::string_view word, std::size_t ahead = 0) const;
    bool take_sign(std::string_view sign);
    bool take_word(std::string_view word);
    void want_sign(std::string_view sign);
    std::string want_name();
    [[noreturn]] void refuse() const;
    Expression done(Expression made, const Token& first) const;

    std::string_view source_;
    const std::string* file_;
    const std::vector<Token>* tokens_;
    std::size_t at_ = 0;

  private:
    Expression either();
    Expression both();
    Expression negation();
    Expression comparison();
    Expression binary(int level);
    Expression unary();
    Expression power();
    Expression postfix();
    Expression atom();
    Expression call(Expression callee, const Token& first);
    Expression subscript(Expression base, const Token& first);
    Expression bracketed(const Token& first);
    Expression braces(const Token& first);
    Expression texts(const Token& first);
    Expression format(const std::string& text, const Token& first);
    Expression lambda(const Token& first);
    Expression starred();
    void skip_comprehension(std::string_view closing);

    int depth_ = 0;
};

}  // namespace vramfit::trainers::python
