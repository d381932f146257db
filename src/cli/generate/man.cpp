// Manual pages: roff with the macros of man(7).
#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "cli/generate/generate.hpp"

namespace vramfit::cli {

namespace {

/// Text as roff has it: hyphens that can be copied, and no line that looks like a request.
std::string roff(std::string_view text) {
    std::string out;
    for (const char c : text) {
        if (c == '-')
            out += "\\-";
        else if (c == '\\')
            out += "\\e";
        else if (c == '\'')
            out += "\\(aq";
        else if (c == '^')
            out += "\\(ha";
        else if (c == '~')
            out += "\\(ti";
        else
            out += c;
    }
    return out.starts_with('.') ? "\\&" + out : out;
}

/// "--seq N" as a line in bold and italics.
std::string tagged(const FlagDescription& flag) {
    std::string line;
    for (const std::string& name : flag.names)
        line += fmt::format("{}\\fB{}\\fR", line.empty() ? "" : ", ", roff(name));
    if (!flag.value.empty() && !flag.positional) line += fmt::format(" \\fI{}\\fR", roff(flag.value));
    return fmt::format(".TP\n{}\n{}\n", line, roff(flag.text));
}

/// Flags by their headings, in the order in which the headings come first.
std::string sections(const CommandDescription& command) {
    std::vector<std::string> groups;
    for (const FlagDescription& flag : command.flags)
        if (flag.listed() && !flag.positional && std::find(groups.begin(), groups.end(), flag.group) == groups.end())
            groups.push_back(flag.group);
    std::string out;
    for (const std::string& group : groups) {
        out += groups.size() == 1 ? std::string() : fmt::format(".SS \"{}\"\n", roff(group));
        for (const FlagDescription& flag : command.flags)
            if (flag.group == group && !flag.positional) out += tagged(flag);
    }
    return out;
}

std::string arguments(const CommandDescription& command) {
    std::string out;
    for (const FlagDescription& flag : command.flags)
        if (flag.positional) out += tagged(flag);
    return out.empty() ? out : fmt::format(".SH ARGUMENTS\n{}", out);
}

std::string header(const std::string& page, const std::string& summary) {
    std::string upper = page;
    std::transform(upper.begin(), upper.end(), upper.begin(), [](char c) { return c >= 'a' && c <= 'z' ? c - 32 : c; });
    std::string line = summary.substr(0, summary.find_last_not_of('.') + 1);
    return fmt::format(".TH {} 1 \"\" \"vramfit {}\" \"User Commands\"\n.SH NAME\n{} \\- {}\n", roff(upper),
                       VRAMFIT_VERSION, roff(page), roff(line));
}

std::string example(const CommandDescription& command) {
    return fmt::format(".SH EXAMPLE\n.nf\n{}\n.fi\n", roff(command.example));
}

constexpr std::string_view kStatus =
    ".SH EXIT STATUS\n"
    ".TP\n.B 0\nIt fits, or the question was answered.\n"
    ".TP\n.B 1\nIt does not fit.\n"
    ".TP\n.B 2\nThe question could not be understood, or its answer could not be written.\n"
    ".TP\n.B 3\nA known question about an unsupported thing (architecture, quantizer, method).\n";

std::string main_page(const Commands& commands) {
    const CommandDescription& program = commands.front();
    std::string out = header("vramfit", program.summary);
    out += ".SH SYNOPSIS\n.B vramfit\n.I COMMAND\n.RI [ OPTIONS ]\n.SH DESCRIPTION\n";
    out +=
        "vramfit predicts the peak GPU memory of fine\\-tuning a large language model before it is launched, to the "
        "byte and without a GPU: full training, LoRA and QLoRA with transformers, peft, bitsandbytes and PyTorch.\n";
    out += ".SH COMMANDS\n";
    for (const CommandDescription& command : commands)
        if (!command.name.empty())
            out += fmt::format(".TP\n.BR vramfit\\-{} (1)\n{}\n", command.name, roff(command.summary));
    out += fmt::format(".SH OPTIONS\n{}{}{}.SH SEE ALSO\n", sections(program), kStatus, example(program));
    for (std::size_t i = 1; i < commands.size(); ++i)
        out += fmt::format(".BR vramfit\\-{} (1){}\n", commands[i].name, i + 1 < commands.size() ? "," : "");
    return out;
}

}  // namespace

std::string man_page(const Commands& commands, const std::string& name) {
    if (name.empty()) return main_page(commands);
    const CommandDescription& command =
        *std::find_if(commands.begin(), commands.end(), [&](const CommandDescription& c) { return c.name == name; });
    std::string out = header(fmt::format("vramfit-{}", name), command.summary);
    out += fmt::format(".SH SYNOPSIS\n.B vramfit {}\n.RI [ OPTIONS ]\n", name);
    for (const FlagDescription& flag : command.flags)
        if (flag.positional) out += fmt::format(".RI [ {} ]{}\n", flag.names.front(), flag.repeats ? "..." : "");
    out += fmt::format(".SH DESCRIPTION\n{}\n", roff(command.summary));
    if (!command.footer.empty()) out += fmt::format(".PP\n{}\n", roff(command.footer));
    out += arguments(command);
    out +=
        fmt::format(".SH OPTIONS\n{}{}{}.SH SEE ALSO\n.BR vramfit (1)\n", sections(command), kStatus, example(command));
    return out;
}

}  // namespace vramfit::cli
