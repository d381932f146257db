// What the files about cards share: cards of unknown kind and notes about assumptions.
#pragma once

#include <optional>
#include <string_view>

#include "vramfit/spec/devices.hpp"

namespace vramfit {

/// The row of that name or alias, or nullptr.
const KnownDevice* find_device(std::string_view name);

/// A device from a row, with notes about what is not measured.
Device device_of(const KnownDevice& known);

/// A card of which only the total is known, with notes.
Device unknown_device(Bytes total);

/// Adds the ends of what is not known of a card of the table: its total, its context.
void assume_ends(Device& device, const KnownDevice& known);

/// The same for a card of which only a size is known.
void assume_ends_of_size(Device& device);

/// Error about a card that nobody knows, with the nearest names.
[[noreturn]] void refuse_device(std::string_view name, std::string_view where);

/// "NAME,MAJOR,MINOR,SMS,TOTAL,FREE"; nothing if the text does not end in five numbers.
std::optional<Device> custom_device(std::string_view text, std::string_view where);

}  // namespace vramfit
