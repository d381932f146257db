// Python scripts and notebooks: what they set up for their trainer. Nothing is run.
#include <algorithm>
#include <cstdio>

#include <fmt/format.h>

#include "trainers/python/script.hpp"
#include "trainers/read_text.hpp"
#include "vramfit/base/error.hpp"

namespace vramfit::trainers {

Document read_python(std::string_view text, const std::string& file, bool bf16_card) {
    check_text(text, file);
    if (text.size() > (std::size_t{1} << 20))
        throw Error(ErrorKind::invalid, file, "more than 1 MiB", "a training script is a small file");
    Document out;
    out.file = file;
    out.syntax = Syntax::python;
    out.root = python::set_up_by(text, file, bf16_card, out.program);
    return out;
}

namespace {

/// Which cell of a notebook a line of the joined script is from.
struct Cells {
    std::vector<int> first_lines;

    Place place_of(Place at, int& cell) const {
        const auto next = std::upper_bound(first_lines.begin(), first_lines.end(), at.line);
        cell = static_cast<int>(next - first_lines.begin());
        return cell == 0 ? at : Place{at.line - *(next - 1) + 1, at.column};
    }
};

std::string source_of(const Value& cell) {
    const Value* source = cell.find("source");
    if (!source) return {};
    if (source->kind == Value::Kind::text) return source->text;
    std::string out;
    for (const Value& line : source->items) out += line.text;
    return out;
}

/// A cell in another language, or one that is written to a file.
bool is_foreign(std::string_view source) {
    const std::size_t begin = source.find_first_not_of(" \n\r\t");
    if (begin == source.npos || source.substr(begin, 2) != "%%") return false;
    const std::string_view line = source.substr(begin + 2);
    for (const std::string_view known : {"capture", "time", "timeit", "prun"})
        if (line.starts_with(known)) return false;
    return true;
}

/// "in line 45" of the joined script, in the words of the notebook.
std::string in_cells(const std::string& text, const Cells& cells) {
    constexpr std::string_view kLine = "line ";
    const std::size_t at = text.find(kLine);
    const std::size_t begin = at + kLine.size();
    if (at == text.npos || begin >= text.size() || text[begin] < '0' || text[begin] > '9') return text;
    const std::size_t end = std::min(text.find_first_not_of("0123456789", begin), text.size());
    if (end - begin > 7) return text;
    int cell = 0;
    const Place place = cells.place_of({std::stoi(text.substr(begin, end - begin)), 1}, cell);
    return fmt::format("{}{} of cell {}{}", text.substr(0, begin), place.line, cell, text.substr(end));
}

/// "FILE:LINE:COLUMN KEY" of the joined script, in the words of the notebook; anything else as it is.
std::string place_in_cells(const std::string& where, const Cells& cells, const std::string& file) {
    Place at;
    int read = 0;
    if (!where.starts_with(file + ":")) return where;
    const std::string rest = where.substr(file.size());
    if (std::sscanf(rest.c_str(), ":%7d:%7d%n", &at.line, &at.column, &read) != 2) return where;
    int cell = 0;
    at = cells.place_of(at, cell);
    return fmt::format("{}, cell {}:{}:{}{}", file, cell, at.line, at.column,
                       rest.substr(static_cast<std::size_t>(read)));
}

Error in_cells(const Error& error, const Cells& cells, const std::string& file) {
    std::vector<Problem> problems = error.problems();
    for (Problem& problem : problems) {
        problem.where = place_in_cells(problem.where, cells, file);
        problem.what = in_cells(problem.what, cells);
        problem.hint = in_cells(problem.hint, cells);
    }
    return {error.kind(), std::move(problems)};
}

/// Keys get the name of their cell, and their lines count from its beginning.
void place_in_cells(Value& map, const Cells& cells, const std::string& file) {
    for (std::size_t i = 0; i < map.items.size(); ++i) {
        Value& item = map.items[i];
        if (item.kind == Value::Kind::map) place_in_cells(item, cells, file);
        if (item.kind == Value::Kind::unread) item.text = in_cells(item.text, cells);
        int cell = 0;
        item.place = cells.place_of(map.key_places.size() > i ? map.key_places[i] : item.place, cell);
        item.file = fmt::format("{}, cell {}", file, cell);
    }
}

}  // namespace

Document read_notebook(std::string_view text, const std::string& file, bool bf16_card) {
    const Document notebook = read_json(text, file);
    const Value* cells = notebook.root.find("cells");
    if (!cells || cells->kind != Value::Kind::list)
        throw Error(ErrorKind::invalid, file, "this is no notebook", "a notebook of Jupyter has the key cells");
    std::string script;
    Cells lines;
    int line = 1;
    for (const Value& cell : cells->items) {
        const Value* type = cell.find("cell_type");
        if (!type || type->text != "code") continue;
        std::string source = source_of(cell);
        if (is_foreign(source)) source.clear();
        lines.first_lines.push_back(line);
        source += "\n";
        line += static_cast<int>(std::count(source.begin(), source.end(), '\n'));
        script += source;
    }
    Document out;
    try {
        out = read_python(script, file, bf16_card);
    } catch (const Error& error) {
        throw in_cells(error, lines, file);
    }
    place_in_cells(out.root, lines, file);
    return out;
}

}  // namespace vramfit::trainers
