// The frame of a page that stands alone: no network, no other file.
#pragma once

#include <string>
#include <string_view>

namespace vramfit::report {

/// For text and attribute values.
std::string html_escaped(std::string_view text);

struct HtmlPage {
    std::string title;
    std::string body;         ///< HTML
    std::string data;         ///< JSON for the script; empty: a page without a script
    std::string_view script;  ///< of src/report/html, behind common.js
};

std::string html_of(const HtmlPage& page);

}  // namespace vramfit::report
