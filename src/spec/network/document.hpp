// A recorded network (vramfit.network/1) as it is read: modules, programs and variants. docs/reference/network.md.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "spec/network/formula.hpp"
#include "vramfit/base/dtype.hpp"

namespace vramfit {
struct JsonValue;
}

namespace vramfit::network {

/// Values of a program by number, programs and kinds of modules by their place in the document.
using Number = std::uint32_t;

/// A dtype as it is written: by name, the weights', autocast's, or that of a value or parameter.
struct DTypeName {
    enum class Of : std::uint8_t { name, weights, autocast, value, parameter, other };

    Of of = Of::weights;
    DType dtype = DType::float32;  ///< of a name that the engine knows
    Number value = 0;
    std::string text;  ///< of a parameter its path; of another one its name
};

/// One argument of a call.
struct Argument {
    enum class Kind : std::uint8_t {
        none,
        boolean,
        integer,
        real,      ///< also infinities and what differs between dtypes
        formula,   ///< a size
        unfitted,  ///< a number that no formula says
        text,
        value,
        parameter,
        dtype,
        device,
        ellipsis,
        slice,  ///< three items
        list,
        object,
        rounds,  ///< a list with a value of each round of a loop
    };

    Kind kind = Kind::none;
    bool boolean = false;  ///< of a device: whether it is the card
    std::int64_t integer = 0;
    double real = 0;
    Number value = 0;
    std::string text;
    Formula formula;
    DTypeName dtype;
    std::vector<std::string> keys;  ///< of an object
    std::vector<Argument> items;

    bool is(Kind wanted) const { return kind == wanted; }
};

/// What a call makes, or what a program is given.
struct Result {
    std::optional<Number> value;  ///< none: a parameter, which `parameter` names
    std::string parameter;
    DTypeName dtype;
    std::vector<Argument> sizes;
    std::string view;  ///< "%n" or "@path": on whose memory it lies; empty: its own
    bool on_host = false;
};

struct Flags {
    bool no_grad = false;
    bool autocast = true;
    bool loss = false;
    bool reads = false;    ///< the host waits for a value
    bool assumed = false;  ///< ... which only a real run knows
};

/// A call of a torch function or tensor method.
struct Call {
    std::string function;
    std::vector<Argument> arguments;
    std::vector<std::pair<std::string, Argument>> named;
    std::vector<Result> results;
    Flags flags;
};

/// A program that runs inside of this one.
struct Run {
    enum class Kind : std::uint8_t { module, function, checkpoint };

    Kind kind = Kind::module;
    std::string path;  ///< of a module: from this one, or behind '/' from the network
    Number program = 0;
    std::vector<Number> given;
    std::vector<Number> results;
    std::vector<std::size_t> takes;  ///< places in `given` of values that end inside
    Flags flags;
};

/// The last names of these values go, in this order.
struct End {
    std::vector<Number> values;
};

/// What follows is right where the comparison has this outcome.
struct If {
    Comparison condition;
    bool holds = true;
};

/// What a round of a loop does.
using Step = std::variant<Call, End, If>;

/// A loop. Values from `first` on belong to it, each round makes `made` of them: in `next`, which is each round but the
/// first, those of the round before have the numbers of `begin`, its own those behind. Behind the loop the last round's
/// have the numbers of `begin`.
struct Repeat {
    Argument count;
    Number first = 0;
    Number made = 0;
    std::vector<Step> begin;
    std::vector<Step> next;
    std::vector<Number> kept;  ///< behind the loop these numbers mean the values of all rounds, as a list has them
};

using Instruction = std::variant<Call, Run, End, If, Repeat>;

struct Input {
    std::string name;  ///< empty: no argument
    Result what;
};

struct Output {
    std::string name;
    std::optional<Number> value;  ///< none: a parameter
    std::string parameter;
};

struct Program {
    enum class Kind : std::uint8_t { module, function, checkpoint };

    Kind kind = Kind::module;
    std::string class_name;
    std::vector<Input> inputs;
    std::vector<Instruction> code;
    std::vector<Output> outputs;
    std::vector<Number> keeps;
    Number values = 0;  ///< how many there are: all numbers are below

    /// The values that it is given, each once.
    std::vector<Number> given() const;
    /// The name under which it is given a value; empty: it is no argument.
    std::string_view name_of(Number value) const;
    /// What it hands to its caller: outputs that it has made, each once, then what it keeps.
    std::vector<Number> left() const;
};

enum class Leaf : std::uint8_t { none, linear, conv1d, embedding, layer_norm, norm, experts };

struct Parameter {
    std::string name;
    DTypeName dtype;
    std::vector<Argument> sizes;
    bool persistent = true;
    std::optional<DTypeName> initial = std::nullopt;  ///< of values that the loader makes for it and lets go of
    int initials = 1;                                 ///< so many at once
};

struct Child {
    std::string name;
    Number kind = 0;
};

/// One kind of module.
struct ModuleKind {
    std::string class_name;
    Leaf leaf = Leaf::none;
    bool checkpointed = false;
    std::vector<Parameter> parameters;
    std::vector<Parameter> buffers;
    std::vector<Child> children;
};

/// What the network is asked for, and the program that it is then.
struct Variant {
    std::string attention;
    std::string mask;
    bool use_cache = false;
    bool labels = true;
    bool items = false;  ///< the number of labels of the whole batch is given
    bool checkpointing = false;
    Number program = 0;
    std::string weights;              ///< "16 bit" or "float32": only then; empty: always
    bool one_row = false;             ///< only for a batch of 1
    std::optional<bool> autocast;     ///< only then
    std::optional<Comparison> sizes;  ///< only where it holds: rows that reach a window
    bool generates = false;           ///< made for generation (with_generation)
    bool only = false;                ///< an example of one size
    std::size_t not_fitted = 0;       ///< places without a formula
};

/// What a checkpoint has in place of a parameter, by another name or in parts; * stands for any number.
struct Published {
    std::string parameter;
    std::vector<std::string> files;  ///< one or several that are joined by their rows; or matrices of each expert:
                                     ///< stacked, then joined by their rows

    /// The files' names have a number more than the parameter's: the expert.
    bool by_expert() const { return numbers_in(files[0]) > numbers_in(parameter); }
    static std::ptrdiff_t numbers_in(const std::string& name) { return std::count(name.begin(), name.end(), '*'); }
};

/// A row of a class's plan for tensor parallelism.
struct PlannedCut {
    std::string name;   ///< of a module or parameter, * for a number
    std::string style;  ///< "colwise"
};

struct Document {
    std::string file;
    bool of_type = false;                    ///< made of the recording of its type and a config.json
    bool is_piece = false;                   ///< as one of several processes runs it (piece_of)
    std::vector<std::string> same_releases;  ///< of transformers, under which the type is the same
    std::string given;                       ///< ... as JSON text
    std::string torch;
    std::string transformers;
    std::string class_name;
    std::string model_type;
    std::string head;
    std::string config;  ///< the configuration, as JSON text
    std::vector<std::string> no_split_modules;
    std::vector<PlannedCut> tensor_parallel_plan;  ///< tp_plan
    std::string input_embeddings;                  ///< the path of get_input_embeddings(); empty: not recorded, or none
    std::string output_embeddings;                 ///< the same of get_output_embeddings()
    std::vector<std::string> keep_in_float32;      ///< _keep_in_fp32_modules
    std::vector<std::string> keep_in_float32_strict;  ///< _keep_in_fp32_modules_strict
    bool accepts_loss_kwargs = true;                  ///< Trainer gives the forward num_items_in_batch
    bool loss_shifts_labels = true;                   ///< ... which leaves out the first label of each row
    bool ties_bias_first = false;                     ///< the head's bias is tied before its weight
    std::vector<Published> checkpoint;                ///< of all others it has the network's names
    bool returns_router_logits = false;          ///< the configuration has output_router_logits, said or by its class
    std::optional<double> router_aux_loss_coef;  ///< where the configuration says it
    std::string conversion;  ///< a rule of the loader that such rows do not say; empty: there is none
    std::vector<std::string> varied;
    std::vector<ModuleKind> kinds;
    Number root = 0;
    std::vector<std::vector<std::string>> ties;
    std::vector<Program> programs;
    std::vector<Variant> variants;
    std::vector<std::optional<std::int64_t>> windows;  ///< of generation: the window of each layer's cache that slides
};

/// What a file may hold at most; a hostile one is refused before it costs memory or time.
inline constexpr std::size_t kMostBytes = std::size_t{8} << 20;
inline constexpr std::size_t kMostPrograms = 10'000;
inline constexpr std::size_t kMostKinds = 10'000;
inline constexpr std::size_t kMostModules = 100'000;           ///< of the whole network
inline constexpr std::int64_t kMostMatrices = 1'000'000;       ///< of experts, in the whole checkpoint
inline constexpr std::size_t kMostValues = 100'000;            ///< of one program
inline constexpr std::size_t kMostSteps = 1'000'000;           ///< instructions of one pass through a variant
inline constexpr std::int64_t kMostRounds = 1 << 16;           ///< of one loop
inline constexpr std::int64_t kMostStepsOfRounds = 4'000'000;  ///< of all loops in one pass
inline constexpr std::size_t kDeepestModules = 32;             ///< modules in modules, programs in programs

/// The network in a text. `file` names it in messages. Throws Error: invalid for a text that is no recording,
/// unsupported for one of a later schema.
Document read_network(std::string_view text, std::string_view file);
/// The same of a text that is parsed.
Document read_network(const JsonValue& json, std::string_view file);

}  // namespace vramfit::network
