// Report formats: pure functions from results to text, one file for each format in src/report/formats.
#pragma once

#include <span>
#include <string_view>

#include "vramfit/base/error.hpp"
#include "vramfit/check/check.hpp"
#include "vramfit/methods/compare.hpp"
#include "vramfit/methods/launch.hpp"
#include "vramfit/predict/peak_formulas.hpp"
#include "vramfit/predict/prediction.hpp"
#include "vramfit/report/table.hpp"
#include "vramfit/snapshot/compare.hpp"
#include "vramfit/snapshot/oom.hpp"
#include "vramfit/sweep/largest.hpp"
#include "vramfit/sweep/sweep.hpp"
#include "vramfit/sweep/widen.hpp"
#include "vramfit/trace/program.hpp"

namespace vramfit {

/// What the reader's screen can show.
struct Layout {
    int width = 80;        ///< columns of prose
    int table_width = 80;  ///< columns of tables: without a limit where no screen is too narrow for them
    bool colour = false;   ///< a terminal that shows colours
    bool details = false;  ///< a prediction as text: all there is to say, not the answer alone
};

/// All of a run, for formats that draw it.
struct DrawnRun {
    std::string title;    ///< "qwen3-8b, method qlora"
    std::string command;  ///< asks for it again
    Program program;
    AllocatorOptions allocator;  ///< of the card
    Prediction prediction;
};

/// The windows of a run, and its events if they were asked for.
struct TimelineReport {
    std::string model;  ///< name of the network
    Timeline timeline;
    std::optional<Program> events;
    Notes notes;
    std::vector<DrawnRun> drawn = {};  ///< one run, or two side by side; empty for formats that do not draw
};

/// A sweep's answer with its question.
struct SweepReport {
    std::vector<SweepQuestion> questions;
    std::vector<std::string> choices;              ///< flags that differ from question to question: "optim"
    std::vector<std::vector<std::string>> chosen;  ///< by question: the values of these flags
    SweepResult result;
    SweepSelection selection;
    std::string group;               ///< the axis that the ranking is grouped by: "rank"
    std::vector<SweepBound> bounds;  ///< rows outside were not swept
    SweepShard shard;                ///< the part that the answer is of, and the arguments that all parts share
    std::vector<std::string> arguments;
    std::string version;           ///< of the program
    std::vector<std::string> map;  ///< the two axes of a picture; empty: those with most values
    std::string largest;           ///< the axis whose largest value each row of the answer has: "seq"
    std::vector<LargestRow> largest_rows;
    std::vector<WidenedAxes> widened;  ///< by question: axes that go on until nothing fits
    std::size_t combinations = 0;      ///< of the other axes
    std::size_t top = 10;              ///< rows of the ranking that are shown
    bool all_rows = false;             ///< every row of the space too, where the format can
    /// By question: "vramfit predict", "--model gemma-2b", ...: what all its rows share.
    std::vector<std::vector<std::string>> commands;

    const SweepQuestion& question_of(const SweepRow& row) const { return questions[row.question]; }
    Coordinates coordinates(const SweepRow& row) const {
        return coordinates_of(question_of(row).space, result.place_of(row));
    }
    TrainPlan plan(const SweepRow& row) const {
        return plan_of(question_of(row).space, question_of(row).base, result.place_of(row));
    }
    /// A question with adapters if there is one: its space has all axes.
    const SweepQuestion& widest() const {
        for (const SweepQuestion& q : questions)
            if (q.base.peft) return q;
        return questions.front();
    }
};

/// The answer about one run that a trainer's files describe.
struct CheckReport {
    CheckResult result;
    bool explain_inputs = false;     ///< text: every value with where it comes from
    bool accept_tight = false;       ///< a tight run is no failure
    bool pass_unsupported = false;   ///< nor is one that is not supported
    std::vector<std::string> files;  ///< names of the files of this run, as they were given
    std::vector<Problem> problems;   ///< why there is no result; empty: there is one
    bool problems_invalid = true;    ///< the files could not be understood; false: they ask for something unsupported
    int status = 0;                  ///< exit status of this run alone

    bool unsupported() const { return !problems.empty() ? !problems_invalid : result.refused(); }
};

/// One run; with --each any number of them.
struct CheckReports {
    std::vector<CheckReport> runs;
    bool each = false;
};

/// The peaks of a run as formulas.
struct FormulaReport {
    std::string model;
    PeakFormulas formulas;
};

/// The methods for a run on several cards.
struct MethodsReport {
    MethodsQuestion question;
    MethodsAnswer answer;
};

/// The answer about one configuration as a page to send around.
struct PredictionPage {
    Prediction prediction;
    std::string command;             ///< asks for it again
    std::optional<SweepReport> map;  ///< what fits around it, by batch and length
};

/// A recorded snapshot beside the prediction of the same job.
struct ComparisonReport {
    std::string file;
    std::string model;
    std::int64_t batch = 0;
    std::int64_t tokens = 0;  ///< of a row
    SnapshotComparison comparison;
    std::int64_t devices = 1;  ///< that the snapshot has entries of
    std::int64_t device = 0;   ///< the one that was compared
    Notes notes;
};

/// The text of an out of memory error beside the prediction.
struct OomReport {
    std::string file;
    OomExplanation explanation;
    Prediction prediction;
};

/// The same run on one fleet of cards or on several, each with its answer.
struct MethodsReports {
    std::vector<MethodsReport> fleets;
    std::size_t row = 1;                         ///< of the ranking, whose launch is told
    std::vector<std::string> folders;            ///< by fleet, where they are written
    std::vector<std::vector<LaunchFile>> files;  ///< by fleet: those that were written there, with their paths
};

/// One format. A plug-in; a function it does not have is nullptr.
struct Format {
    const char* name;     ///< "text", "json": the word after --format
    const char* summary;  ///< one line of help
    int order;            ///< place in help
    bool draws = false;   ///< its timelines need TimelineReport::drawn
    std::string (*prediction)(const Prediction&, const Layout&) = nullptr;
    std::string (*timeline)(const TimelineReport&, const Layout&) = nullptr;
    std::string (*table)(const ReportTable&, const Layout&) = nullptr;
    std::string (*sweep)(const SweepReport&, const Layout&) = nullptr;
    std::string (*check)(const CheckReports&, const Layout&) = nullptr;
    std::string (*formulas)(const FormulaReport&, const Layout&) = nullptr;
    std::string (*methods)(const MethodsReports&, const Layout&) = nullptr;
    std::string (*page)(const PredictionPage&, const Layout&) = nullptr;
    std::string (*comparison)(const ComparisonReport&, const Layout&) = nullptr;
    std::string (*oom)(const OomReport&, const Layout&) = nullptr;
};

/// All formats, in no useful order.
std::span<const Format* const> all_formats();

/// The format of that name, or nullptr.
const Format* find_format(std::string_view name);

}  // namespace vramfit
