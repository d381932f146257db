// All about one configuration as text: what was asked, the named peaks, the highest one's shares, levels, notes.
#include "report/prediction_details.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "base/text_table.hpp"
#include "report/documents.hpp"
#include "report/plan_text.hpp"
#include "vramfit/spec/sizes.hpp"

namespace vramfit::report {

namespace {

/// A share that rounds to nothing is still there.
std::string share(std::int64_t bytes) { return bytes < kGiB / 200 ? "< 0.01 GiB" : size_text(bytes); }

std::string question(const Prediction& p, const Layout& layout) {
    std::vector<Line> lines = {{"model", p.model.name}};
    for (Line& line : describe(p.plan, p.stack)) lines.push_back(std::move(line));
    lines.push_back({"GPU", describe(p.device)});
    int widest = 0;
    for (const Line& line : lines) widest = std::max(widest, width_of(line.key));
    std::string out;
    const std::string rest(static_cast<std::size_t>(widest) + 2, ' ');
    for (const Line& line : lines)
        out += wrapped(line.value, layout.width, fmt::format("{:<{}}", line.key, widest + 2), rest);
    return out;
}

/// What the process takes, and what the allocator did about a card that was full.
std::string memory(const Prediction& p, const Layout& layout) {
    if (!p.device.capacity_known) return {};
    const std::int64_t process = p.peak.reserved + p.device.context.count;
    std::string out = fmt::format(
        "reserved at most: {} of {} usable; the process takes up to {} ({:.0f} % of the GPU)",
        size_text(p.peak.reserved), text_of(p.device.usable), size_text(process),
        100.0 * static_cast<double>(process) / static_cast<double>(std::max<std::int64_t>(p.device.total.count, 1)));
    if (p.out_of_memory)
        out += fmt::format(
            "; out of memory in {}, at a request of {} with {} allocated and {} reserved. All levels here are those on "
            "a GPU that is large enough",
            p.out_of_memory_window, share(p.out_of_memory->requested), size_text(p.out_of_memory_levels.allocated),
            size_text(p.out_of_memory_levels.reserved));
    else if (p.retries > 0)
        out += fmt::format("; the GPU was full {} time{}: the allocator gave cached memory back and went on", p.retries,
                           p.retries == 1 ? "" : "s");
    return wrapped(out + ".", layout.width);
}

/// How far the next larger batch and length are from not fitting.
std::string next_larger(const Prediction& p, const Layout& layout) {
    std::string out;
    for (const Neighbour& next : p.next_larger) {
        const std::string size = size_text(std::abs(next.left));
        const std::string word = next.left < 0 ? "missing" : "left";
        const char* verdict = next.verdict == Verdict::fits    ? "fits"
                              : next.verdict == Verdict::tight ? "is tight"
                                                               : "is too large";
        out += fmt::format("{}{} {} {} ({} {})", out.empty() ? "next larger: " : ", ", next.flag, next.value, verdict,
                           size, word);
    }
    return out.empty() ? out : wrapped(out + ".", layout.width);
}

/// "0 to 7", or of several stages "0 to 3, 16 to 19".
std::string layers_of(const Prediction& p, std::int64_t process) {
    const DistributedPlan& processes = *p.plan.distributed;
    const std::int64_t local = processes.as<PipelinePlan>()->virtual_stages, count = processes.world_size * local;
    std::string out;
    for (std::int64_t stage = process; stage < count; stage += processes.world_size)
        out += fmt::format("{}{} to {}", out.empty() ? "" : ", ", stage * p.model.num_hidden_layers / count,
                           (stage + 1) * p.model.num_hidden_layers / count - 1);
    return out;
}

/// The first, the last and the worst process of a pipeline.
std::string stages(const Prediction& p, const Layout& layout) {
    if (p.stages.empty()) return {};
    const auto count = static_cast<std::int64_t>(p.stages.size());
    TextTable table;
    table.columns = {{"", Align::left},           {"process", Align::right},      {"layers", Align::right},
                     {"requested", Align::right}, {"allocated", Align::right, 2}, {"reserved", Align::right}};
    for (const StageResult& stage : p.stages) {
        const bool worst = stage.process == p.plan.distributed->rank;
        if (!worst && stage.process != 0 && stage.process != count - 1) continue;
        table.rows.push_back({worst ? ">" : "", std::to_string(stage.process), layers_of(p, stage.process),
                              size_text(stage.peak.requested), size_text(stage.peak.allocated),
                              size_text(stage.peak.reserved)});
    }
    return text_of(table, layout.table_width);
}

std::string peaks(const Prediction& p, const Layout& layout) {
    TextTable table;
    table.columns = {{"", Align::left},
                     {"peak", Align::left},
                     {"highest in", Align::left, 3},
                     {"requested", Align::right, 1},
                     {"allocated", Align::right, 4},
                     {"reserved", Align::right}};
    for (const PeakResult& peak : p.peaks) {
        table.rows.push_back({fmt::format("{} {}", peak.name == p.highest ? ">" : " ", peak.id), peak.name, peak.window,
                              size_text(peak.requested), size_text(peak.allocated), size_text(peak.reserved)});
    }
    return text_of(table, layout.table_width);
}

std::string shares(const Prediction& p, const Layout& layout) {
    const auto highest =
        std::find_if(p.peaks.begin(), p.peaks.end(), [&](const PeakResult& peak) { return peak.name == p.highest; });
    if (highest == p.peaks.end() || highest->requested == 0) return {};
    TextTable table;
    table.columns = {{}, {"", Align::right}, {"", Align::right}, {"", Align::left, 1}};
    table.indent = "  ";
    for (int i = 1; i <= kCategoryCount; ++i) {
        const int category = i % kCategoryCount;  // unattributed comes last
        const std::int64_t bytes = highest->shares[static_cast<std::size_t>(category)];
        if (bytes == 0) continue;
        const double part = static_cast<double>(bytes) / static_cast<double>(highest->requested);
        table.rows.push_back({name_of(static_cast<Category>(category)), share(bytes),
                              fmt::format("{:.1f} %", 100 * part),
                              std::string(static_cast<std::size_t>(part * 30 + 0.5), '#')});
    }
    return wrapped(fmt::format("{} is the highest: {} requested in {}, of which", highest->name,
                               size_text(highest->requested), highest->window),
                   layout.width) +
           text_of(table, layout.table_width);
}

std::string instants(const Prediction& p, const Layout& layout) {
    TextTable table;
    table.columns = {
        {"instant"}, {"requested", Align::right, 1}, {"allocated", Align::right, 2}, {"reserved", Align::right}};
    const auto add = [&](const char* name, const Levels& levels) {
        table.rows.push_back(
            {name, size_text(levels.requested), size_text(levels.allocated), size_text(levels.reserved)});
    };
    add("highest of the run", p.peak);
    add("after loading", p.after_load);
    add("before the first step", p.resident);
    add("after the last step", p.end);
    return text_of(table, layout.table_width);
}

std::string parameters(const Prediction& p, const Layout& layout) {
    const double part = 100.0 * static_cast<double>(p.trainable_parameters) /
                        static_cast<double>(std::max<std::int64_t>(p.total_parameters, 1));
    return wrapped(fmt::format("{} of {} parameters are trained ({:.2f} %)", grouped(p.trainable_parameters),
                               grouped(p.total_parameters), part),
                   layout.width);
}

}  // namespace

std::string prediction_details(const Prediction& p, const Layout& layout) {
    const std::string parts[] = {question(p, layout),   memory(p, layout) + next_larger(p, layout),
                                 stages(p, layout),     peaks(p, layout),
                                 shares(p, layout),     instants(p, layout),
                                 parameters(p, layout), describe(p.notes, layout.width)};
    std::string out;
    for (const std::string& part : parts) {
        if (part.empty()) continue;
        out += fmt::format("{}{}", out.empty() ? "" : "\n", part);
    }
    return out;
}

}  // namespace vramfit::report
