// What formats share whose files are recognised and refused whole.
#pragma once

#include <string>

#include "trainers/reader.hpp"

namespace vramfit::trainers {

inline constexpr KeyRow kAnyKey[] = {{"*", KeyUse::harmless}};
/// The keys of a format of which none is read.
inline constexpr std::span<const KeyRow> kUnreadKeys[] = {kAnyKey};

/// Whether the document is a file by itself, not a command's arguments.
inline bool is_file(const Document& document) { return document.program.empty() && document.launcher.empty(); }

/// Refuses the file at its first key.
inline void refuse_file(Reader& reader, std::string why) {
    const auto& keys = reader.document().root.keys;
    reader.refuse(keys.empty() ? "" : keys.front(), std::move(why));
}

}  // namespace vramfit::trainers
