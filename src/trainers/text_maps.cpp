// Maps that are written as one text: transformers 5.17.0, training_args.py _VALID_DICT_FIELDS.
#include "trainers/text_maps.hpp"

#include <algorithm>
#include <utility>

#include "vramfit/base/error.hpp"

namespace vramfit::trainers {

namespace {

bool is_read_as_map(const TrainerFormat& format, const std::string& key) {
    return std::any_of(format.keys.begin(), format.keys.end(), [&](const auto table) {
        return std::any_of(table.begin(), table.end(),
                           [&](const KeyRow& row) { return row.key.starts_with(key + "."); });
    });
}

/// Everything inside stands where the text does.
void move_to(Value& value, const Value& text) {
    value.place = text.place;
    value.file = text.file;
    std::fill(value.key_places.begin(), value.key_places.end(), text.place);
    for (Value& item : value.items) move_to(item, text);
}

}  // namespace

void read_text_maps(Recognised& each) {
    Value& root = each.document.root;
    for (std::size_t i = 0; i < root.items.size(); ++i) {
        Value& item = root.items[i];
        if (item.kind != Value::Kind::text || !item.text.starts_with('{') ||
            !is_read_as_map(*each.format, root.keys[i]))
            continue;
        try {
            Value map = read_yaml(item.text, each.document.file).root;
            if (map.kind != Value::Kind::map) continue;
            move_to(map, item);
            item = std::move(map);
        } catch (const Error&) {
            continue;  // its reader says that a map is wanted
        }
    }
}

}  // namespace vramfit::trainers
