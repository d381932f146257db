// Tables of facts as JSON: an object for each row.
#include "report/documents.hpp"
#include "spec/json_value.hpp"

namespace vramfit::report {

namespace {

struct ToJson {
    JsonValue operator()(std::monostate) const { return {}; }
    JsonValue operator()(const std::string& text) const { return JsonValue::of(std::string_view(text)); }
    JsonValue operator()(std::int64_t number) const { return JsonValue::of(number); }
    JsonValue operator()(Bytes bytes) const { return JsonValue::of(bytes.count); }
    JsonValue operator()(bool yes) const { return JsonValue::of(yes); }
    JsonValue operator()(const std::vector<std::string>& texts) const {
        std::vector<JsonValue> items;
        for (const std::string& text : texts) items.push_back(JsonValue::of(std::string_view(text)));
        return JsonValue::list(std::move(items));
    }
};

}  // namespace

std::string table_json(const ReportTable& table, const Layout&) {
    std::vector<JsonValue> rows;
    for (const std::vector<Cell>& cells : table.rows) {
        JsonValue row = JsonValue::object();
        for (std::size_t i = 0; i < table.columns.size() && i < cells.size(); ++i) {
            row.put(table.columns[i].key, std::visit(ToJson{}, cells[i]));
        }
        rows.push_back(std::move(row));
    }
    JsonValue out = JsonValue::object();
    out.put("schema", JsonValue::of(std::string_view(table.schema)));
    out.put(table.key, JsonValue::list(std::move(rows)));
    return to_text(out);
}

}  // namespace vramfit::report
