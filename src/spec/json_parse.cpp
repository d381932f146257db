// From text to a JSON document: nlohmann's SAX parser, with the checks it leaves to its user.
#include "spec/json_parse.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace vramfit {

namespace {

constexpr const char* kRightFile = "configs and job files have a few KiB; is it the right file?";

// "/a/b/3": keys are escaped as RFC 6901 says.
std::string pointer(const std::vector<std::pair<const JsonValue*, std::size_t>>& steps) {
    std::string path;
    for (const auto& [value, index] : steps) {
        path += '/';
        if (value->kind == JsonValue::Kind::list) {
            path += fmt::format("{}", index);
            continue;
        }
        for (const char c : value->keys[index]) path += c == '~' ? "~0" : c == '/' ? "~1" : std::string(1, c);
    }
    return path;
}

// Builds the tree; nesting is limited here since the parser itself has no limit.
class TreeBuilder : public nlohmann::json_sax<nlohmann::json> {
  public:
    TreeBuilder(JsonValue& root, Problems& problems) : root_(root), problems_(problems) {}

    bool null() override { return take({}); }
    bool boolean(bool value) override { return take(JsonValue::of(value)); }
    bool number_integer(number_integer_t value) override {
        return take(JsonValue::of(static_cast<std::int64_t>(value)));
    }
    bool number_unsigned(number_unsigned_t value) override {
        if (value <= static_cast<number_unsigned_t>(std::numeric_limits<std::int64_t>::max()))
            return take(JsonValue::of(static_cast<std::int64_t>(value)));
        return number_float(static_cast<double>(value), fmt::format("{}", value));
    }
    bool number_float(number_float_t value, const string_t& digits) override {
        JsonValue made = JsonValue::of(static_cast<double>(value));
        made.text = digits;
        return take(std::move(made));
    }
    bool string(string_t& value) override { return take(JsonValue::of(std::string_view(value))); }
    bool binary(binary_t&) override { return false; }
    bool start_object(std::size_t) override { return open(JsonValue::Kind::object); }
    bool start_array(std::size_t) override { return open(JsonValue::Kind::list); }
    bool key(string_t& value) override {
        open_.back()->keys.push_back(value);
        return true;
    }
    bool end_object() override {
        report_duplicates();
        open_.pop_back();
        return true;
    }
    bool end_array() override {
        open_.pop_back();
        return true;
    }
    bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception& error) override {
        // "[json.exception.parse_error.101] parse error at line 3, column 5: syntax error while parsing ..."
        std::string_view what = error.what();
        if (const auto end = what.find("] "); end != std::string_view::npos) what.remove_prefix(end + 2);
        problems_.invalid("", fmt::format("no valid JSON at byte {}: {}", position, what),
                          "JSON has no comments, no trailing commas, no NaN and no Infinity");
        return false;
    }

  private:
    JsonValue* place(JsonValue value) {
        if (open_.empty()) {
            root_ = std::move(value);
            return &root_;
        }
        open_.back()->items.push_back(std::move(value));
        return &open_.back()->items.back();
    }
    bool take(JsonValue value) {
        place(std::move(value));
        return true;
    }
    bool open(JsonValue::Kind kind) {
        if (open_.size() >= static_cast<std::size_t>(kDeepestJson)) {
            problems_.invalid("", fmt::format("nested deeper than {} levels", kDeepestJson), kRightFile);
            return false;
        }
        JsonValue value;
        value.kind = kind;
        open_.push_back(place(std::move(value)));
        return true;
    }
    // Keys that stand twice in the object that is being closed.
    void report_duplicates() {
        const JsonValue& object = *open_.back();
        std::vector<std::size_t> order(object.keys.size());
        std::iota(order.begin(), order.end(), std::size_t{0});
        std::stable_sort(order.begin(), order.end(),
                         [&](std::size_t a, std::size_t b) { return object.keys[a] < object.keys[b]; });
        for (std::size_t i = 1; i < order.size(); ++i) {
            const bool again = object.keys[order[i]] == object.keys[order[i - 1]];
            const bool reported = i > 1 && object.keys[order[i]] == object.keys[order[i - 2]];
            if (again && !reported)
                problems_.invalid(path_of(order[i]), "the key is given twice", "keep one of the two");
        }
    }
    std::string path_of(std::size_t last) const {
        std::vector<std::pair<const JsonValue*, std::size_t>> steps;
        for (std::size_t i = 0; i + 1 < open_.size(); ++i) steps.emplace_back(open_[i], open_[i]->items.size() - 1);
        steps.emplace_back(open_.back(), last);
        return pointer(steps);
    }

    JsonValue& root_;
    Problems& problems_;
    std::vector<JsonValue*> open_;  // pointers stay valid: a list only grows while its last item is closed
};

}  // namespace

JsonValue parse_json(std::string_view text, Problems& problems) {
    if (text.size() > kLargestJsonFile) {
        problems.invalid("", fmt::format("larger than {} MiB", kLargestJsonFile >> 20), kRightFile);
        return {};
    }
    // nlohmann 3.11 takes a zero byte for the end of the text (lexer.hpp, scan).
    if (const auto zero = text.find('\0'); zero != std::string_view::npos) {
        problems.invalid("", fmt::format("a zero byte at byte {}", zero + 1), "JSON is UTF-8 text");
        return {};
    }
    JsonValue root;
    TreeBuilder builder(root, problems);
    if (!nlohmann::json::sax_parse(text.begin(), text.end(), &builder, nlohmann::json::input_format_t::json, true,
                                   false))
        return {};
    return root;
}

}  // namespace vramfit
