// "Did you mean": the known word nearest to a mistyped one.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace vramfit {

/// The known word with the fewest edits to `word` (case ignored), or empty text if none is near. A word with
/// other numbers is another thing, however near: an RTX 4050 is no RTX 4090.
std::string nearest(std::string_view word, std::span<const std::string_view> known);

/// "did you mean 'hidden_size'?", or `otherwise` if no known word is near.
std::string did_you_mean(std::string_view word, std::span<const std::string_view> known,
                         std::string_view otherwise = {});

/// Whether `word` can hardly be anything but `known` with one or two wrong letters.
bool is_misspelt(std::string_view word, std::string_view known);

/// ASCII lower case.
std::string lower_case(std::string_view text);

}  // namespace vramfit
