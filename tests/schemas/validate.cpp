// validate_json: whether the document on standard input is as the schema that it names; the errors, and status 1.
#include <cstdio>
#include <iostream>
#include <nlohmann/json.hpp>

#include <fmt/format.h>

#include "support/json_schema.hpp"

namespace {

using nlohmann::json;

/// "vramfit.check/1" is described by check.schema.json.
std::string name_of_schema(const json& document) {
    const auto text = document.at("schema").get<std::string>();
    const std::string begin = "vramfit.";
    const std::size_t end = text.find('/');
    return text.starts_with(begin) ? text.substr(begin.size(), end - begin.size()) : text;
}

}  // namespace

int main() {
    try {
        const json document = json::parse(std::cin);
        const auto errors = vramfit::test::schema_errors(document, vramfit::test::schema_of(name_of_schema(document)));
        for (const std::string& error : errors) fmt::print("{}\n", error);
        return errors.empty() ? 0 : 1;
    } catch (const std::exception& error) {
        fmt::print("no document of a known schema: {}\n", error.what());
        return 1;
    }
}
