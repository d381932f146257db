// The reader and runner of event files: one line in, one line out.
#include "vramfit/alloc/replay_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <istream>
#include <limits>
#include <optional>
#include <ostream>
#include <sstream>
#include <unordered_map>
#include <utility>

#include "base/number_text.hpp"
#include "vramfit/base/error.hpp"

namespace vramfit {

namespace {

// No program has more streams, and every one costs a list.
constexpr std::int64_t kMostStreams = 1024;
// Far more than any device has, far less than what could overflow a sum.
constexpr std::int64_t kMostBytes = std::int64_t{1} << 50;
constexpr std::int64_t kMostIds = std::numeric_limits<std::int64_t>::max();

constexpr std::string_view kBlanks = " \t";

std::string_view trimmed(std::string_view text) {
    const std::size_t begin = text.find_first_not_of(kBlanks);
    if (begin == std::string_view::npos) return {};
    return text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

/// Words of a line; no line of the format has more than four before its expected values.
struct Words {
    std::array<std::string_view, 5> word;
    std::size_t count = 0;
};

Words words_of(std::string_view text) {
    Words words;
    for (text = trimmed(text); !text.empty() && words.count < words.word.size(); text = trimmed(text)) {
        const std::size_t length = std::min(text.find_first_of(kBlanks), text.size());
        words.word[words.count++] = text.substr(0, length);
        text.remove_prefix(length);
    }
    return words;
}

/// The state while lines are read.
class Runner {
  public:
    Runner(std::string_view file, const ReplayFileOptions& options) : file_(file), options_(options) {}

    /// The line as it stands in the output.
    std::string line(std::string_view text);
    ReplayFileSummary finish();

  private:
    using Blocks = std::unordered_map<std::int64_t, BlockId>;
    using Handler = std::string (Runner::*)(const Words&);
    struct Command {
        std::string_view name;
        std::size_t least_words;
        std::size_t most_words;
        Handler run;
        bool event;  ///< followed by the statistics
    };
    static const std::array<Command, 15> kCommands;

    std::string begin_vector(const Words& words);
    std::string end_vector(const Words& words);
    std::string set_capacity(const Words& words);
    std::string set_foreign(const Words& words);
    std::string set_settings(const Words& words);
    std::string set_fraction(const Words& words);
    std::string set_ties(const Words& words);
    std::string allocate(const Words& words);
    std::string release(const Words& words);
    std::string record_use(const Words& words);
    std::string finish_stream(const Words& words);
    std::string empty_cache(const Words& words);
    std::string reset_peaks(const Words& words);
    std::string change_settings(const Words& words);
    std::string peaks(const Words& words);

    const Command& command(std::string_view name) const;
    void require_header(std::string_view name) const;
    CachingAllocator& allocator();
    AllocatorSettings settings(std::string_view text) const;
    std::int64_t number(std::string_view text, const char* what, std::int64_t most) const;
    std::int64_t stream_number(std::string_view text) const { return number(text, "stream", kMostStreams - 1); }
    Blocks::iterator live(std::string_view id);
    std::string statistics(std::string_view outcome) const;
    void compare(std::string_view expected, const std::string& actual);
    [[noreturn]] void fail(std::string what, std::string hint) const;

    std::string file_;
    ReplayFileOptions options_;
    ReplayFileSummary summary_;
    std::int64_t line_ = 0;
    bool in_vector_ = false;
    std::string name_;
    AllocatorOptions header_;
    std::int64_t foreign_ = 0;
    std::optional<CachingAllocator> allocator_;  ///< from the first event on
    Blocks blocks_;                              ///< kNoBlock: out of memory, or 0 bytes
};

const std::array<Runner::Command, 15> Runner::kCommands{{
    {"vector", 2, 2, &Runner::begin_vector, false},
    {"end", 1, 1, &Runner::end_vector, false},
    {"capacity", 2, 2, &Runner::set_capacity, false},
    {"foreign", 2, 2, &Runner::set_foreign, false},
    {"settings", 2, 2, &Runner::set_settings, false},
    {"fraction", 2, 2, &Runner::set_fraction, false},
    {"tie_independent", 2, 2, &Runner::set_ties, false},
    {"a", 3, 4, &Runner::allocate, true},
    {"f", 2, 2, &Runner::release, true},
    {"rs", 3, 3, &Runner::record_use, true},
    {"done", 2, 2, &Runner::finish_stream, true},
    {"empty", 1, 1, &Runner::empty_cache, true},
    {"rpk", 1, 1, &Runner::reset_peaks, true},
    {"cfg", 2, 2, &Runner::change_settings, true},
    {"peak", 1, 5, &Runner::peaks, false},
}};

std::string Runner::line(std::string_view text) {
    ++line_;
    if (text.ends_with('\r')) text.remove_suffix(1);
    const std::string_view content = trimmed(text);
    if (content.empty() || content.starts_with('#')) return std::string{text};
    const std::string_view name = content.substr(0, content.find_first_of(kBlanks));
    const Command& found = command(name);
    if (!in_vector_ && found.run != &Runner::begin_vector)
        fail(fmt::format("\"{}\" outside of a vector", name), "begin with: vector NAME");
    if (found.run == &Runner::peaks) {
        const std::string actual = peaks({});
        compare(trimmed(content.substr(name.size())), actual);
        return fmt::format("peak {}", actual);
    }
    const std::size_t equals = found.event ? content.find(" =") : std::string_view::npos;
    const std::string_view event = trimmed(content.substr(0, equals));
    const Words words = words_of(event);
    if (words.count < found.least_words || words.count > found.most_words)
        fail(fmt::format("\"{}\" has the wrong number of words", event),
             fmt::format("{} takes {} to {} of them", name, found.least_words, found.most_words));
    std::string actual = (this->*found.run)(words);
    if (!found.event) return std::string{content};
    ++summary_.events;
    if (equals != std::string_view::npos) compare(trimmed(content.substr(equals + 2)), actual);
    return fmt::format("{} = {}", event, actual);
}

ReplayFileSummary Runner::finish() {
    ++line_;
    if (in_vector_) fail(fmt::format("the text stops inside of vector {}", name_), "close it with: end");
    return std::move(summary_);
}

const Runner::Command& Runner::command(std::string_view name) const {
    for (const Command& known : kCommands)
        if (known.name == name) return known;
    fail(fmt::format("unknown event \"{}\"", name.substr(0, 40)),
         "known: a, f, rs, done, empty, rpk, cfg, peak, end, vector, capacity, foreign, settings, fraction");
}

std::string Runner::begin_vector(const Words& words) {
    if (in_vector_) fail(fmt::format("vector {} is not closed", name_), "close it with: end");
    in_vector_ = true;
    name_ = words.word[1];
    header_ = {};
    header_.addresses = options_.addresses;
    header_.ties = options_.ties;
    foreign_ = 0;
    allocator_.reset();
    blocks_.clear();
    ++summary_.vectors;
    return {};
}

std::string Runner::end_vector(const Words&) {
    in_vector_ = false;
    return {};
}

void Runner::require_header(std::string_view name) const {
    if (allocator_) fail(fmt::format("\"{}\" after the first event", name), "put it below the line: vector NAME");
}

std::string Runner::set_capacity(const Words& words) {
    require_header(words.word[0]);
    header_.device_total = Bytes{number(words.word[1], "capacity", kMostBytes)};
    return {};
}

std::string Runner::set_foreign(const Words& words) {
    require_header(words.word[0]);
    foreign_ = number(words.word[1], "bytes", kMostBytes);
    return {};
}

std::string Runner::set_settings(const Words& words) {
    require_header(words.word[0]);
    header_.settings = settings(words.word[1]);
    return {};
}

std::string Runner::set_fraction(const Words& words) {
    require_header(words.word[0]);
    const std::string_view text = words.word[1];
    const std::optional<double> fraction = real_from(text);
    if (!fraction || !(*fraction >= 0.0 && *fraction <= 1.0))
        fail(fmt::format("fraction \"{}\" is not a number from 0 to 1", text), "write it like: fraction 0.5");
    header_.memory_fraction = *fraction;
    return {};
}

std::string Runner::set_ties(const Words& words) {
    require_header(words.word[0]);
    if (words.word[1] != "yes" && words.word[1] != "no")
        fail(fmt::format("tie_independent \"{}\"", words.word[1]), "write yes or no");
    return {};
}

std::string Runner::allocate(const Words& words) {
    const std::int64_t id = number(words.word[1], "id", kMostIds);
    const std::int64_t bytes = number(words.word[2], "bytes", kMostIds);
    const std::int64_t stream = words.count > 3 ? stream_number(words.word[3]) : 0;
    if (const auto same = blocks_.find(id); same != blocks_.end() && same->second != kNoBlock)
        fail(fmt::format("id {} is still allocated", id), "free it first, or use another id");
    const AllocationResult result = allocator().malloc(bytes, static_cast<std::int32_t>(stream));
    blocks_[id] = result.block;
    return statistics(result.ok ? "ok" : "OOM");
}

std::string Runner::release(const Words& words) {
    const auto block = live(words.word[1]);
    allocator().free(block->second);
    blocks_.erase(block);
    return statistics("ok");
}

std::string Runner::record_use(const Words& words) {
    allocator().record_stream(live(words.word[1])->second, static_cast<std::int32_t>(stream_number(words.word[2])));
    return statistics("ok");
}

std::string Runner::finish_stream(const Words& words) {
    allocator().finish_stream(static_cast<std::int32_t>(stream_number(words.word[1])));
    return statistics("ok");
}

std::string Runner::empty_cache(const Words&) {
    allocator().empty_cache();
    return statistics("ok");
}

std::string Runner::reset_peaks(const Words&) {
    allocator().reset_peaks();
    return statistics("ok");
}

std::string Runner::change_settings(const Words& words) {
    header_.settings = settings(words.word[1]);
    allocator().change_settings(header_.settings);
    return statistics("ok");
}

std::string Runner::peaks(const Words&) {
    const PoolStatistics& all = allocator().statistics().all();
    return fmt::format("alloc={} active={} resv={} req={} isb={}", all.allocated.peak, all.active.peak,
                       all.reserved.peak, all.requested.peak, all.inactive_split.peak);
}

CachingAllocator& Runner::allocator() {
    if (!allocator_) {
        if (header_.device_total) {
            if (foreign_ > header_.device_total->count) fail("foreign is larger than capacity", "use a smaller number");
            header_.capacity = Bytes{header_.device_total->count - foreign_};
        }
        allocator_.emplace(header_);
    }
    return *allocator_;
}

AllocatorSettings Runner::settings(std::string_view text) const {
    const std::string where = fmt::format("{}:{}", file_, line_);
    return settings_from(text == "-" ? "" : text, header_.settings, {}, where);
}

std::int64_t Runner::number(std::string_view text, const char* what, std::int64_t most) const {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error == std::errc::result_out_of_range || (error == std::errc{} && value > most))
        fail(fmt::format("{} {} is too large", what, text.substr(0, 40)), fmt::format("the most is {}", most));
    if (error != std::errc{} || end != text.data() + text.size() || value < 0)
        fail(fmt::format("{} \"{}\" is not a whole number", what, text.substr(0, 40)), "write digits only");
    return value;
}

Runner::Blocks::iterator Runner::live(std::string_view id) {
    const auto found = blocks_.find(number(id, "id", kMostIds));
    if (found == blocks_.end()) fail(fmt::format("id {} is not allocated", id), "allocate it first with: a ID BYTES");
    return found;
}

std::string Runner::statistics(std::string_view outcome) const {
    const AllocatorStatistics& s = allocator_->statistics();
    const PoolStatistics& all = s.all();
    return fmt::format("{} {} {} {} {} {} {} {} {} {} {} {}", outcome, all.allocated.current, all.active.current,
                       all.reserved.current, all.requested.current, all.inactive_split.current,
                       all.segment_count.current, all.active_count.current, s.alloc_retries, s.ooms, s.device_allocs,
                       s.device_frees);
}

void Runner::compare(std::string_view expected, const std::string& actual) {
    if (expected.empty()) return;
    ++summary_.compared;
    if (expected != actual) summary_.mismatches.push_back({line_, name_, std::string{expected}, actual});
}

void Runner::fail(std::string what, std::string hint) const {
    throw Error(ErrorKind::invalid, fmt::format("{}:{}", file_, line_), std::move(what), std::move(hint));
}

}  // namespace

ReplayFileSummary replay_lines(std::istream& in, std::ostream& out, std::string_view file,
                               const ReplayFileOptions& options) {
    Runner runner(file, options);
    std::string text;
    while (std::getline(in, text)) out << runner.line(text) << '\n';
    return runner.finish();
}

ReplayFileResult replay_text(std::string_view text, std::string_view file, const ReplayFileOptions& options) {
    std::istringstream in{std::string{text}};
    std::ostringstream out;
    ReplayFileSummary summary = replay_lines(in, out, file, options);
    return {std::move(out).str(), std::move(summary)};
}

}  // namespace vramfit
