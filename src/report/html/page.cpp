// The frame of a page that stands alone: no network, no other file.
#include "report/html/page.hpp"

#include <fmt/format.h>

#include "report/html/assets.hpp"

namespace vramfit::report {

namespace {

/// JSON as the content of a script element: nothing in it can end the element.
std::string json_in_html(std::string_view json) {
    std::string out;
    out.reserve(json.size());
    for (const char c : json) {
        if (c == '<')
            out += "\\u003c";
        else
            out += c;
    }
    return out;
}

}  // namespace

std::string html_escaped(std::string_view text) {
    std::string out;
    for (const char c : text) {
        switch (c) {
            case '&': out += "&amp;"; break;
            case '<': out += "&lt;"; break;
            case '>': out += "&gt;"; break;
            case '"': out += "&quot;"; break;
            case '\'': out += "&#39;"; break;
            default: out += c;
        }
    }
    return out;
}

std::string html_of(const HtmlPage& page) {
    std::string out = fmt::format(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
        "script-src 'unsafe-inline'; img-src data:\">\n<link rel=\"icon\" href=\"data:,\">\n"
        "<title>{}</title>\n<style>\n{}</style>\n</head>\n<body>\n{}",
        html_escaped(page.title), page_css(), page.body);
    if (!page.data.empty())
        out += fmt::format(
            "<script id=\"data\" type=\"application/json\">{}</script>\n<script>\n{}\n"
            "const data = JSON.parse(document.getElementById(\"data\").textContent);\n{}</script>\n",
            json_in_html(page.data), common_js(), page.script);
    return out + "</body>\n</html>\n";
}

}  // namespace vramfit::report
