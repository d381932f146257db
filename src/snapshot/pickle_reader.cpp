// The machine that a pickle is a program for, with the opcodes of plain data only (Lib/pickletools.py of CPython).
#include "snapshot/pickle_reader.hpp"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "vramfit/base/error.hpp"

namespace vramfit::snapshot {

namespace {

constexpr const char* kPickleHint = "a snapshot is written by torch.cuda.memory._dump_snapshot(FILE)";
constexpr int kNewestProtocol = 5;

class PickleMachine {
  public:
    PickleMachine(std::string_view bytes, std::string_view where, const PickleLimits& limits)
        : bytes_(bytes), where_(where), limits_(limits) {}

    Pickle run() {
        while (!done_) {
            opcode_at_ = at_;
            step(static_cast<unsigned char>(take(1)[0]));
        }
        return std::move(pickle_);
    }

  private:
    [[noreturn]] void fail(std::string what) const {
        throw Error(ErrorKind::invalid, std::string(where_), std::move(what), kPickleHint);
    }

    std::string_view take(std::uint64_t count) {
        if (count > bytes_.size() - at_) fail("the pickle is cut off");
        const std::string_view out = bytes_.substr(at_, static_cast<std::size_t>(count));
        at_ += out.size();
        return out;
    }

    std::uint64_t unsigned_of(int count) {
        const std::string_view raw = take(static_cast<std::uint64_t>(count));
        std::uint64_t value = 0;
        for (int i = 0; i < count; ++i)
            value |= static_cast<std::uint64_t>(static_cast<unsigned char>(raw[static_cast<std::size_t>(i)]))
                     << (8 * i);
        return value;
    }

    void push(PickleValue value) {
        if (++values_ > limits_.values) fail(fmt::format("more than {} values", limits_.values));
        stack_.push_back(value);
    }
    void push_integer(std::int64_t value) { push({PickleKind::integer, 0, value, nullptr}); }
    void push_text(std::uint64_t size) {
        if (size > 0xffffffffu) fail("a text is longer than 4 GiB");
        const std::string_view raw = take(size);
        push({PickleKind::text, static_cast<std::uint32_t>(size), 0, raw.data()});
    }
    void push_part(PickleKind kind, std::vector<PickleValue> items) {
        if (pickle_.parts.size() >= limits_.parts) fail(fmt::format("more than {} lists", limits_.parts));
        pickle_.parts.push_back(std::move(items));
        push({kind, 0, static_cast<std::int64_t>(pickle_.parts.size()) - 1, nullptr});
    }

    PickleValue pop() {
        if (stack_.empty() || (!marks_.empty() && stack_.size() <= marks_.back())) fail("the pickle is damaged");
        const PickleValue value = stack_.back();
        stack_.pop_back();
        return value;
    }
    std::vector<PickleValue> pop_to_mark() {
        if (marks_.empty()) fail("the pickle is damaged");
        const std::size_t mark = marks_.back();
        marks_.pop_back();
        std::vector<PickleValue> out(stack_.begin() + static_cast<std::ptrdiff_t>(mark), stack_.end());
        stack_.resize(mark);
        return out;
    }
    std::vector<PickleValue>& top_part(PickleKind kind) {
        const std::size_t floor = marks_.empty() ? 0 : marks_.back();
        if (stack_.size() <= floor || stack_.back().kind != kind) fail("the pickle is damaged");
        return pickle_.parts[static_cast<std::size_t>(stack_.back().number)];
    }
    void append(PickleKind kind, const std::vector<PickleValue>& items) {
        if (kind == PickleKind::dict && items.size() % 2 != 0) fail("the pickle is damaged");
        std::vector<PickleValue>& part = top_part(kind);
        part.insert(part.end(), items.begin(), items.end());
    }
    void tuple(int count) {
        std::vector<PickleValue> items(static_cast<std::size_t>(count));
        for (auto item = items.rbegin(); item != items.rend(); ++item) *item = pop();
        push_part(PickleKind::list, std::move(items));
    }

    void memoize(std::uint64_t index) {
        if (stack_.empty()) fail("the pickle is damaged");
        if (index > bytes_.size()) fail("the pickle is damaged");
        // Indices come in order, so the memo is no larger than what was written into it.
        if (index >= memo_.size()) {
            if (index > 2 * memo_.size() + 1024) fail("the pickle is damaged");
            memo_.resize(static_cast<std::size_t>(index) + 1);
        }
        memo_[static_cast<std::size_t>(index)] = stack_.back();
        memoized_ = std::max<std::uint64_t>(memoized_, index + 1);
    }
    void repeat(std::uint64_t index) {
        if (index >= memo_.size()) fail("the pickle is damaged");
        push(memo_[static_cast<std::size_t>(index)]);
    }

    void long_of(std::uint64_t size) {
        const std::string_view raw = take(size);
        if (raw.size() > 8) {  // larger numbers have no meaning here: addresses and sizes are of 64 bits
            if (raw.size() == 9 && raw[8] == 0) return push_integer(static_cast<std::int64_t>(~0ull >> 1));
            fail("a number of more than 64 bits");
        }
        std::uint64_t value = 0;
        for (std::size_t i = 0; i < raw.size(); ++i)
            value |= static_cast<std::uint64_t>(static_cast<unsigned char>(raw[i])) << (8 * i);
        const auto bits = static_cast<int>(8 * raw.size());
        if (bits > 0 && bits < 64 && (value >> (bits - 1)) != 0) value |= ~0ull << bits;
        push_integer(static_cast<std::int64_t>(value));
    }

    void stop() {
        pickle_.root = pop();
        if (!stack_.empty() || !marks_.empty()) fail("the pickle is damaged");
        done_ = true;
    }

    void step(unsigned char opcode) {
        if (step_scalar(opcode) || step_part(opcode) || step_memo(opcode)) return;
        switch (opcode) {
            case 0x80:  // PROTO
                if (const auto protocol = unsigned_of(1); protocol < 2 || protocol > kNewestProtocol)
                    fail(fmt::format("pickle protocol {} is not read, only 2 to 5", protocol));
                return;
            case 0x95: unsigned_of(8); return;  // FRAME
            case '(': marks_.push_back(stack_.size()); return;
            case '0': pop(); return;
            case '.': stop(); return;
            default: break;
        }
        if (opcode_at_ == 0) fail("this is no pickle");
        if (std::strchr("cRibo\x81\x92\x93QP\x82\x83\x84", opcode) && opcode != 0)
            fail("the pickle holds objects, not only numbers, texts, lists and dictionaries");
        fail(fmt::format("opcode 0x{:02x} at byte {} is none of plain data", opcode, opcode_at_));
    }

    bool step_scalar(unsigned char opcode) {
        switch (opcode) {
            case 'N': push({}); return true;
            case 0x88: push({PickleKind::boolean, 0, 1, nullptr}); return true;
            case 0x89: push({PickleKind::boolean, 0, 0, nullptr}); return true;
            case 'K': push_integer(static_cast<std::int64_t>(unsigned_of(1))); return true;
            case 'M': push_integer(static_cast<std::int64_t>(unsigned_of(2))); return true;
            case 'J': push_integer(static_cast<std::int32_t>(unsigned_of(4))); return true;
            case 0x8a: long_of(unsigned_of(1)); return true;
            case 'G': take(8), push({PickleKind::real, 0, 0, nullptr}); return true;  // no key that is read is a float
            case 0x8c: push_text(unsigned_of(1)); return true;                        // SHORT_BINUNICODE
            case 'X': push_text(unsigned_of(4)); return true;                         // BINUNICODE
            case 0x8d: push_text(unsigned_of(8)); return true;                        // BINUNICODE8
            case 'U':                                                                 // SHORT_BINSTRING
            case 'C': push_text(unsigned_of(1)); return true;                         // SHORT_BINBYTES
            case 'B': push_text(unsigned_of(4)); return true;                         // BINBYTES
            case 0x8e: push_text(unsigned_of(8)); return true;                        // BINBYTES8
            default: return false;
        }
    }

    bool step_part(unsigned char opcode) {
        switch (opcode) {
            case ']':
            case ')': push_part(PickleKind::list, {}); return true;
            case '}': push_part(PickleKind::dict, {}); return true;
            case 'l':
            case 't': push_part(PickleKind::list, pop_to_mark()); return true;
            case 0x85: tuple(1); return true;
            case 0x86: tuple(2); return true;
            case 0x87: tuple(3); return true;
            case 'a': append(PickleKind::list, {pop()}); return true;
            case 'e': append(PickleKind::list, pop_to_mark()); return true;
            case 's': {
                const PickleValue value = pop(), key = pop();
                append(PickleKind::dict, {key, value});
                return true;
            }
            case 'u': append(PickleKind::dict, pop_to_mark()); return true;
            default: return false;
        }
    }

    bool step_memo(unsigned char opcode) {
        switch (opcode) {
            case 0x94: memoize(memoized_); return true;
            case 'q': memoize(unsigned_of(1)); return true;
            case 'r': memoize(unsigned_of(4)); return true;
            case 'h': repeat(unsigned_of(1)); return true;
            case 'j': repeat(unsigned_of(4)); return true;
            default: return false;
        }
    }

    std::string_view bytes_;
    std::string_view where_;
    const PickleLimits& limits_;
    std::size_t at_ = 0;
    std::size_t opcode_at_ = 0;
    std::size_t values_ = 0;
    bool done_ = false;
    std::vector<PickleValue> stack_;
    std::vector<std::size_t> marks_;
    std::vector<PickleValue> memo_;
    std::uint64_t memoized_ = 0;
    Pickle pickle_;
};

}  // namespace

const std::vector<PickleValue>& Pickle::items(const PickleValue& value) const {
    static const std::vector<PickleValue> kNone;
    return value.kind == PickleKind::list ? parts[static_cast<std::size_t>(value.number)] : kNone;
}

PickleValue Pickle::at(const PickleValue& dict, std::string_view key) const {
    if (dict.kind != PickleKind::dict) return {};
    const std::vector<PickleValue>& part = parts[static_cast<std::size_t>(dict.number)];
    for (std::size_t i = part.size(); i >= 2; i -= 2)
        if (text(part[i - 2]) == key) return part[i - 1];
    return {};
}

Pickle read_pickle(std::string_view bytes, std::string_view where, const PickleLimits& limits) {
    return PickleMachine(bytes, where, limits).run();
}

}  // namespace vramfit::snapshot
