// With sanitizers everything runs some ten times longer: tests that go through many cases take some of them there.
#pragma once
#include <cstddef>

namespace vramfit::test {

#ifdef VRAMFIT_SANITIZED
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

/// Whether the case at `index` is tried: each of them, with sanitizers every `n`th.
constexpr bool is_tried(std::size_t index, std::size_t n) { return !kSanitized || index % n == 0; }

}  // namespace vramfit::test
