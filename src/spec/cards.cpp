// Cards as the reference tracer names them: a short table, and cards written out.
#include <algorithm>
#include <array>
#include <charconv>

#include <fmt/format.h>

#include "spec/device_parts.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/spec/suggest.hpp"

namespace vramfit {

namespace {

struct Card {
    std::string_view word;
    std::string_view name;
    Capability capability;
    int multiprocessors;
    std::int64_t total;
    std::int64_t free;  // what the caching allocator can take in all; round numbers, not measurements
    std::int64_t l2_mib;
};

// The tracer's CARDS.
constexpr Card kCards[] = {
    {"a100", "NVIDIA A100-SXM4-80GB", {8, 0}, 108, 85094825984, 84546945024, 40},
    {"h100", "NVIDIA H100 80GB HBM3", {9, 0}, 132, 85029158912, 84483571712, 50},
    {"rtx3090", "NVIDIA GeForce RTX 3090", {8, 6}, 82, 25438126080, 25165824000, 6},
    {"rtx4090", "NVIDIA GeForce RTX 4090", {8, 9}, 128, 25386352640, 25165824000, 72},
    {"t4", "Tesla T4", {7, 5}, 40, 15828320256, 15728640000, 4},
    {"rtx4080", "NVIDIA GeForce RTX 4080", {8, 9}, 76, 17171480576, 15569256448, 64},
    {"rtx2070", "NVIDIA GeForce RTX 2070", {7, 5}, 36, 8360755200, 8252293120, 4},
};

Device make_device(std::string_view name, Capability capability, int multiprocessors, Bytes total, Bytes free) {
    Device device;
    device.name = name;
    device.capability = capability;
    device.multiprocessors = multiprocessors;
    device.capacity_known = true;
    device.total = total;
    device.context = total - free;
    device.usable = free;
    return device;
}

}  // namespace

std::optional<Device> custom_device(std::string_view text, std::string_view where) {
    std::array<std::int64_t, 5> numbers{};
    std::string_view rest = text;
    for (std::size_t i = numbers.size(); i-- > 0;) {
        const std::size_t comma = rest.rfind(',');
        if (comma == std::string_view::npos) return std::nullopt;
        const std::string_view digits = rest.substr(comma + 1);
        const auto [end, problem] = std::from_chars(digits.data(), digits.data() + digits.size(), numbers[i]);
        if (problem != std::errc{} || end != digits.data() + digits.size()) return std::nullopt;
        rest = rest.substr(0, comma);
    }
    const auto [major, minor, multiprocessors, total, free] = numbers;
    const auto refuse = [&](std::string_view what) {
        throw Error(ErrorKind::invalid, std::string(where), fmt::format("'{}': {}", text, what),
                    "write NAME,MAJOR,MINOR,MULTIPROCESSORS,TOTAL_BYTES,FREE_BYTES");
    };
    if (rest.empty()) refuse("the GPU has no name");
    if (major < 1 || major > 99 || minor < 0 || minor > 9) refuse("no compute capability");
    if (multiprocessors < 1 || multiprocessors > 10'000) refuse("no count of multiprocessors");
    if (free < 1 || total < free) refuse("the free bytes must be above zero and at most the total");
    return make_device(rest, {static_cast<int>(major), static_cast<int>(minor)}, static_cast<int>(multiprocessors),
                       Bytes{total}, Bytes{free});
}

Device card_from(std::string_view text, std::string_view where) {
    std::vector<std::string_view> words;
    for (const Card& card : kCards) {
        if (card.word == text) {
            Device device =
                make_device(card.name, card.capability, card.multiprocessors, Bytes{card.total}, Bytes{card.free});
            device.l2_cache = Bytes{card.l2_mib << 20};
            return device;
        }
        words.push_back(card.word);
    }
    if (auto custom = custom_device(text, where)) return *custom;
    throw Error(ErrorKind::invalid, std::string(where), fmt::format("unknown GPU '{}'", text),
                did_you_mean(text, words,
                             fmt::format("known: {}; or NAME,MAJOR,MINOR,MULTIPROCESSORS,TOTAL_BYTES,FREE_BYTES",
                                         fmt::join(words, ", "))));
}

std::string card_text(const Device& device) {
    if (!device.capacity_known) return {};
    // NCCL's buffers are taken off again by whoever reads the card.
    const Bytes free = device.usable + device.communicator;
    return fmt::format("{},{},{},{},{},{}", device.name, device.capability.major, device.capability.minor,
                       device.multiprocessors, device.total.count, free.count);
}

}  // namespace vramfit
