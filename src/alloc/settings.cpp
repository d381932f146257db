// The parser of PYTORCH_CUDA_ALLOC_CONF.
#include "vramfit/alloc/settings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/number_text.hpp"
#include "vramfit/alloc/rounding.hpp"
#include "vramfit/base/error.hpp"

namespace vramfit {

namespace {

// CUDAAllocatorConfig::parseArgs and its parts, c10/cuda/CUDAAllocatorConfig.cpp (2.6.0); newer keys:
// c10/core/AllocatorConfig.cpp. PyTorch reads numbers with std::stoi, which takes "64abc" for 64; refused here.
class Parser {
  public:
    Parser(std::string_view text, const AllocatorSettings& before, const SettingsDialect& dialect,
           std::string_view where);

    AllocatorSettings parse();

  private:
    void read_pair();
    bool known_here(std::string_view key) const;
    void read_value(std::string_view key);
    void read_megabytes(std::string_view key);
    void read_divisions(std::string_view key);
    void read_division_list(std::string_view key);
    void read_division(std::string_view key, bool first, std::size_t& slot);
    void read_real(std::string_view key);
    void read_switch(std::string_view key);
    void read_backend(std::string_view key);
    void skip_value();
    void check_sizes();

    std::string_view token();
    bool accept(std::string_view expected);
    std::optional<std::int64_t> integer(std::string_view key, std::string_view value);
    std::optional<std::int64_t> divisions(std::string_view key, std::string_view value, bool zero_allowed);
    void problem(std::string_view key, std::string what, std::string hint);

    std::vector<std::string> tokens_;
    std::size_t next_ = 0;
    std::string where_;
    AllocatorSettings settings_;
    SettingsDialect dialect_;
    bool rounding_given_ = false;
    std::vector<Problem> problems_;
    ErrorKind kind_ = ErrorKind::unsupported;
};

constexpr std::array<std::string_view, 13> kKeys{
    "backend",
    "max_split_size_mb",
    "max_non_split_rounding_mb",
    "large_segment_size_mb",
    "roundup_power2_divisions",
    "garbage_collection_threshold",
    "per_process_memory_fraction",
    "expandable_segments",
    "throw_on_cudamalloc_oom",
    "release_lock_on_cudamalloc",
    "release_lock_on_hipmalloc",
    "graph_capture_record_stream_reuse",
    "pinned_*",
};

bool is_mark(char c) { return c == ',' || c == ':' || c == '[' || c == ']'; }

bool is_mark(std::string_view text) { return text.size() == 1 && is_mark(text.front()); }

// CUDAAllocatorConfig::lexArgs: spaces are dropped wherever they stand.
std::vector<std::string> tokens_of(std::string_view text) {
    std::vector<std::string> tokens;
    std::string word;
    const auto flush = [&] {
        if (!word.empty()) tokens.push_back(std::exchange(word, {}));
    };
    for (const char c : text) {
        if (is_mark(c)) {
            flush();
            tokens.emplace_back(1, c);
        } else if (c != ' ') {
            word.push_back(c);
        }
    }
    flush();
    return tokens;
}

std::size_t slot_of(std::int64_t megabytes) {
    return static_cast<std::size_t>(
        std::clamp(static_cast<int>(std::bit_width(static_cast<std::uint64_t>(megabytes))) - 1, 0, 15));
}

Parser::Parser(std::string_view text, const AllocatorSettings& before, const SettingsDialect& dialect,
               std::string_view where)
    : tokens_(tokens_of(text)), where_(where), settings_(before), dialect_(dialect) {}

AllocatorSettings Parser::parse() {
    settings_.max_split_size = kNoSplitLimit;
    settings_.roundup_divisions.fill(0);
    settings_.garbage_collection_threshold = 0.0;
    while (next_ < tokens_.size()) read_pair();
    if (dialect_.large_segment_size && !rounding_given_)
        settings_.max_non_split_rounding = settings_.large_segment_size;
    if (problems_.empty()) check_sizes();
    if (!problems_.empty()) throw Error(kind_, std::move(problems_));
    return settings_;
}

void Parser::read_pair() {
    const std::string key{token()};
    if (is_mark(key))
        return problem("", fmt::format("\"{}\" where a key should stand", key), "write key:value,key:value");
    if (!accept(":")) {
        problem(key, "no value", fmt::format("write {}:VALUE", key));
        skip_value();
    } else if (!known_here(key)) {
        problem(key, "unknown setting", fmt::format("known here: {}", fmt::join(kKeys, ", ")));
        skip_value();
    } else {
        read_value(key);
    }
    if (next_ < tokens_.size() && !accept(",")) {
        problem(key, fmt::format("\"{}\" after the value", token()), "separate settings with commas");
        skip_value();
        accept(",");
    }
}

bool Parser::known_here(std::string_view key) const {
    if (key.starts_with("pinned_")) return true;
    if (key == "max_non_split_rounding_mb") return dialect_.max_non_split_rounding;
    if (key == "per_process_memory_fraction") return dialect_.memory_fraction;
    if (key == "large_segment_size_mb") return dialect_.large_segment_size;
    if (key == "throw_on_cudamalloc_oom") return dialect_.throw_on_device_oom;
    return std::find(kKeys.begin(), kKeys.end(), key) != kKeys.end();
}

void Parser::read_value(std::string_view key) {
    if (key.starts_with("pinned_")) return skip_value();  // pinned host memory: no device memory
    if (key == "backend") return read_backend(key);
    if (key == "roundup_power2_divisions") return read_divisions(key);
    if (key.ends_with("_mb")) return read_megabytes(key);
    if (key == "garbage_collection_threshold" || key == "per_process_memory_fraction") return read_real(key);
    read_switch(key);
}

void Parser::read_megabytes(std::string_view key) {
    const std::optional<std::int64_t> value = integer(key, token());
    if (!value) return;
    // CUDAAllocatorConfig::parseMaxSplitSize takes the minimum with what a size can hold
    const std::int64_t bytes = std::min(*value, kLargestRequest / kMiB) * kMiB;
    if (key == "max_split_size_mb") {
        settings_.max_split_size = bytes;
    } else if (key == "max_non_split_rounding_mb") {
        settings_.max_non_split_rounding = bytes;
        rounding_given_ = true;
    } else {
        settings_.large_segment_size = bytes;
    }
}

// After the whole text was read: the bounds of sizes refer to each other.
void Parser::check_sizes() {
    const std::int64_t least = settings_.large_segment_size / kMiB;
    if (settings_.large_segment_size < kMinLargeAlloc)
        return problems_.push_back({fmt::format("{} large_segment_size_mb", where_),
                                    fmt::format("{} is below 10, which is not modelled", least), "use 10 or more"});
    const auto above = [&](const char* key, std::int64_t bytes) {
        if (bytes > settings_.large_segment_size) return;
        problem(key, fmt::format("{} is not above {}, the size of a large segment", bytes / kMiB, least),
                fmt::format("use {} or more", least + 1));
    };
    above("max_split_size_mb", settings_.max_split_size);
    if (rounding_given_) above("max_non_split_rounding_mb", settings_.max_non_split_rounding);
}

void Parser::read_divisions(std::string_view key) {
    if (accept("[")) return read_division_list(key);
    const std::optional<std::int64_t> value = divisions(key, token(), false);
    if (value) settings_.roundup_divisions.fill(*value);
}

void Parser::read_division_list(std::string_view key) {
    std::size_t slot = 0;
    for (bool first = true; !accept("]"); first = false) {
        const std::size_t before = problems_.size();
        if (next_ < tokens_.size()) read_division(key, first, slot);
        if (next_ >= tokens_.size() && problems_.size() == before)
            problem(key, "the list is not closed", "write [256:1,512:2,>:4]");
        if (problems_.size() > before) {
            while (next_ < tokens_.size() && !accept("]")) ++next_;
            return;
        }
        accept(",");
    }
}

// One item "MB:DIVISIONS" or ">:DIVISIONS"; `slot` is that of the item before.
void Parser::read_division(std::string_view key, bool first, std::size_t& slot) {
    const std::string size{token()};
    if (!accept(":")) return problem(key, fmt::format("item \"{}\" has no divisions", size), "write [256:1,512:2,>:4]");
    auto& slots = settings_.roundup_divisions;
    if (size == ">") {
        const std::optional<std::int64_t> value = divisions(key, token(), true);
        if (value) std::fill(slots.begin() + static_cast<std::ptrdiff_t>(slot), slots.end(), *value);
        return;
    }
    const std::optional<std::int64_t> megabytes = divisions(key, size, false);
    if (!megabytes) return;
    const std::optional<std::int64_t> value = divisions(key, token(), true);
    if (!value) return;
    slot = slot_of(*megabytes);
    if (first) std::fill(slots.begin(), slots.begin() + static_cast<std::ptrdiff_t>(slot), *value);
    slots[slot] = *value;
}

void Parser::read_real(std::string_view key) {
    const std::string text{token()};
    const std::optional<double> number = real_from(text);
    const bool is_threshold = key == "garbage_collection_threshold";
    const double value = number.value_or(-1.0);
    const bool in_range = is_threshold ? value > 0.0 && value < 1.0 : value >= 0.0 && value <= 1.0;
    if (!in_range)
        return problem(key,
                       fmt::format("\"{}\" is not a number {}", text, is_threshold ? "between 0 and 1" : "from 0 to 1"),
                       is_threshold ? "leave the key out to switch it off" : "1.0 means no limit");
    (is_threshold ? settings_.garbage_collection_threshold : settings_.memory_fraction) = value;
}

void Parser::read_switch(std::string_view key) {
    const std::string text{token()};
    if (text != "True" && text != "False")
        return problem(key, fmt::format("\"{}\" is neither True nor False", text),
                       "PyTorch takes exactly these spellings");
    if (key == "expandable_segments") settings_.expandable_segments = text == "True";
    if (key == "throw_on_cudamalloc_oom") settings_.throw_on_device_oom = text == "True";
    // the others choose locks and the capture of CUDA graphs: no effect on memory here
}

void Parser::read_backend(std::string_view key) {
    const std::string text{token()};
    if (text == "native") return;
    if (text == "cudaMallocAsync")
        return problems_.push_back({fmt::format("{} {}", where_, key),
                                    "cudaMallocAsync is another allocator, which is not modelled",
                                    "use backend:native"});
    problem(key, fmt::format("\"{}\" is no backend", text), "use backend:native");
}

// Everything up to the comma that ends a setting; commas in brackets belong to it.
void Parser::skip_value() {
    int depth = 0;
    for (; next_ < tokens_.size(); ++next_) {
        const std::string& text = tokens_[next_];
        if (text == "," && depth <= 0) return;
        if (text == "[") ++depth;
        if (text == "]") --depth;
    }
}

std::string_view Parser::token() {
    return next_ < tokens_.size() ? std::string_view{tokens_[next_++]} : std::string_view{};
}

bool Parser::accept(std::string_view expected) {
    if (next_ >= tokens_.size() || tokens_[next_] != expected) return false;
    ++next_;
    return true;
}

std::optional<std::int64_t> Parser::integer(std::string_view key, std::string_view value) {
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
    if (error != std::errc{} || end != value.data() + value.size() || number < 0) {
        problem(key, fmt::format("\"{}\" is not a whole number", value), "write digits only; sizes are in MiB");
        return std::nullopt;
    }
    return number;
}

std::optional<std::int64_t> Parser::divisions(std::string_view key, std::string_view value, bool zero_allowed) {
    const std::optional<std::int64_t> number = integer(key, value);
    if (!number) return std::nullopt;
    if ((*number == 0 && zero_allowed) || std::has_single_bit(static_cast<std::uint64_t>(*number))) return number;
    problem(key, fmt::format("{} is not a power of two", *number), "use 1, 2, 4, 8, ...");
    return std::nullopt;
}

void Parser::problem(std::string_view key, std::string what, std::string hint) {
    kind_ = ErrorKind::invalid;
    problems_.push_back({key.empty() ? where_ : fmt::format("{} {}", where_, key), std::move(what), std::move(hint)});
}

}  // namespace

AllocatorSettings settings_from(std::string_view text, const AllocatorSettings& before, const SettingsDialect& dialect,
                                std::string_view where) {
    return Parser(text, before, dialect, where).parse();
}

}  // namespace vramfit
