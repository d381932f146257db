// The network of one configuration from the recording of its type: choices made, layers written out, formulas with
// their numbers.
#include <algorithm>
#include <set>
#include <unordered_map>

#include <fmt/format.h>

#include "spec/network/type_condition.hpp"
#include "spec/network/type_layers.hpp"
#include "vramfit/base/error.hpp"

namespace vramfit::network {

namespace {

constexpr std::size_t kDeepestNodes = 64;
constexpr std::int64_t kMostTowerLayers = 1000;

/// Programs or kinds of modules, each once.
struct Table {
    std::vector<JsonValue> rows;
    std::unordered_multimap<std::size_t, std::size_t> places;  ///< of rows by their hash

    JsonValue add(JsonValue row) {
        const std::size_t hash = hash_of(row);
        const auto [begin, end] = places.equal_range(hash);
        for (auto place = begin; place != end; ++place)
            if (same_value(rows[place->second], row)) return number(place->second);
        places.emplace(hash, rows.size());
        rows.push_back(std::move(row));
        return number(rows.size() - 1);
    }

    static JsonValue number(std::size_t place) { return JsonValue::of(static_cast<std::int64_t>(place)); }
};

JsonValue* member(JsonValue& object, std::string_view key) { return const_cast<JsonValue*>(object.find(key)); }

/// What a program is made in: the layer that it belongs to, what is below its node, conditions that stand in it.
struct Inside {
    std::int64_t layer;  ///< -1: none
    Place node;
    std::set<std::string> seen = {};
};

class Maker {
  public:
    Maker(const Place& type, const TypeConfig& config)
        : type_(type), nodes_(type.member("nodes")), instructions_(type.member("instructions")), config_(config) {}

    JsonValue document(const JsonValue& given) {
        const Place root = node(type_.member("root"));
        JsonValue network = body(below(root, "network"));
        std::vector<JsonValue> conditions;
        JsonValue out = JsonValue::object();
        JsonValue said = JsonValue::object();
        for (std::size_t i = 0; i < network.keys.size(); ++i) {
            if (network.keys[i] != "conditions") {
                said.put(network.keys[i], network.items[i]);
                continue;
            }
            std::set<std::string> seen;
            for (const JsonValue& row : network.items[i].items) condition(row, seen);
        }
        said.put("config", settings(given));
        const JsonValue modules = kind(below(root, "modules"), 0);
        JsonValue variants = body(root);
        for (JsonValue& row : variants.items) {
            JsonValue number = program(below(root, name_of_row(row)), -1, 0);
            row.put("program", std::move(number));
            JsonValue* when = member(row, "when");
            JsonValue* sizes = when ? member(*when, "sizes") : nullptr;
            if (sizes) *sizes = JsonValue::of(std::string_view(comparison(sizes->text).text()));
        }
        out.put("schema", JsonValue::of("vramfit.network/1"));
        out.put("recorded_with", type_.member("recorded_with").json());
        out.put("network", std::move(said));
        out.put("modules", JsonValue::list(std::move(kinds_.rows)));
        out.put("root", modules);
        out.put("ties", ties_of_layers(body(below(root, "ties")), config_.kinds));
        out.put("programs", JsonValue::list(std::move(programs_.rows)));
        out.put("variants", std::move(variants));
        out.put("refused", JsonValue::list({}));
        return out;
    }

  private:
    // Nodes

    Place node(const Place& number) const { return nodes_.at(number.number(nodes_.list().size())).object(); }

    Place below(const Place& node_, std::string_view name) const {
        const Place all = node_.member("below").object();
        if (!all.has(name)) node_.refuse(fmt::format("nothing is below it by the name '{}'", name));
        return node(all.member(name));
    }

    const JsonValue& body_at(const Place& number) const {
        const Place bodies = type_.member("bodies");
        return bodies.at(number.number(bodies.list().size())).json();
    }

    /// The body that the choices say.
    JsonValue body(const Place& of) const {
        if (!of.has("by")) return body_at(of.member("body"));
        const Place by = of.member("by"), cases = of.member("cases");
        std::string wanted;
        std::vector<const JsonValue*> states;
        for (std::size_t i = 0; i < by.list(1, 100).size(); ++i) {
            const auto found = config_.chosen.find(by.at(i).text());
            if (found == config_.chosen.end()) by.at(i).refuse("is no choice of the type");
            states.push_back(&found->second);
            wanted += fmt::format("{}{} {}", wanted.empty() ? "" : " with ", found->first, shown(found->second));
        }
        for (std::size_t i = 0; i < cases.list().size(); ++i) {
            const Place row = cases.at(i);
            const Place said = row.list(2, 2).at(0);
            bool all = said.list().size() == states.size();
            for (std::size_t n = 0; all && n < states.size(); ++n) all = same_value(said.at(n).json(), *states[n]);
            if (all) return body_at(row.at(1));
        }
        throw Error(ErrorKind::unsupported, std::string(type_.file()),
                    fmt::format("{} was not recorded for this type", wanted), std::string(kOwnRecording));
    }

    static std::string shown(const JsonValue& state) {
        return state.kind == JsonKind::object ? "with a number" : state.shown();
    }

    // Modules

    JsonValue kind(const Place& of, std::size_t depth) {
        const auto known = kinds_made_.find(&of.json());
        return known != kinds_made_.end() ? known->second : kinds_made_[&of.json()] = new_kind(of, depth);
    }

    JsonValue new_kind(const Place& of, std::size_t depth) {
        if (depth > kDeepestNodes) of.refuse("modules are too deep in one another");
        JsonValue row = body(of);
        for (const char* key : {"parameters", "buffers"})
            if (JsonValue* all = member(row, key))
                for (JsonValue& one : all->items)
                    if (one.items.size() > 2) fill(one.items[2], -1);
        JsonValue* children = member(row, "children");
        if (!children) return kinds_.add(std::move(row));
        JsonValue made = JsonValue::list({});
        const auto add = [&](const std::string& name, const Place& child) {
            JsonValue number = kind(child, depth + 1);
            made.items.push_back(JsonValue::list({JsonValue::of(std::string_view(name)), std::move(number)}));
        };
        if (children->kind == JsonKind::text && children->text.starts_with('=')) {  // of a tower, which are all alike
            const JsonValue count = folded(std::string_view(children->text).substr(1), config_.numbers);
            if (count.kind != JsonKind::integer || count.integer > kMostTowerLayers)
                of.refuse("a tower has too many layers");
            for (std::int64_t i = 0; i < count.integer; ++i) add(fmt::format("{}", i), below(of, "*"));
        } else if (children->kind == JsonKind::text)
            for (std::size_t i = 0; i < config_.kinds.size(); ++i)
                add(fmt::format("{}", i), below(of, fmt::format("*{}", config_.kinds[i])));
        else
            for (const JsonValue& name : children->items) add(name.text, below(of, name.text));
        *member(row, "children") = std::move(made);
        return kinds_.add(std::move(row));
    }

    // Programs

    /// Whether a node's programs name the layer that they are in.
    bool is_starred(const Place& of, std::size_t depth) {
        const auto known = starred_.find(&of.json());
        if (known != starred_.end()) return known->second;
        if (depth > kDeepestNodes) of.refuse("programs are too deep in one another");
        const JsonValue body_ = body(of);
        const JsonValue* code = body_.find("code");
        bool found = false;
        for (std::size_t i = 0; code && i < code->items.size(); ++i)
            found = found || names_layer(written(code->items[i]));
        if (of.has("below"))
            for (const std::string& name : of.member("below").json().keys)
                found = found || is_starred(below(of, name), depth + 1);
        return starred_[&of.json()] = found;
    }

    static bool names_layer(const JsonValue& value) {
        const bool path = value.kind == JsonKind::list && value.items.size() > 2 &&
                          value.items[1].kind == JsonKind::text && value.items[1].text.find('*') != std::string::npos;
        if (path ||
            (value.kind == JsonKind::text && value.text.starts_with('@') && value.text.find('*') != value.text.npos))
            return true;
        return std::any_of(value.items.begin(), value.items.end(), names_layer);
    }

    JsonValue program(const Place& of, std::int64_t layer, std::size_t depth) {
        const std::pair key(&of.json(), is_starred(of, depth) ? layer : -1);
        const auto known = programs_made_.find(key);
        return known != programs_made_.end() ? known->second : programs_made_[key] = new_program(of, layer, depth);
    }

    JsonValue new_program(const Place& of, std::int64_t layer, std::size_t depth) {
        if (depth > kDeepestNodes) of.refuse("programs are too deep in one another");
        JsonValue row = body(of);
        JsonValue* inputs = member(row, "inputs");
        JsonValue* code = member(row, "code");
        if (!inputs || !code) of.refuse("its body is no program");
        for (JsonValue& input : inputs->items)
            if (input.items.size() > 3) fill(input.items[3], -1);
        Inside inside{layer, of};
        std::vector<JsonValue> made;
        LayerLoop loop;
        for (const JsonValue& numbered : code->items) {
            const JsonValue& one = written(numbered);
            if (is(one, "layers"))
                loop = layers(one, inside, made, depth);
            else
                instruction(loop.of_all(renumbered(one, loop.back(), loop.first)), inside, made, depth);
        }
        *code = JsonValue::list(std::move(made));
        const std::int64_t back = loop.back();
        for (const char* key : {"outputs", "keeps"})
            if (JsonValue* all = member(row, key); all && back != 0)
                for (JsonValue& one : all->items) {
                    renumber(one, back, loop.first);
                    if (one.kind == JsonKind::integer && one.integer >= loop.first)
                        one = JsonValue::of(one.integer + back);
                }
        return programs_.add(std::move(row));
    }

    /// An instruction, which stands once in the type.
    const JsonValue& written(const JsonValue& one) const {
        const auto& all = instructions_.json().items;
        const bool there = one.kind == JsonKind::integer && one.integer >= 0;
        if (!there) return one;
        if (static_cast<std::size_t>(one.integer) >= all.size()) instructions_.refuse("there are fewer than are named");
        return all[static_cast<std::size_t>(one.integer)];
    }

    static bool is(const JsonValue& row, std::string_view what) {
        return row.kind == JsonKind::list && !row.items.empty() && row.items[0].text == what;
    }

    /// What runs the layers.
    LayerLoop layers(const JsonValue& one, Inside& inside, std::vector<JsonValue>& made, std::size_t depth) {
        if (one.items.size() != 6 || one.items[1].kind != JsonKind::integer || one.items[2].kind != JsonKind::integer)
            inside.node.refuse("its layers are run in no known way");
        const std::int64_t first = one.items[1].integer;
        const std::int64_t each = one.items[2].integer;
        const std::vector<std::int64_t> run = layers_run(type_.member("layers"), config_.kinds);
        const std::int64_t count = std::ssize(run);
        if (each < 0 || each > 1000) inside.node.refuse("its layers make too many values");
        for (std::int64_t i = 0; i < count; ++i) {
            const std::int64_t layer = run[static_cast<std::size_t>(i)];
            const JsonValue* part = &one.items[i == 0 ? 3 : 5];
            if (i > 0 && i < count - 1) part = one.items[4].find(config_.kinds[static_cast<std::size_t>(layer)]);
            if (!part || part->kind != JsonKind::list) inside.node.refuse("a kind of layer is not among those it runs");
            const std::int64_t outer = std::exchange(inside.layer, layer);
            const std::int64_t by = (i > 0 ? i - 1 : 0) * each;
            for (const JsonValue& row : part->items)
                instruction(renumbered(written(row), by, first), inside, made, depth);
            inside.layer = outer;
        }
        return {first, each, count};
    }

    void instruction(JsonValue row, Inside& inside, std::vector<JsonValue>& made, std::size_t depth) {
        if (is(row, "if")) {
            JsonValue kept = condition(row, inside.seen);
            if (!kept.items.empty()) made.push_back(std::move(kept));
            return;
        }
        if (is(row, "repeat")) {
            row = repeated(row, inside, depth);
        } else if (is(row, "call")) {
            for (std::size_t i = 2; i < row.items.size() && i < 4; ++i) fill(row.items[i], inside.layer);
            if (row.items.size() > 4)
                for (JsonValue& result : row.items[4].items)
                    if (result.items.size() > 2) fill(result.items[2], -1);
        } else if (!is(row, "end")) {
            if (row.items.size() < 3) inside.node.refuse("an instruction is too short");
            const Place child = below(inside.node, row.items[2].text);
            row.items[2] = program(child, inside.layer, depth + 1);
            place(row.items[1], inside.layer);
        }
        made.push_back(std::move(row));
    }

    /// A loop, whose rounds are instructions too.
    JsonValue repeated(JsonValue row, const Inside& inside, std::size_t depth) {
        if (row.items.size() != 6 && row.items.size() != 7) inside.node.refuse("a loop is too short");
        fill(row.items[1], -1);
        for (std::size_t part = 4; part < 6; ++part) {
            std::vector<JsonValue> made;
            Inside round{inside.layer, inside.node};
            for (const JsonValue& one : row.items[part].items) {
                if (is(one, "repeat")) inside.node.refuse("a loop is in another one");
                instruction(one, round, made, depth);
            }
            row.items[part] = JsonValue::list(std::move(made));
        }
        return row;
    }

    FoldedComparison comparison(const std::string& text) const {
        auto found = folded_comparison(config_.of_piece(text), config_.numbers);
        if (!found) type_.refuse(fmt::format("'{}' is no comparison", text));
        return std::move(*found);
    }

    /// A comparison as it is left; an empty list where it is decided, as it has to be.
    JsonValue condition(const JsonValue& row, std::set<std::string>& seen) const {
        const std::string text = row.items.size() == 3 ? row.items[1].text : std::string();
        const FoldedComparison sizes = comparison(text);
        if (const auto holds = sizes.decided()) {
            if (*holds == row.items[2].boolean) return {};
            throw Error(ErrorKind::unsupported, std::string(type_.file()),
                        fmt::format("the type was recorded only where {} is {}", text, row.items[2].boolean),
                        std::string(kOwnRecording));
        }
        const std::string kept = sizes.text();
        if (sizes.is_of_one_size() || !seen.insert(kept).second) return {};
        return JsonValue::list({JsonValue::of("if"), JsonValue::of(std::string_view(kept)), row.items[2]});
    }

    /// Arguments or sizes get numbers in their formulas and the layer's in place of `*`.
    void fill(JsonValue& value, std::int64_t layer) {
        if (value.kind == JsonKind::text) {
            if (value.text.starts_with('@')) return place(value, layer);
            if (!value.text.starts_with('=')) return;
            if (value.text == "=layer" && layer >= 0) {
                value = JsonValue::of(layer);
                return;
            }
            const auto [found, fresh] = formulas_.try_emplace(value.text);
            if (fresh) {
                found->second = folded(config_.of_piece(value.text.substr(1)), config_.numbers);
                if (found->second.kind == JsonKind::text) found->second.text.insert(0, 1, '=');
            }
            value = found->second;
        }
        for (JsonValue& item : value.items) fill(item, layer);
    }

    static void place(JsonValue& path, std::int64_t layer) {
        const std::size_t star = layer < 0 ? std::string::npos : path.text.find('*');
        if (star != std::string::npos) path.text.replace(star, 1, fmt::format("{}", layer));
    }

    static JsonValue renumbered(JsonValue row, std::int64_t by, std::int64_t first) {
        renumber(row, by, first);
        return row;
    }

    /// The configuration as far as it was read, and what it says besides.
    JsonValue settings(const JsonValue& given) const {
        JsonValue all = JsonValue::object();
        for (std::size_t i = 0; i < given.keys.size(); ++i)
            if (given.keys[i] != "_name_or_path" && !config_.values.contains(given.keys[i]))
                all.put(given.keys[i], given.items[i]);
        for (const auto& [key, value] : config_.values) all.put(key, value);
        return all;
    }

    const Place& type_;
    Place nodes_, instructions_;
    const TypeConfig& config_;
    Table kinds_, programs_;
    std::unordered_map<const JsonValue*, JsonValue> kinds_made_;
    std::map<std::pair<const JsonValue*, std::int64_t>, JsonValue> programs_made_;
    std::unordered_map<const JsonValue*, bool> starred_;
    std::unordered_map<std::string, JsonValue> formulas_;  ///< with numbers, by what stands in the type
};

}  // namespace

JsonValue network_of(const Place& type, const TypeConfig& config, const JsonValue& given) {
    return Maker(type, config).document(given);
}

}  // namespace vramfit::network
