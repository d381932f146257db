// Programs of a recording: what they are given, their instructions, what they give back.
#include <algorithm>

#include <fmt/format.h>

#include "spec/network/read_parts.hpp"

namespace vramfit::network {

namespace {

/// Reads one program and counts its values.
class ProgramReader {
  public:
    ProgramReader(const Place& place, std::size_t before) : place_(place), before_(before) {}

    Program read() {
        place_.object();
        program_.class_name = place_.member("class").text();
        if (place_.has("kind")) program_.kind = kind_of(place_.member("kind"));
        const Place inputs = place_.member("inputs");
        for (std::size_t i = 0; i < inputs.list().size(); ++i) input(inputs.at(i));
        const Place code = place_.member("code");
        program_.code.reserve(code.list(0, kMostSteps).size());
        for (std::size_t i = 0; i < code.size(); ++i) instruction(code.at(i));
        const Place outputs = place_.member("outputs");
        for (std::size_t i = 0; i < outputs.list().size(); ++i) output(outputs.at(i));
        if (place_.has("keeps")) program_.keeps = numbers(place_.member("keeps"));
        return std::move(program_);
    }

  private:
    static Program::Kind kind_of(const Place& kind) {
        if (kind.text() == "function") return Program::Kind::function;
        if (kind.text() == "checkpoint") return Program::Kind::checkpoint;
        kind.refuse(fmt::format("unknown kind of program {}", kind.json().shown()), "known: function, checkpoint");
    }
    Number value(const Place& place) {
        const Number number = place.number(kMostValues);
        program_.values = std::max(program_.values, number + 1);
        return number;
    }
    std::vector<Number> numbers(const Place& place) {
        std::vector<Number> all;
        all.reserve(place.list().size());
        for (std::size_t i = 0; i < place.size(); ++i) all.push_back(value(place.at(i)));
        return all;
    }
    /// value, dtype, sizes and what is unusual, from the `first` element on.
    Result result(const Place& row, std::size_t first) {
        Result made;
        const Place which = row.at(first);
        if (which.is(Place::Kind::text) && which.text().starts_with('@'))
            made.parameter = which.text().substr(1);
        else
            made.value = value(which);
        made.dtype = read_dtype(row.at(first + 1));
        made.sizes = read_sizes(row.at(first + 2));
        if (row.size() <= first + 3) return made;
        const Place unusual = row.at(first + 3);
        if (unusual.object().has("view")) made.view = unusual.member("view").text();
        if (unusual.has("host")) made.on_host = unusual.member("host").boolean();
        return made;
    }
    void input(const Place& row) {
        row.list(4, 5);
        program_.inputs.push_back({row.at(0).text(), result(row, 1)});
    }
    void output(const Place& row) {
        row.list(2, 2);
        Output given{row.at(0).text(), {}, {}};
        const Place what = row.at(1);
        if (what.text().starts_with('@')) {
            given.parameter = what.text().substr(1);
        } else {
            if (!what.text().starts_with('%')) what.refuse("a value or a parameter is wanted");
            given.value = read_reference(what, what.text());
        }
        program_.outputs.push_back(std::move(given));
    }
    static Flags flags(const Place& place) {
        Flags read;
        place.object();
        if (place.has("no_grad")) read.no_grad = place.member("no_grad").boolean();
        if (place.has("autocast")) read.autocast = place.member("autocast").boolean();
        if (place.has("loss")) read.loss = place.member("loss").boolean();
        read.assumed = place.has("assumed");
        read.reads = read.assumed || place.has("read");
        return read;
    }
    void instruction(const Place& row) {
        const std::string& what = row.list(2, 7).at(0).text();
        if (what == "call") {
            program_.code.emplace_back(call(row));
            return;
        }
        if (what == "repeat") return repeat(row);
        if (what == "module") return run(row, Run::Kind::module);
        if (what == "function") return run(row, Run::Kind::function);
        if (what == "checkpoint") return run(row, Run::Kind::checkpoint);
        if (what == "end") {
            program_.code.emplace_back(end(row));
        } else if (what == "if") {
            program_.code.emplace_back(comparison(row));
        } else {
            row.at(0).refuse(fmt::format("unknown instruction '{}'", what),
                             "known: call, module, function, checkpoint, end, if, repeat");
        }
    }
    End end(const Place& row) {
        row.list(2, 2);
        return {numbers(row.at(1))};
    }
    static If comparison(const Place& row) {
        row.list(3, 3);
        return {read_comparison(row.at(1)), row.at(2).boolean()};
    }
    void repeat(const Place& row) {
        row.list(6, 7);
        Repeat made;
        made.count = read_argument(row.at(1));
        if (!made.count.is(Argument::Kind::integer) && !made.count.is(Argument::Kind::formula))
            row.at(1).refuse(fmt::format("a number of rounds is wanted, not {}", row.at(1).json().shown()));
        made.first = row.at(2).number(kMostValues);
        made.made = row.at(3).number(kMostValues / 2 - made.first / 2);
        made.begin = round(row.at(4));
        made.next = round(row.at(5));
        if (row.size() > 6) made.kept = numbers(row.at(6));
        for (const Number kept : made.kept)
            if (kept < made.first || kept >= made.first + made.made) row.at(6).refuse("values of the loop are wanted");
        program_.values = std::max(program_.values, made.first + 2 * made.made);
        program_.code.emplace_back(std::move(made));
    }
    std::vector<Step> round(const Place& code) {
        std::vector<Step> steps;
        for (std::size_t i = 0; i < code.list(0, kMostSteps).size(); ++i) {
            const Place row = code.at(i);
            const std::string& what = row.list(2, 6).at(0).text();
            if (what == "call")
                steps.emplace_back(call(row));
            else if (what == "end")
                steps.emplace_back(end(row));
            else if (what == "if")
                steps.emplace_back(comparison(row));
            else
                row.at(0).refuse(fmt::format("unknown instruction '{}' in a loop", what), "known: call, end, if");
        }
        return steps;
    }
    Call call(const Place& row) {
        row.list(5, 6);
        Call made;
        made.function = row.at(1).text();
        const Place arguments = row.at(2);
        for (std::size_t i = 0; i < arguments.list(0, 1000).size(); ++i)
            made.arguments.push_back(read_argument(arguments.at(i)));
        const Place named = row.at(3);
        named.object();
        for (const std::string& key : named.json().keys) made.named.emplace_back(key, read_argument(named.member(key)));
        const Place results = row.at(4);
        for (std::size_t i = 0; i < results.list(0, 1000).size(); ++i) {
            const Place one = results.at(i);
            one.list(3, 4);
            made.results.push_back(result(one, 0));
        }
        if (row.size() > 5) made.flags = flags(row.at(5));
        return made;
    }
    void run(const Place& row, Run::Kind kind) {
        row.list(5, 6);
        Run made;
        made.kind = kind;
        made.path = row.at(1).text();
        if (before_ == 0) row.at(2).refuse("the first program calls none");
        made.program = row.at(2).number(before_);
        made.given = numbers(row.at(3));
        made.results = numbers(row.at(4));
        if (row.size() > 5) {
            const Place how = row.at(5);
            made.flags = flags(how);
            if (how.has("takes")) {
                const Place takes = how.member("takes");
                for (std::size_t i = 0; i < takes.list().size(); ++i)
                    made.takes.push_back(takes.at(i).number(std::max<std::size_t>(made.given.size(), 1)));
                if (made.given.empty() && !made.takes.empty()) takes.refuse("nothing is given that could be taken");
            }
        }
        program_.code.emplace_back(std::move(made));
    }

    const Place& place_;
    std::size_t before_;
    Program program_;
};

}  // namespace

Program read_program(const Place& place, std::size_t before) { return ProgramReader(place, before).read(); }

std::vector<Number> Program::given() const {
    std::vector<Number> all;
    std::vector<bool> seen(values);
    for (const Input& input : inputs) {
        if (!input.what.value || seen[*input.what.value]) continue;
        seen[*input.what.value] = true;
        all.push_back(*input.what.value);
    }
    return all;
}

std::string_view Program::name_of(Number value) const {
    for (const Input& input : inputs)
        if (input.what.value == value) return input.name;
    return {};
}

std::vector<Number> Program::left() const {
    std::vector<Number> all;
    std::vector<bool> seen(values);
    for (const Number number : given()) seen[number] = true;
    for (const Output& output : outputs) {
        if (!output.value || *output.value >= values || seen[*output.value]) continue;
        seen[*output.value] = true;
        all.push_back(*output.value);
    }
    all.insert(all.end(), keeps.begin(), keeps.end());
    return all;
}

}  // namespace vramfit::network
