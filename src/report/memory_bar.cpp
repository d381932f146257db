// A GPU's memory as one line of characters: what is used, what is assumed, what is to spare.
#include "report/memory_bar.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/text_table.hpp"
#include "report/documents.hpp"

namespace vramfit::report {

namespace {

constexpr int kWidest = 80;

struct Part {
    std::int64_t bytes;
    char mark;
    std::string word;
};

/// How many characters each part has: its share of them, and one at least where it is not empty.
std::vector<std::size_t> lengths(const std::vector<Part>& parts, std::int64_t sum, std::size_t width) {
    std::vector<std::size_t> out;
    std::int64_t before = 0;
    std::size_t at = 0;
    const auto place = [&](std::int64_t bytes) {
        return static_cast<std::size_t>(
            static_cast<double>(bytes) / static_cast<double>(sum) * static_cast<double>(width) + 0.5);
    };
    for (const Part& part : parts) {
        before += part.bytes;
        const std::size_t end = std::min(std::max(place(before), at + (part.bytes > 0 ? 1 : 0)), width);
        out.push_back(end - at);
        at = end;
    }
    return out;
}

}  // namespace

MemoryParts memory_parts(const Prediction& p) {
    MemoryParts out;
    out.total = p.device.total.count;
    const std::int64_t usable = p.device.usable.count;
    out.outside = out.total - usable;
    // What fits at the worst end may do so by giving cached memory back: nothing of it is missing then.
    out.reserved = p.verdict == Verdict::fits ? std::min(p.peak.reserved, usable) : p.peak.reserved;
    const std::int64_t left = std::max<std::int64_t>(usable - out.reserved, 0);
    if (p.verdict != Verdict::too_large) out.assumed = at_worst(p.assumptions).count;
    if (p.verdict == Verdict::fits) out.assumed = std::min(out.assumed, left);
    out.spare = std::max<std::int64_t>(left - out.assumed, 0);
    return out;
}

std::string memory_bar(const Prediction& p, const Layout& layout) {
    const MemoryParts memory = memory_parts(p);
    if (memory.total <= 0) return {};
    const std::vector<Part> parts = {
        {memory.outside, '=', p.device.reserve.count > 0 ? "CUDA context and kept free" : "CUDA context"},
        {memory.reserved, '#', "PyTorch"},
        {memory.assumed, '?', "assumed"},
        {memory.spare, '.', "spare"}};
    const auto width = static_cast<std::size_t>(std::max(std::min(layout.width, kWidest) - 2, 8));
    const std::vector<std::size_t> shown = lengths(parts, memory.sum(), width);
    std::string bar, legend;
    for (std::size_t i = 0; i < parts.size(); ++i) {
        bar.append(shown[i], parts[i].mark);
        if (parts[i].bytes > 0)
            legend += fmt::format("{}{} {} {}", legend.empty() ? "" : ", ", parts[i].mark, parts[i].word,
                                  size_text(parts[i].bytes));
    }
    if (memory.sum() > memory.total) {
        const double end = static_cast<double>(memory.total) / static_cast<double>(memory.sum());
        bar[std::min(static_cast<std::size_t>(end * static_cast<double>(width)), width - 1)] = '|';
        legend += fmt::format(", | end of the GPU {}", size_text(memory.total));
    } else {
        legend += fmt::format(", of {}", size_text(memory.total));
    }
    return fmt::format("[{}]\n{}", bar, wrapped(legend, layout.width));
}

}  // namespace vramfit::report
