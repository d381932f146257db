// The answer about one configuration as a page to send around: verdict, bar, peaks with their parts, what fits.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>

#include "base/text_table.hpp"
#include "report/documents.hpp"
#include "report/html/page.hpp"
#include "report/palette.hpp"
#include "report/plan_changes_text.hpp"
#include "report/plan_text.hpp"
#include "report/verdict_text.hpp"

namespace vramfit::report {

namespace {

constexpr int kUnwrapped = 10'000;  ///< columns: the page breaks lines itself

std::string shown_name(std::string name) {
    std::replace(name.begin(), name.end(), '_', ' ');
    return html_escaped(name);
}

std::string verdict_html(const Prediction& p) {
    const std::string reserved = size_text(p.peak.reserved);
    const auto line = [](const char* style, const std::string& word, const std::string& rest) {
        return fmt::format("<p class=\"verdict {}\">{}</p>\n<p>{}</p>\n", style, word, html_escaped(rest));
    };
    const std::string usable = p.device.capacity_known ? usable_text(p) : "";
    switch (p.verdict) {
        case Verdict::fits:
            return line("fits", "It fits.",
                        fmt::format("At most {} reserved, {}: {} are left.", reserved, usable,
                                    size_text(p.device.usable.count - p.peak.reserved)));
        case Verdict::tight:
            return line("not", "It is tight.",
                        fmt::format("At most {} reserved, {}. {}", reserved, usable, what_decides(p)));
        case Verdict::too_large:
            return line("not", "It does not fit.",
                        fmt::format("Out of memory in {}, at a request of {} with {} reserved, {}. On a GPU that is "
                                    "large enough the run reserves {}.",
                                    p.out_of_memory_window, size_text(p.out_of_memory ? p.out_of_memory->requested : 0),
                                    size_text(p.out_of_memory_levels.reserved), usable, reserved));
        case Verdict::unknown:
            return line("not", "It is not known whether it fits.",
                        fmt::format("At most {} reserved, {}.", reserved, usable));
        case Verdict::not_asked: break;
    }
    return line("", fmt::format("It reserves at most {}.", reserved),
                fmt::format("{} allocated, {} requested; no GPU was given.", size_text(p.peak.allocated),
                            size_text(p.peak.requested)));
}

double percentage(std::int64_t part, std::int64_t whole) {
    return whole > 0 ? 100.0 * static_cast<double>(part) / static_cast<double>(whole) : 0.0;
}

/// Categories of a peak side by side, as wide as their bytes in `whole`.
std::string parts_html(const PeakResult& peak, std::int64_t whole) {
    std::string out;
    for (std::size_t i = 0; i < kCategoryCount; ++i)
        if (peak.shares[i] > 0)
            out += fmt::format("<span style=\"width:{:.2f}%;background:{}\" title=\"{}: {}\"></span>",
                               percentage(peak.shares[i], whole), kCategoryColours[i],
                               shown_name(vramfit::name_of(static_cast<Category>(i))), size_text(peak.shares[i]));
    return out;
}

const PeakResult* highest_peak(const Prediction& p) {
    const auto found =
        std::find_if(p.peaks.begin(), p.peaks.end(), [&p](const PeakResult& peak) { return peak.name == p.highest; });
    return found == p.peaks.end() ? nullptr : &*found;
}

/// The card, and what of it the run takes at its highest moment.
std::string bar_html(const Prediction& p) {
    const PeakResult* highest = highest_peak(p);
    if (!highest) return "";
    const std::int64_t context = p.device.context.count, process = p.peak.reserved + context;
    const std::int64_t whole = std::max(process, p.device.capacity_known ? p.device.total.count : process);
    std::string out =
        "<div class=\"bar\" role=\"img\" aria-label=\"The parts of the highest peak; the table has them as numbers\">";
    out += fmt::format("<span style=\"width:{:.2f}%;background:#555555\" title=\"CUDA context: {}\"></span>",
                       percentage(context, whole), size_text(context));
    out += parts_html(*highest, whole);
    const std::int64_t spare = p.peak.reserved - highest->requested;
    if (spare > 0)
        out += fmt::format(
            "<span style=\"width:{:.2f}%;background:repeating-linear-gradient(45deg,#99999988 0 3px,transparent 3px "
            "7px)\" "
            "title=\"reserved beyond what tensors request: {}\"></span>",
            percentage(spare, whole), size_text(spare));
    if (p.device.capacity_known)
        out += fmt::format("<i style=\"left:{:.2f}%\" title=\"usable\"></i>",
                           percentage(context + p.device.usable.count, whole));
    out += fmt::format(
        "</div>\n<p class=\"quiet\">From the left: the CUDA context ({}), what tensors request at the highest peak "
        "({}), "
        "what is reserved beyond that (hatched, {}){}.</p>\n",
        size_text(context), size_text(highest->requested), size_text(std::max<std::int64_t>(0, spare)),
        p.device.capacity_known ? "; the dashed line is the end of what is usable on the GPU" : "");
    return out;
}

std::string keys_html(const Prediction& p) {
    std::string out = "<ul class=\"keys\">\n";
    for (std::size_t i = 0; i < kCategoryCount; ++i) {
        const auto has = [i](const PeakResult& peak) { return peak.shares[i] > 0; };
        if (std::any_of(p.peaks.begin(), p.peaks.end(), has))
            out += fmt::format("<li><span class=\"swatch\" style=\"background:{}\"></span>{}</li>\n",
                               kCategoryColours[i], shown_name(vramfit::name_of(static_cast<Category>(i))));
    }
    return out + "</ul>\n";
}

std::string peaks_html(const Prediction& p) {
    std::string out =
        "<div class=\"scroll\"><table>\n<thead><tr><th></th><th>peak</th><th class=\"wide\">highest in</th><th "
        "class=\"number\">requested</th>"
        "<th class=\"number\">reserved</th><th style=\"min-width:5rem;width:40%\">made "
        "of</th></tr></thead>\n<tbody>\n";
    std::int64_t most = 1;
    for (const PeakResult& peak : p.peaks) most = std::max(most, peak.requested);
    for (const PeakResult& peak : p.peaks) {
        const bool first = peak.name == p.highest;
        out += fmt::format(
            "<tr><td>{}</td><td>{}{}{}</td><td class=\"wide\">{}</td><td class=\"number\">{}</td><td "
            "class=\"number\">{}</td>"
            "<td><div class=\"bar\">{}</div></td></tr>\n",
            html_escaped(peak.id), first ? "<b>" : "", shown_name(peak.name), first ? "</b>" : "",
            html_escaped(peak.window), size_text(peak.requested), size_text(peak.reserved), parts_html(peak, most));
    }
    return out + "</tbody></table></div>\n" + keys_html(p);
}

std::string shares_html(const Prediction& p) {
    const PeakResult* highest = highest_peak(p);
    if (!highest) return "";
    std::string out = fmt::format("<section><h2>The highest peak: {}</h2>\n<div class=\"scroll\"><table>\n<tbody>\n",
                                  shown_name(highest->name));
    std::array<std::size_t, kCategoryCount> order{};
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::sort(order.begin(), order.end(),
              [&](std::size_t a, std::size_t b) { return highest->shares[a] > highest->shares[b]; });
    for (const std::size_t i : order)
        if (highest->shares[i] > 0)
            out += fmt::format(
                "<tr><td><span class=\"swatch\" style=\"background:{}\"></span>{}</td><td class=\"number\">{}</td>"
                "<td class=\"number\">{:.1f} %</td></tr>\n",
                kCategoryColours[i], shown_name(vramfit::name_of(static_cast<Category>(i))),
                size_text(highest->shares[i]), percentage(highest->shares[i], highest->requested));
    return out + "</tbody></table></div></section>\n";
}

std::string question_html(const PredictionPage& page) {
    const Prediction& p = page.prediction;
    std::vector<Line> lines = {{"model", p.model.name}};
    for (Line& line : describe(p.plan, p.stack)) lines.push_back(std::move(line));
    lines.push_back({"GPU", describe(p.device)});
    std::string out = "<h2>The run</h2>\n<div class=\"scroll\"><table>\n<tbody>\n";
    for (const Line& line : lines)
        out += fmt::format("<tr><th>{}</th><td>{}</td></tr>\n", html_escaped(line.key), html_escaped(line.value));
    return out + fmt::format("</tbody></table></div>\n<p class=\"quiet\">Asked with <code>{}</code></p>\n",
                             html_escaped(page.command));
}

std::string changes_html(const Prediction& p) {
    const std::string text = plan_changes_text(p, {kUnwrapped, kUnwrapped, false});
    if (text.empty()) return "";
    return fmt::format("<section><h2>{}</h2>\n<p class=\"lines\">{}</p></section>\n",
                       p.verdict == Verdict::fits ? "How far it can grow" : "What would make it fit",
                       html_escaped(text));
}

std::string map_html(const PredictionPage& page) {
    if (!page.map) return "";
    SweepReport map = *page.map;
    map.map = {"seq", "batch"};
    return fmt::format("<section><h2>What fits around it</h2>\n<figure class=\"scroll\">{}</figure></section>\n",
                       sweep_svg(map, {}));
}

}  // namespace

std::string prediction_html(const PredictionPage& page, const Layout&) {
    const Prediction& p = page.prediction;
    HtmlPage html;
    html.title = p.device.capacity_known ? fmt::format("{} on {}", p.model.name, p.device.name) : p.model.name;
    html.body = fmt::format("<h1>{}</h1>\n{}{}<div class=\"tables\">\n{}{}{}</div>\n<h2>All peaks</h2>\n{}{}",
                            html_escaped(html.title), verdict_html(p), bar_html(p), changes_html(p), shares_html(p),
                            map_html(page), peaks_html(p), question_html(page));
    for (const Note& note : p.notes)
        html.body += fmt::format("<p class=\"quiet\">note: {}{}</p>\n", html_escaped(note.text),
                                 note.hint.empty() ? "" : html_escaped(fmt::format("; {}", note.hint)));
    return html_of(html);
}

}  // namespace vramfit::report
