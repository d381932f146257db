// Reads sweep files.
#include "cli/sweep/space_file.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "cli/flags/axes.hpp"
#include "cli/input.hpp"
#include "spec/json_parse.hpp"
#include "vramfit/base/error.hpp"
#include "vramfit/spec/suggest.hpp"

namespace vramfit::cli {

namespace {

constexpr std::string_view kSchema = "vramfit.space/1";
constexpr const char* kTargetsEach = "targets-each";
constexpr std::string_view kBounds[] = {"effective-batch", "min-tokens-per-step", "min-rank", "min-batch", "min-seq"};

bool is_bound(std::string_view key) {
    return std::find(std::begin(kBounds), std::end(kBounds), key) != std::end(kBounds);
}

bool is_axis_name(std::string_view key) {
    const auto axes = sweep_axes();
    return std::any_of(axes.begin(), axes.end(), [key](const PlanAxis& axis) { return key == axis.name; });
}

class Reading {
  public:
    Reading(const std::string& path, const PlanFlags& flags) : flags_(flags), problems_(name_of_input(path)) {
        for (const PlanFlag* flag : plan_flags()) known_.emplace_back(flag->name);
        known_.insert(known_.end(), {"model", "together", "schema", kTargetsEach});
        known_.insert(known_.end(), std::begin(kBounds), std::end(kBounds));
    }

    SpaceFile read(const std::string& text) {
        const JsonValue file = parse_json(text, problems_);
        problems_.throw_if_any();
        if (file.kind != JsonValue::Kind::object)
            problems_.invalid("", fmt::format("an object is wanted, not {}", file.shown()), "{\"schema\": ...}");
        const JsonValue* schema = file.find("schema");
        if (!schema || schema->text != kSchema)
            problems_.invalid("/schema", schema ? "unknown schema" : "the key is missing",
                              fmt::format("write \"schema\": \"{}\"", kSchema));
        for (std::size_t i = 0; i < file.keys.size(); ++i) read_key(file.keys[i], file.items[i]);
        problems_.throw_if_any();
        return std::move(out_);
    }

    std::map<std::string, std::string> places;  ///< of keys

  private:
    void read_key(const std::string& key, const JsonValue& value) {
        if (key == "schema") return;
        if (key == "together") return read_together(value);
        const std::string path = "/" + key;
        if (!take(key, path)) return;
        std::vector<std::string> values = values_of(value, path);
        if (values.empty()) return;
        if (is_bound(key))
            out_.bounds[key] = values.front();
        else if (key == kTargetsEach)
            out_.asked.axes["targets"] = each_set_of(fmt::format("{}", fmt::join(values, ",")), problems_.place(path));
        else if (is_axis_name(key))
            out_.asked.axes[key] = fmt::format("{}", fmt::join(values, ","));
        else if (values.size() == 1)
            out_.asked.fixed[key] = values.front();
        else
            out_.asked.choices.push_back({key, std::move(values)});
    }

    /// A list of groups, each a list of objects with the same keys.
    void read_together(const JsonValue& value) {
        constexpr const char* kHint = "[[{\"rank\": 8, \"lora-alpha\": 16}, {\"rank\": 16, \"lora-alpha\": 32}]]";
        if (value.kind != JsonValue::Kind::list)
            return problems_.invalid("/together", fmt::format("a list of groups is wanted, not {}", value.shown()),
                                     kHint);
        for (std::size_t g = 0; g < value.items.size(); ++g) {
            const std::string path = fmt::format("/together/{}", g);
            const JsonValue& group = value.items[g];
            if (group.kind != JsonValue::Kind::list || group.items.empty())
                problems_.invalid(path, fmt::format("a list of objects is wanted, not {}", group.shown()), kHint);
            else
                read_group(group, path, kHint);
        }
    }

    void read_group(const JsonValue& group, const std::string& path, const char* hint) {
        Together alternatives;
        for (std::size_t i = 0; i < group.items.size(); ++i) {
            const JsonValue& item = group.items[i];
            const std::string place = fmt::format("{}/{}", path, i);
            if (item.kind != JsonValue::Kind::object || item.keys.empty()) {
                problems_.invalid(place, fmt::format("an object is wanted, not {}", item.shown()), hint);
                continue;
            }
            Chosen& chosen = alternatives.emplace_back();
            for (std::size_t k = 0; k < item.keys.size(); ++k) read_member(item, k, place, i == 0, chosen);
            const Chosen& first = alternatives.front();
            const bool same = std::equal(chosen.begin(), chosen.end(), first.begin(), first.end(),
                                         [](const auto& a, const auto& b) { return a.first == b.first; });
            if (!same) problems_.invalid(place, "its keys are not those of the first of the group", hint);
        }
        if (!alternatives.empty()) out_.asked.together.push_back(std::move(alternatives));
    }

    void read_member(const JsonValue& item, std::size_t k, const std::string& place, bool first, Chosen& chosen) {
        const std::string& key = item.keys[k];
        const std::string path = fmt::format("{}/{}", place, key);
        if (key == "together" || key == "schema" || key == kTargetsEach || is_bound(key))
            return problems_.invalid(path, "does not move with others", "write it beside \"together\"");
        if (first ? !take(key, path) : !is_known(key, path)) return;
        const std::vector<std::string> values = values_of(item.items[k], path);
        if (values.size() == 1)
            chosen[key] = values.front();
        else if (!values.empty())
            problems_.invalid(path, "one value is wanted, not a list", "one object for each value");
    }

    bool is_known(const std::string& key, const std::string& path) {
        if (std::find(known_.begin(), known_.end(), key) != known_.end()) return true;
        problems_.invalid(path, "unknown key",
                          did_you_mean(key, known_, "keys are the long names of the flags of vramfit sweep"));
        return false;
    }

    /// Whether the key is known, and said here alone.
    bool take(const std::string& key, const std::string& path) {
        if (!is_known(key, path)) return false;
        const std::string name = key == kTargetsEach ? "targets" : key;
        const auto [before, is_new] = places.emplace(name, problems_.place(path));
        if (!is_new) problems_.invalid(path, fmt::format("stands in {} too", before->second), "keep one of the two");
        if (flags_.given(name)) problems_.invalid(path, fmt::format("--{} is given, too", name), "keep one of the two");
        return is_new;
    }

    std::vector<std::string> values_of(const JsonValue& value, const std::string& path) {
        std::vector<std::string> out;
        if (value.kind != JsonValue::Kind::list) {
            add_value_of(value, path, out);
            return out;
        }
        if (value.items.empty()) problems_.invalid(path, "the list is empty", "give it a value, or leave the key out");
        for (std::size_t i = 0; i < value.items.size(); ++i) {
            const std::string place = fmt::format("{}/{}", path, i);
            const std::size_t before = out.size();
            add_value_of(value.items[i], place, out);
            if (out.size() > before && std::find(out.begin(), out.end() - 1, out.back()) != out.end() - 1)
                problems_.invalid(place, fmt::format("'{}' is given twice", out.back()), "keep one of the two");
        }
        return out;
    }

    void add_value_of(const JsonValue& value, const std::string& path, std::vector<std::string>& out) {
        switch (value.kind) {
            case JsonValue::Kind::text: out.push_back(value.text); break;
            case JsonValue::Kind::integer: out.push_back(std::to_string(value.integer)); break;
            case JsonValue::Kind::real: out.push_back(value.text); break;
            case JsonValue::Kind::boolean: out.emplace_back(value.boolean ? "true" : "false"); break;
            default:
                problems_.invalid(path,
                                  fmt::format("a text, a number or true or false is wanted, not {}", value.shown()),
                                  "write values as the flags have them");
        }
    }

    const PlanFlags& flags_;
    Problems problems_;
    std::vector<std::string_view> known_;
    SpaceFile out_;
};

}  // namespace

SpaceFile read_space(const std::string& path, PlanFlags& flags) {
    Reading reading(path, flags);
    SpaceFile out = reading.read(read_input(path, "--space"));
    flags.name_places(reading.places);
    return out;
}

}  // namespace vramfit::cli
