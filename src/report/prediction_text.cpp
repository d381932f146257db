// The answer about one configuration as text: verdict, the GPU's memory, what fits or what to change, the highest
// moment.
#include <fmt/format.h>

#include <algorithm>

#include "base/text_table.hpp"
#include "report/category_words.hpp"
#include "report/documents.hpp"
#include "report/memory_bar.hpp"
#include "report/plan_changes_text.hpp"
#include "report/prediction_details.hpp"
#include "report/verdict_text.hpp"
#include "vramfit/peaks/peak.hpp"
#include "vramfit/spec/plan_names.hpp"

namespace vramfit::report {

namespace {

std::string painted(std::string_view text, const char* code, const Layout& layout) {
    return layout.colour ? fmt::format("\x1b[{}m{}\x1b[0m", code, text) : std::string(text);
}

const char* words_of_loop(LoopKind loop) {
    switch (loop) {
        case LoopKind::dpo: return "DPO, ";
        case LoopKind::reward: return "reward model, ";
        case LoopKind::kto: return "KTO, ";
        case LoopKind::orpo: return "ORPO, ";
        case LoopKind::cpo: return "CPO, ";
        case LoopKind::grpo: return "GRPO, ";
        case LoopKind::rloo: return "RLOO, ";
        case LoopKind::gkd: return "GKD, ";
        case LoopKind::online_dpo: return "online DPO, ";
        case LoopKind::prm: return "process reward model, ";
        case LoopKind::bco: return "BCO, ";
        case LoopKind::ppo: return "PPO, ";
        default: return "";
    }
}

/// "QLoRA of qwen3-8b, 1 x 2048 tokens", "DPO, QLoRA of qwen3-8b, 1 pair x 2048 tokens".
std::string run_of(const Prediction& p) {
    const TrainingPlan& training = p.plan.training;
    const bool pairs = has_pairs(p.plan.loop.kind);
    const char* const rows = !pairs ? "" : training.per_device_train_batch_size == 1 ? " pair" : " pairs";
    std::string out =
        fmt::format("{}{} of {}, {}{} x {} tokens", words_of_loop(p.plan.loop.kind), words_of_method(p.plan),
                    p.model.name, training.per_device_train_batch_size, rows, p.plan.batch.sequence_length);
    if (!p.plan.batch.lengths.empty()) out += " at most";
    if (training.gradient_accumulation_steps > 1)
        out += fmt::format(", {} gradient accumulation steps", training.gradient_accumulation_steps);
    return out;
}

/// "FSDP2", "DeepSpeed ZeRO-3".
std::string method_of(const DistributedPlan& plan) {
    const auto* zero = plan.as<ZeroPlan>();
    return zero ? fmt::format("{}-{}", name_of(plan.method).title, zero->stage)
                : std::string(name_of(plan.method).title);
}

/// "on NVIDIA A10G", or "on each of 4 x NVIDIA A10G (FSDP2)".
std::string place_of(const Prediction& p) {
    if (!p.plan.distributed || p.plan.distributed->world_size == 1) return fmt::format("on {}", p.device.name);
    return fmt::format("on each of {} x {} ({})", p.plan.distributed->world_size, p.device.name,
                       method_of(*p.plan.distributed));
}

std::string verdict_rest(const Prediction& p) {
    const std::string need = size_text(p.peak.reserved);
    const std::string run = fmt::format(": {}, {}.", run_of(p), place_of(p));
    switch (p.verdict) {
        case Verdict::fits: return run;
        case Verdict::tight:
            // More than there can be: with as little it runs by giving unused blocks back, or by what Unsloth saves
            // then.
            return fmt::format("{} It may or may not fit: it needs {}{}, with {}. {}", run,
                               p.peak.reserved > p.usable_high().count ? "up to " : "", need, usable_text(p),
                               what_decides(p));
        case Verdict::too_large:
            return fmt::format("{} It needs {}, {} more than the GPU has for it.", run, need,
                               size_text(std::max<std::int64_t>(p.peak.reserved - p.device.usable.count, 0)));
        case Verdict::unknown:
            return fmt::format("{} It needs {} at most, {} more than the GPU has for it; only this bound is known.",
                               run, need,
                               size_text(std::max<std::int64_t>(p.peak.reserved - p.device.usable.count, 0)));
        case Verdict::not_asked: break;
    }
    std::string out = fmt::format(": {}, needs {} of GPU memory", run_of(p), need);
    if (p.plan.distributed && p.plan.distributed->world_size > 1)
        out += fmt::format(" on each of {} GPUs ({})", p.plan.distributed->world_size, method_of(*p.plan.distributed));
    out += ", and the CUDA context beside it.";
    if (!p.smallest_gpu.empty()) out += fmt::format(" The smallest known GPU that holds it: {}.", p.smallest_gpu);
    return out + " Ask about yours with --gpu.";
}

struct VerdictWord {
    const char* text;
    const char* colour;
};

VerdictWord word_of(Verdict verdict) {
    switch (verdict) {
        case Verdict::fits: return {"fits", "1;32"};
        case Verdict::tight: return {"tight", "1;33"};
        case Verdict::too_large: return {"too large", "1;31"};
        case Verdict::unknown: return {"unknown", "1;33"};
        case Verdict::not_asked: break;
    }
    return {"peak", "1"};
}

std::string verdict(const Prediction& p, const Layout& layout) {
    const VerdictWord word = word_of(p.verdict);
    std::string rest = verdict_rest(p);
    if (p.managed > 0)
        rest += fmt::format(
            " Beside this, {} of optimizer states are paged: they move to host memory when the GPU is "
            "full.",
            size_text(p.managed));
    const std::string text = wrapped(word.text + rest, layout.width);
    return painted(word.text, word.colour, layout) + text.substr(std::string_view(word.text).size());
}

const Peak* peak_named(const std::string& name) {
    for (const Peak* peak : all_peaks())
        if (peak->name == name) return peak;
    return nullptr;
}

std::string percent(std::int64_t bytes, std::int64_t whole) {
    return fmt::format("{:.1f} %", 100.0 * static_cast<double>(bytes) / static_cast<double>(whole));
}

constexpr std::int64_t kBar = 16;  // characters of 100 %

/// What the highest moment is made of, the largest part first; the rows sum to what the process takes.
TextTable parts_of(const Prediction& p, const PeakResult& highest) {
    struct Row {
        std::string words;
        std::int64_t bytes;
    };
    std::vector<Row> rows;
    for (int i = 0; i < kCategoryCount; ++i)
        if (const std::int64_t bytes = highest.shares[static_cast<std::size_t>(i)])
            rows.push_back({words_of(static_cast<Category>(i), p), bytes});
    std::stable_sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) { return a.bytes > b.bytes; });
    const std::int64_t beyond = p.peak.reserved - highest.requested;
    if (beyond > 0) rows.push_back({"allocator: rounding, gaps, cache", beyond});
    if (p.device.capacity_known) rows.push_back({"CUDA context", p.device.context.count});
    std::int64_t all = 0;
    for (const Row& row : rows) all += row.bytes;
    TextTable table;
    table.columns = {{"", Align::left, 0, ' '}, {"", Align::right}, {"", Align::right, 1}, {"", Align::left, 2}};
    table.indent = "  ";
    for (const Row& row : rows)
        table.rows.push_back({row.words, row.bytes < kGiB / 200 ? "< 0.01 GiB" : size_text(row.bytes),
                              percent(row.bytes, all),
                              std::string(static_cast<std::size_t>((kBar * row.bytes + all / 2) / all), '#')});
    return table;
}

std::string highest_moment(const Prediction& p, const Layout& layout) {
    const auto highest =
        std::find_if(p.peaks.begin(), p.peaks.end(), [&](const PeakResult& peak) { return peak.name == p.highest; });
    if (highest == p.peaks.end() || highest->requested == 0) return {};
    const Peak* peak = peak_named(highest->name);
    const std::string id = highest->id.empty() ? "" : fmt::format(" ({})", highest->id);
    return wrapped(fmt::format("Highest moment, {}{}. {} In memory then:", highest->name, id, peak ? peak->moment : ""),
                   layout.width) +
           text_of(parts_of(p, *highest), layout.table_width);
}

std::string notes(const Prediction& p, const Layout& layout) {
    std::string out;
    for (const Note& note : p.notes)
        if (!is_usual(note)) out += wrapped(note.text, layout.width, "note: ", "      ");
    std::string assumed = assumed_text(p.device, p.assumptions);
    if (!assumed.empty()) assumed += ' ';
    const std::size_t count = p.notes.size();
    return out + wrapped(fmt::format("{}--details shows what was asked, all peaks{}.", assumed,
                                     count == 0   ? std::string()
                                     : count == 1 ? std::string(" and a note")
                                                  : fmt::format(" and {} notes", count)),
                         layout.width);
}

}  // namespace

std::string prediction_text(const Prediction& p, const Layout& layout) {
    std::string out = verdict(p, layout);
    const std::string bar = p.device.capacity_known ? memory_bar(p, layout) : std::string();
    const std::string parts[] = {bar, plan_changes_text(p, layout), highest_moment(p, layout),
                                 layout.details ? prediction_details(p, layout) : notes(p, layout)};
    for (const std::string& part : parts)
        if (!part.empty()) out += fmt::format("\n{}", part);
    return out;
}

}  // namespace vramfit::report
