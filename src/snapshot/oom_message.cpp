// Reads the text of torch's OutOfMemoryError: sizes behind and before known words, whatever stands between them.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "vramfit/base/error.hpp"
#include "vramfit/snapshot/oom.hpp"

namespace vramfit {

namespace {

constexpr std::string_view kTried = "Tried to allocate ";

/// "2.00 GiB" at the beginning of a text (format_size, c10/cuda/CUDACachingAllocator.cpp).
std::optional<PrintedSize> printed_size(std::string_view text) {
    constexpr std::pair<std::string_view, std::int64_t> kUnits[] = {
        {" bytes", 1}, {" KiB", kKiB}, {" MiB", kMiB}, {" GiB", kGiB}};
    std::int64_t whole = 0, part = 0, digits = 1;
    const char* const end = text.data() + text.size();
    auto [at, error] = std::from_chars(text.data(), end, whole);
    if (error != std::errc{} || whole < 0 || whole > (std::int64_t{1} << 30)) return std::nullopt;
    if (at != end && *at == '.') {
        for (++at; at != end && *at >= '0' && *at <= '9' && digits < 1'000'000; ++at) {
            part = 10 * part + (*at - '0');
            digits *= 10;
        }
    }
    const std::string_view rest(at, static_cast<std::size_t>(end - at));
    for (const auto& [word, unit] : kUnits) {
        if (!rest.starts_with(word)) continue;
        if (unit == 1) return PrintedSize{whole, 0};
        return PrintedSize{whole * unit + part * unit / digits, unit / 200 + 1};  // rounded at the second decimal
    }
    return std::nullopt;
}

/// The size that stands right behind the words.
std::optional<PrintedSize> size_behind(std::string_view text, std::string_view words) {
    const std::size_t at = text.find(words);
    return at == text.npos ? std::nullopt : printed_size(text.substr(at + words.size()));
}

/// The size that stands right before the words.
std::optional<PrintedSize> size_before(std::string_view text, std::string_view words) {
    const std::size_t at = text.find(words);
    if (at == text.npos || at == 0) return std::nullopt;
    const std::string_view before = text.substr(0, at);
    std::size_t begin = before.rfind(' ');
    if (begin == before.npos) return std::nullopt;
    begin = before.find_last_not_of("0123456789.", begin - (begin > 0 ? 1 : 0));
    return printed_size(before.substr(begin == before.npos ? 0 : begin + 1));
}

std::optional<PrintedSize> first_known(std::initializer_list<std::optional<PrintedSize>> sizes) {
    for (const auto& size : sizes)
        if (size) return size;
    return std::nullopt;
}

/// "Process 123 has 2.00 GiB memory in use.", once for each other process.
std::optional<PrintedSize> other_processes(std::string_view text) {
    constexpr std::string_view kProcess = "Process ";
    std::optional<PrintedSize> sum;
    for (std::size_t at = text.find(kProcess); at != text.npos; at = text.find(kProcess, at + 1)) {
        const std::size_t has = text.find(" has ", at);
        if (has == text.npos || has > at + 30) continue;
        const std::optional<PrintedSize> size = printed_size(text.substr(has + 5));
        if (!size) continue;
        if (!sum) sum = PrintedSize{};
        sum->bytes += size->bytes;
        sum->error += size->error;
    }
    return sum;
}

/// Lines of a log that was wrapped are one again.
std::string one_line(std::string_view text) {
    std::string out;
    for (const char c : text) {
        const char shown = c == '\n' || c == '\r' || c == '\t' ? ' ' : c;
        if (shown != ' ' || out.empty() || out.back() != ' ') out += shown;
    }
    return out;
}

}  // namespace

OomMessage read_oom_message(std::string_view text, std::string_view where) {
    const auto fail = [where](std::string what) {
        throw Error(ErrorKind::invalid, std::string(where), std::move(what),
                    "give the whole text of torch.OutOfMemoryError: CUDA out of memory. Tried to allocate ...");
    };
    const std::string all = one_line(text);
    const std::size_t at = all.rfind(kTried);
    if (at == all.npos) fail("there is no out of memory error of torch in this text");
    const std::string_view message = std::string_view(all).substr(at, 3000);
    OomMessage out;
    const std::optional<PrintedSize> tried = size_behind(message, kTried);
    if (!tried) fail("what torch tried to allocate is no size");
    out.tried = *tried;
    out.total = first_known({size_behind(message, "has a total capacity of "),
                             size_behind(message, "has a total capacty of "), size_before(message, " total capacity")});
    out.free = first_known({size_before(message, " is free"), size_before(message, " free;")});
    out.process = size_behind(message, "this process has ");
    out.others = other_processes(message);
    if (!out.process && out.others) std::swap(out.process, out.others);  // "Process 123 has": itself
    out.allowed = size_before(message, " allowed");
    const std::optional<PrintedSize> allocated =
        first_known({size_before(message, " is allocated by PyTorch"), size_before(message, " already allocated")});
    if (!allocated) fail("the text does not say how much is allocated by PyTorch");
    out.allocated = *allocated;
    out.unallocated = size_before(message, " is reserved by PyTorch but unallocated");
    if (const auto reserved = size_before(message, " reserved in total by PyTorch"); reserved && !out.unallocated)
        out.unallocated = PrintedSize{std::max<std::int64_t>(0, reserved->bytes - out.allocated.bytes),
                                      reserved->error + out.allocated.error};
    return out;
}

}  // namespace vramfit
