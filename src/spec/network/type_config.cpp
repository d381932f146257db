// A config.json by the keys of a recorded type: what the recording covers, and by name each key that stands against it.
#include <algorithm>
#include <limits>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "spec/network/allowed.hpp"
#include "spec/network/type.hpp"
#include "spec/network/type_layers.hpp"
#include "spec/network/type_shared.hpp"

namespace vramfit::network {

namespace {

constexpr std::int64_t kLargestSize = std::int64_t{1} << 31;
constexpr std::int64_t kMostLayers = 10'000;
constexpr std::int64_t kAnyNumber = std::numeric_limits<std::int64_t>::max();

class TypeReader {
  public:
    TypeReader(const Place& type, const JsonValue& config, const std::string& path, Problems& problems)
        : type_(type), config_(config), path_(path), problems_(problems) {}

    TypeConfig read() {
        read_layers(type_.member("layers").object());
        const Place keys = type_.member("keys");
        for (std::size_t i = 0; i < keys.list().size(); ++i) read_key(keys.at(i).object());
        if (type_.has("rope")) read_rope(type_.member("rope").object());
        const auto refusal = [this](std::string_view key, std::string what) { refuse(key, std::move(what)); };
        const auto rejection = [this](std::string_view key, std::string what) { reject(key, std::move(what)); };
        if (const Place layers = type_.member("layers"); layers.has("sizes"))
            read_sizes_of_kinds(layers.member("sizes"), out_.kinds, config_, out_.numbers, refusal, rejection);
        if (type_.has("rope_of_kinds")) check_rope_of_kinds(type_, config_, refusal, rejection);
        if (type_.has("fewer")) read_fewer(type_.member("fewer"));
        if (type_.has("heads")) read_heads(type_.member("heads").text());
        if (type_.has("pairs")) read_pairs(type_.member("pairs"));
        return std::move(out_);
    }

  private:
    void refuse(std::string_view key, std::string what) {
        problems_.unsupported(fmt::format("{}/{}", path_, place_in_parts(type_, key)), std::move(what),
                              std::string(kOwnRecording));
    }
    void reject(std::string_view key, std::string what) {
        problems_.invalid(fmt::format("{}/{}", path_, place_in_parts(type_, key)), std::move(what),
                          "see the model's own config.json");
    }
    const JsonValue* given(std::string_view key) const { return config_.find(key); }

    void read_key(const Place& row) {
        const std::string& key = row.member("key").text();
        const JsonValue* value = given(key);
        if (row.has("equal")) {
            read_equal(row, key, value);
        } else if (row.has("absent")) {
            if (value && !is_null(*value))
                refuse(key, fmt::format("{} was not recorded for this type", value->shown()));
        } else if (row.has("factors")) {
            if (value && !is_null(*value) && !are_factors(*value, row.member("factors").integer(1, 100)))
                refuse(key, fmt::format("{} was not recorded for this type", value->shown()));
        } else if (row.has("fixed")) {
            const JsonValue* instead = row.has("unless") ? given(row.member("unless").text()) : nullptr;
            if (instead && !is_null(*instead)) return;
            const JsonValue& fixed = row.member("fixed").json();
            if (value && !same_entries(*value, fixed))
                refuse(key, fmt::format("{} was not recorded, {} was", value->shown(), fixed.shown()));
        } else {
            const JsonValue* other = row.has("also") ? given(row.member("also").text()) : nullptr;
            read_states(row, key, other ? other : value);
        }
    }

    /// A key that the class computes of others where it is absent, or that has to be what they say.
    void read_equal(const Place& row, const std::string& key, const JsonValue* value) {
        const JsonValue* found = value && !is_null(*value) ? value : nullptr;
        if (!found && row.has("default")) found = &row.member("default").json();
        if (!found || !problems_.none()) return;  // of the keys that it follows from
        const std::string_view formula = std::string_view(row.member("equal").text()).substr(1);
        const JsonValue wanted = folded(formula, out_.numbers);
        if (found->kind != JsonKind::integer) return reject(key, fmt::format("{} cannot be", found->shown()));
        if (!same_value(*found, wanted))
            refuse(key, fmt::format("{} was not recorded for this type, {} was ({})", found->shown(), wanted.shown(),
                                    formula));
    }

    /// A power of two alone, perhaps only where a switch is on.
    bool wants_power(const Place& row) const {
        if (!row.has("power") || !row.has("where")) return row.has("power");
        const JsonValue* where = given(row.member("where").text());
        return where && where->kind == JsonKind::boolean && where->boolean;
    }

    /// A key that another one switches off is not looked at.
    bool is_off(const Place& row) const {
        if (!row.has("when")) return false;
        const auto found = out_.values.find(row.member("when").text());
        return found == out_.values.end() || (!found->second.boolean && found->second.integer == 0);
    }

    void read_states(const Place& row, const std::string& key, const JsonValue* value) {
        if (is_off(row)) {  // what it is then decides about nothing
            const Place states = row.member("states");
            out_.chosen[key] = states.at(states.list(1, 100).size() - 1).json();
            return;
        }
        JsonValue found;
        if (value && !(is_null(*value) && row.has("null"))) {
            found = row.has("each") ? of_each(*value, out_.kinds.size()) : *value;
        } else if (!row.has("default")) {
            return reject(key, "the key is missing");
        } else {
            found = row.member("default").json();
            if (found.kind == JsonKind::text && found.text.starts_with('=')) {
                if (!problems_.none()) return;  // of the keys that it follows from
                found = folded(std::string_view(found.text).substr(1), out_.numbers);
            }
        }
        const Place states = row.member("states");
        bool kind_known = false;
        for (std::size_t i = 0; i < states.list(1, 100).size(); ++i) {
            const Place state = states.at(i);
            const bool varied = state.is(JsonKind::object);
            const bool size = varied && state.member("varied").text() == "size";
            kind_known = kind_known || (varied ? is_number(found) && (!size || found.kind == JsonKind::integer)
                                               : state.json().kind == found.kind);
            const std::int64_t least = row.has("least") ? row.member("least").integer(0, 1000) : 1;
            const bool any = !wants_power(row) || found.kind != JsonKind::integer || is_power_of_two(found.integer);
            const bool fits = !varied ? same_value(state.json(), found)
                              : size  ? any && found.kind == JsonKind::integer && found.integer >= least &&
                                           found.integer <= kLargestSize
                                     : is_number(found) && found.real > 0;
            if (!fits) continue;
            if (found.kind == JsonKind::integer) out_.numbers[key] = found.integer;
            out_.values[key] = found;
            out_.chosen[key] = state.json();
            return;
        }
        if (!kind_known && !is_null(found)) return reject(key, fmt::format("{} cannot be", found.shown()));
        refuse(key, fmt::format("{} was not recorded for this type", found.shown()));
    }

    /// How many layers the row's key says, or its default. Nothing: the number cannot be, which is reported.
    std::optional<JsonValue> layers_in(const Place& row, std::int64_t least, std::int64_t most) {
        const std::string& key = row.member("key").text();
        const JsonValue* value = given(key);
        const JsonValue count = value                ? *value
                                : row.has("default") ? row.member("default").json()
                                                     : JsonValue::of(layers_listed(row, config_));
        if (count.kind == JsonKind::integer && count.integer >= least && count.integer <= most) return count;
        reject(key, fmt::format("{} layers cannot be", count.shown()));
        return std::nullopt;
    }

    void read_layers(const Place& row) {
        const std::string& key = row.member("key").text();
        const std::optional<JsonValue> count = layers_in(row, 1, kMostLayers);
        if (!count) return;
        if (row.has("most") && count->integer > row.member("most").integer(1, kMostLayers))
            return refuse(key, fmt::format("{} layers were not recorded for this type", count->integer));
        out_.numbers[key] = count->integer;
        out_.values[key] = *count;
        out_.kinds.assign(static_cast<std::size_t>(count->integer), std::string());
        if (row.has("kinds") && !(row.has("count")  ? count_kinds(row)
                                  : row.has("step") ? step_kinds(row)
                                                    : read_kinds(row)))
            return;
        if (row.has("second") && !read_second(row.member("second").object())) return;
        if (row.has("ends")) mark_ends(row, out_.kinds);
        if (row.has("repeated"))
            check_repeated(row.member("repeated"), out_.kinds, config_,
                           [this](std::string_view repeated, std::string what) { refuse(repeated, std::move(what)); });
        if (row.has("shared"))
            share_layers(row);
        else
            choose_layers(row);
    }

    /// The last layers take keys and values of others.
    void share_layers(const Place& row) {
        const Place shared = row.member("shared").object();
        const std::string& key = shared.member("key").text();
        const auto layers = static_cast<std::int64_t>(out_.kinds.size());
        const std::optional<JsonValue> count = layers_in(shared, 0, layers);
        if (!count) return;
        if (count->integer >= layers - 2)
            return refuse(key, fmt::format("{} of {} layers were not recorded for this type", count->integer, layers));
        out_.values[key] = *count;
        out_.numbers[key] = count->integer;
        out_.kinds = with_roles(out_.kinds, static_cast<std::size_t>(count->integer), shared.has("where_shared"));
        const Place sparsity = shared.has("sparsity") ? shared.member("sparsity").object() : shared;
        const std::string& shares = sparsity.member("key").text();
        if (shared.has("sparsity") && !mark_sparse(sparsity, given(shares), out_.kinds))
            return reject(shares, fmt::format("a list of {} shares is wanted", layers));
        const JsonValue* found = recorded_layers(type_.member("choices").member("the layers"), out_.kinds);
        if (!found) return refuse(list_of(row), "layers in such an order were not recorded for this type");
        out_.chosen["the layers"] = *found;
    }

    /// What layers are besides their kind of attention: "dense+full_attention". A list goes before a count.
    bool read_second(const Place& row) {
        const std::vector<std::string> attention = out_.kinds;
        const JsonValue* list = row.has("list") ? given(row.member("list").text()) : nullptr;
        const bool counted = row.has("count") && (!list || is_null(*list));
        if (!(row.has("step") ? step_kinds(row) : counted ? count_kinds(row) : read_kinds(row))) return false;
        for (std::size_t i = 0; i < out_.kinds.size(); ++i)
            out_.kinds[i] = fmt::format("{}+{}", out_.kinds[i], attention[i]);
        return true;
    }

    /// Every so manieth layer is of the second kind: the last of so many, or the one that an offset says.
    bool step_kinds(const Place& row) {
        const Place step = row.member("step"), kinds = row.member("kinds");
        const std::optional<JsonValue> every = layers_in(step, 1, kAnyNumber);
        if (!every) return false;
        out_.values[step.member("key").text()] = *every;
        std::int64_t place = every->integer - 1;
        if (step.has("offset")) {
            const std::optional<JsonValue> offset = layers_in(step.member("offset"), 0, every->integer - 1);
            if (!offset) return false;
            out_.values[step.member("offset").member("key").text()] = *offset;
            place = offset->integer;
        }
        for (std::size_t i = 0; i < out_.kinds.size(); ++i)
            out_.kinds[i] = kinds.at(static_cast<std::int64_t>(i) % every->integer == place ? 1 : 0).text();
        return true;
    }

    /// The first kind of layer for so many, the second one behind them.
    bool count_kinds(const Place& row) {
        const Place count = row.member("count"), kinds = row.member("kinds");
        const std::optional<JsonValue> first = layers_in(count, 0, kAnyNumber);
        if (!first) return false;
        out_.values[count.member("key").text()] = *first;
        for (std::size_t i = 0; i < out_.kinds.size(); ++i)
            out_.kinds[i] = kinds.at(static_cast<std::int64_t>(i) < first->integer ? 0 : 1).text();
        return true;
    }

    /// The key that lists the kinds of layers.
    static std::string list_of(const Place& row) {
        return row.has("list") ? row.member("list").text() : std::string("layer_types");
    }

    bool read_kinds(const Place& row) {
        const std::string key = list_of(row);
        const std::optional<JsonValue> list = kinds_said(row, key, config_, out_.kinds.size());
        if (!list && !row.has("pattern")) {
            reject(row.has("places") ? row.member("places").member("key").text() : key, "the key is missing");
            return false;
        }
        if (list && (list->kind != JsonKind::list || list->items.size() != out_.kinds.size())) {
            reject(key, fmt::format("a list of {} kinds of layers is wanted", out_.kinds.size()));
            return false;
        }
        const Place known = row.member("kinds");
        std::set<std::string> names;
        for (std::size_t i = 0; i < known.list().size(); ++i) names.insert(known.at(i).text());
        std::vector<JsonValue> all;
        for (std::size_t i = 0; i < out_.kinds.size(); ++i) {
            const JsonValue& kind = list ? known_as(row, list->items[i]) : kind_by_default(row, i, out_.kinds.size());
            if (kind.kind != JsonKind::text || !names.contains(kind.text)) {
                refuse(key, fmt::format("layers of kind {} were not recorded for this type", kind.shown()));
                return false;
            }
            out_.kinds[i] = kind.text;
            all.push_back(kind);
        }
        out_.values[key] = JsonValue::list(std::move(all));
        return true;
    }

    void choose_layers(const Place& row) {
        const Place known = type_.member("choices").member("the layers");
        if (const JsonValue* state = recorded_state(row, known, out_.kinds)) {
            out_.chosen["the layers"] = *state;
            return;
        }
        refuse(row.has("count") ? row.member("count").member("key").text() : list_of(row),
               "layers in such an order were not recorded for this type");
    }

    // transformers 5.17.0 modeling_rope_utils.py, convert_rope_params_to_dict: rope_scaling goes before
    // rope_parameters.
    void read_rope(const Place& row) {
        const auto entries_of = [&](const char* key) {
            const JsonValue* value = given(key);
            return value && value->kind == JsonKind::object && !value->keys.empty() ? value : nullptr;
        };
        for (const char* key : {"rope_scaling", "rope_parameters"})
            if (const JsonValue* value = given(key); value && !is_null(*value) && value->kind != JsonKind::object)
                return reject(key, fmt::format("{} cannot be", value->shown()));
        const bool older = entries_of("rope_scaling") != nullptr;
        const std::string key = older ? "rope_scaling" : "rope_parameters";
        const JsonValue* entries = entries_of(key.c_str());
        if (entries && !older && !row.member("parameters").boolean())
            return refuse(key, "for this type only rope_scaling and rope_theta were recorded");
        const JsonValue* type = entries ? entries->find("rope_type") : nullptr;
        if (!type && entries) type = entries->find("type");
        const JsonValue plain = JsonValue::of("default");
        if (!type) type = &plain;
        const Place types = row.member("types");
        const bool unsaid = type->text != "default" || !entries || row.member("explicit").boolean();
        if (type->kind != JsonKind::text || !types.has(type->text) || !unsaid)
            return refuse(key + "/rope_type",
                          fmt::format("rotary embeddings of type {} were not recorded for this type", type->shown()));
        for (const char* name : {"rope_theta", "partial_rotary_factor"})
            if (const JsonValue* value = given(name)) read_entry(row, types.member(type->text), name, name, *value);
        for (std::size_t i = 0; entries && i < entries->keys.size(); ++i)
            if (const std::string& name = entries->keys[i]; name != "rope_type" && name != "type")
                read_entry(row, types.member(type->text), name, fmt::format("{}/{}", key, name), entries->items[i]);
        const Place needs = types.member(type->text).member("needs");
        for (std::size_t i = 0; i < needs.list().size(); ++i)
            if (!entries || !entries->find(needs.at(i).text()))
                reject(fmt::format("{}/{}", key, needs.at(i).text()), "the key is missing");
        out_.values["rope_parameters"] = types.member(type->text).member("makes").object().json();
        out_.chosen["rope_type"] = type->text == "default" ? JsonValue{} : *type;
    }

    void read_entry(const Place& row, const Place& known, std::string_view name, std::string_view where,
                    const JsonValue& value) {
        const auto has = [&](std::string_view list) {
            const Place names = known.member(list);
            for (std::size_t i = 0; i < names.list().size(); ++i)
                if (names.at(i).text() == name) return true;
            return false;
        };
        if (name == "partial_rotary_factor") {
            if (!row.has("partial") || !same_value(row.member("partial").json(), value))
                refuse(where, fmt::format("{} was not recorded for this type", value.shown()));
        } else if (row.has("own") && row.member("own").object().has(name)) {
            if (!same_value(row.member("own").member(name).json(), value))
                refuse(where, fmt::format("{} was not recorded for this type", value.shown()));
        } else if (name != "rope_theta" && !has("needs") && !has("may")) {
            refuse(where, "the entry was not recorded for this type");
        } else if (!is_number(value)) {
            reject(where, fmt::format("{} is no number", value.shown()));
        } else if (!(value.real > 0)) {
            refuse(where, fmt::format("{} was not recorded for this type", value.shown()));
        }
    }

    void read_heads(const std::string& key) {
        const auto heads = out_.numbers.find(key), pairs = out_.numbers.find("num_key_value_heads");
        if (heads == out_.numbers.end() || pairs == out_.numbers.end()) return;
        if (heads->second % pairs->second != 0)
            return reject("num_key_value_heads",
                          fmt::format("{} does not divide {} attention heads", pairs->second, heads->second));
        out_.chosen["num_key_value_heads == num_attention_heads"] = JsonValue::of(heads->second == pairs->second);
    }

    /// Sizes of which the first is less than the second, and divides it.
    void read_fewer(const Place& all) {
        for (std::size_t i = 0; i < all.list(0, 100).size(); ++i) {
            const std::string &less = all.at(i).list(2, 2).at(0).text(), &more = all.at(i).at(1).text();
            const auto first = out_.numbers.find(less), second = out_.numbers.find(more);
            if (first == out_.numbers.end() || second == out_.numbers.end()) continue;
            if (second->second % first->second != 0)
                reject(less, fmt::format("{} does not divide {}", first->second, second->second));
            else if (first->second == second->second)
                refuse(less, fmt::format("as many as {} were not recorded for this type", more));
        }
    }

    /// Sizes of which the first is a multiple of the second, or the same.
    void read_pairs(const Place& pairs) {
        for (std::size_t i = 0; i < pairs.list(0, 100).size(); ++i) {
            const std::string &more = pairs.at(i).list(2, 2).at(0).text(), &less = pairs.at(i).at(1).text();
            const auto first = out_.numbers.find(more), second = out_.numbers.find(less);
            if (first == out_.numbers.end() || second == out_.numbers.end()) continue;
            if (first->second % second->second != 0)
                reject(more, fmt::format("{} does not divide {}", second->second, first->second));
            out_.chosen[fmt::format("{} == {}", more, less)] = JsonValue::of(first->second == second->second);
        }
    }

    const Place& type_;
    const JsonValue& config_;
    const std::string& path_;
    Problems& problems_;
    TypeConfig out_;
};

}  // namespace

TypeConfig read_type_config(const Place& type, const JsonValue& config, const std::string& path, Problems& problems) {
    return TypeReader(type, config, path, problems).read();
}

}  // namespace vramfit::network
