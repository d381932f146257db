// The peaks as formulas, for people and for scripts.
#include <fmt/format.h>

#include "base/text_table.hpp"
#include "report/documents.hpp"
#include "report/json.hpp"

namespace vramfit::report {

namespace {

JsonValue text_list(const std::vector<std::string>& texts) {
    std::vector<JsonValue> items;
    for (const std::string& text : texts) items.push_back(JsonValue::of(std::string_view(text)));
    return JsonValue::list(std::move(items));
}

std::string paragraph(const char* title, const std::vector<std::string>& lines, int width) {
    if (lines.empty()) return "";
    std::string out = fmt::format("\n{}\n", title);
    for (const std::string& line : lines) out += wrapped(line, width, "  ", "    ");
    return out;
}

}  // namespace

std::string formulas_text(const FormulaReport& report, const Layout& layout) {
    std::string out = wrapped(
        fmt::format("{}: bytes that tensors ask for at the highest moment of each peak", report.model), layout.width);
    out += paragraph("where", report.formulas.axes, layout.width);
    for (const PeakFormula& peak : report.formulas.peaks) {
        out += fmt::format("\n{}{}{}  ({}), here {}\n", peak.peak->id, *peak.peak->id ? " " : "", peak.peak->name,
                           peak.window, size_text(peak.requested));
        out += wrapped(peak.formula, layout.width, "  ", "    ");
    }
    out += paragraph("Sizes that are no polynomials:", report.formulas.functions, layout.width);
    out += paragraph("Valid where all of this holds (the path of this run):", report.formulas.conditions, layout.width);
    return out;
}

std::string formulas_json(const FormulaReport& report, const Layout&) {
    std::vector<JsonValue> peaks;
    for (const PeakFormula& peak : report.formulas.peaks) {
        JsonValue& one = peaks.emplace_back(JsonValue::object());
        one.put("id", JsonValue::of(peak.peak->id));
        one.put("name", JsonValue::of(peak.peak->name));
        one.put("window", JsonValue::of(std::string_view(peak.window)));
        one.put("requested", JsonValue::of(peak.requested));
        one.put("formula", JsonValue::of(std::string_view(peak.formula)));
    }
    JsonValue out = JsonValue::object();
    out.put("schema", JsonValue::of("vramfit.formulas/1"));
    out.put("model", JsonValue::of(std::string_view(report.model)));
    out.put("axes", text_list(report.formulas.axes));
    out.put("peaks", JsonValue::list(std::move(peaks)));
    out.put("functions", text_list(report.formulas.functions));
    out.put("conditions", text_list(report.formulas.conditions));
    return to_text(out);
}

}  // namespace vramfit::report
