// A position in a text that knows its line and column.
#pragma once

#include <string_view>

#include "vramfit/trainers/place.hpp"

namespace vramfit::trainers {

/// Copies remember a position. Behind the end every character is '\0'.
class TextCursor {
  public:
    explicit TextCursor(std::string_view text) : text_(text) {}

    bool done() const { return at_ >= text_.size(); }
    char peek(std::size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }
    std::size_t position() const { return at_; }
    Place here() const { return {line_, static_cast<int>(at_ - line_start_) + 1}; }
    /// What lies between an earlier position and this one.
    std::string_view since(std::size_t begin) const { return text_.substr(begin, at_ - begin); }

    /// Stays at the end.
    void step() {
        if (done()) return;
        if (peek() == '\n') {
            ++line_;
            line_start_ = at_ + 1;
        }
        ++at_;
    }
    void step(std::size_t count) {
        for (std::size_t i = 0; i < count; ++i) step();
    }
    void go_back(const TextCursor& to) { *this = to; }

  private:
    std::string_view text_;
    std::size_t at_ = 0;
    std::size_t line_start_ = 0;
    int line_ = 1;
};

}  // namespace vramfit::trainers
