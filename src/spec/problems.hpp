// Everything wrong with one file, collected before anything is thrown.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "vramfit/base/error.hpp"

namespace vramfit {

class Problems {
  public:
    explicit Problems(std::string_view file) : file_(file) {}

    /// The question cannot be understood. `path` is a JSON path ("/loop/steps") or empty.
    void invalid(std::string_view path, std::string what, std::string hint) {
        add(ErrorKind::invalid, path, std::move(what), std::move(hint));
    }
    /// The question is understood and cannot be answered.
    void unsupported(std::string_view path, std::string what, std::string hint) {
        add(ErrorKind::unsupported, path, std::move(what), std::move(hint));
    }
    /// Takes over the problems of an error that a part of the file raised.
    void add(const Error& error);

    bool none() const { return problems_.empty(); }
    /// No more are kept: looking for hints is in vain.
    bool full() const;
    const std::string& file() const { return file_; }
    /// "FILE PATH".
    std::string place(std::string_view path) const;
    /// Throws one Error with all problems, if there are any; it is `unsupported` if nothing is invalid.
    void throw_if_any() const;

  private:
    void add(ErrorKind kind, std::string_view path, std::string what, std::string hint);

    std::string file_;
    ErrorKind kind_ = ErrorKind::unsupported;
    std::vector<Problem> problems_;
};

}  // namespace vramfit
