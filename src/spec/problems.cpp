// Everything wrong with one file, collected before anything is thrown.
#include "spec/problems.hpp"

#include <fmt/format.h>

namespace vramfit {

namespace {
constexpr std::size_t kMost = 100;  // a hostile file must not make an error of gigabytes
}

std::string Problems::place(std::string_view path) const {
    if (file_.empty() || path.empty()) return file_ + std::string(path);
    return fmt::format("{} {}", file_, path);
}

bool Problems::full() const { return problems_.size() >= kMost; }

void Problems::add(ErrorKind kind, std::string_view path, std::string what, std::string hint) {
    if (kind == ErrorKind::invalid) kind_ = ErrorKind::invalid;
    if (!full()) problems_.push_back({place(path), std::move(what), std::move(hint)});
}

void Problems::add(const Error& error) {
    if (error.kind() == ErrorKind::invalid) kind_ = ErrorKind::invalid;
    for (const Problem& problem : error.problems()) {
        if (!full()) problems_.push_back(problem);
    }
}

void Problems::throw_if_any() const {
    if (!problems_.empty()) throw Error(kind_, problems_);
}

}  // namespace vramfit
