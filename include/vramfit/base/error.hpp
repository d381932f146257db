// The one exception of the library: where, what is wrong, what to do next.
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

namespace vramfit {

/// What kind of refusal an Error is; decides the exit status of the program.
enum class ErrorKind {
    invalid,      ///< the question could not be understood: exit status 2
    unsupported,  ///< a known question about an unsupported thing: exit status 3
};

/// One problem of an input.
struct Problem {
    std::string where;  ///< file and JSON path, flag, or empty: "llama.json /num_key_value_heads"
    std::string what;   ///< "7 does not divide 32 attention heads"
    std::string hint;   ///< the way out; may be empty
};

/// Carries at least one problem; `what()` holds all of them as lines "error: WHERE: WHAT" and "hint: HINT".
class Error : public std::runtime_error {
  public:
    Error(ErrorKind kind, std::vector<Problem> problems);
    Error(ErrorKind kind, std::string where, std::string what, std::string hint = {});

    ErrorKind kind() const { return kind_; }
    const std::vector<Problem>& problems() const { return problems_; }

  private:
    ErrorKind kind_;
    std::vector<Problem> problems_;
};

}  // namespace vramfit
