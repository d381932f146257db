// Torch functions by name: what runs when a recorded program calls one.
#pragma once

#include <cmath>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "engine/ops/pointwise.hpp"
#include "model/layers/kv_cache.hpp"
#include "model/recorded/sizes.hpp"
#include "spec/network/document.hpp"

namespace vramfit::model::recorded {

using engine::Scalar;

/// What a pass that generates is given beside tensors.
struct RecordedCache {
    KvCachePointer cache;  ///< null: each pass runs all tokens
    const Batch& batch;
    const network::Document& document;
    Size* keys;  ///< places that the layer sees which runs
};

/// Where a call finds its values, parameters and sizes.
class Scope {
  public:
    virtual ~Scope() = default;
    virtual Tensor value(network::Number number) const = 0;
    /// The values of all rounds of a loop, by their number in the first one.
    virtual const std::vector<Tensor>& rounds(network::Number number) const = 0;
    virtual Tensor parameter(std::string_view path) const = 0;
    /// From here on the buffer of that path is this tensor.
    virtual void replace_buffer(std::string_view path, Tensor tensor) const = 0;
    /// The tensor that a value is a view of, through all views; undefined where it is none, or has ended.
    virtual Tensor base_of(network::Number number) const = 0;
    /// Whether a value was made on the host, where no tensor of it is kept.
    virtual bool is_of_host(network::Number number) const = 0;
    virtual DType dtype_of_value(network::Number number) const = 0;
    virtual DType weights() const = 0;
    virtual const Symbols& symbols() const = 0;
    virtual engine::Session& session() const = 0;
    virtual const Run& run() const = 0;
    /// A cache that the pass was given; null: none.
    virtual RecordedCache* cache() const = 0;
    /// Whether the module's dropout is a module's, and such modules are switched off.
    virtual bool dropout_is_off() const = 0;
    /// The module's place in the network, for messages.
    virtual std::string_view path() const = 0;
};

/// The arguments of one call as Python's functions see them.
class Arguments {
  public:
    Arguments(const Scope& scope, const network::Call& call) : scope_(scope), call_(call) {}

    engine::Session& session() const { return scope_.session(); }
    const Run& run() const { return scope_.run(); }
    /// Throws Error (unsupported) where the pass has none.
    RecordedCache& cache() const;
    const Symbols& symbols() const { return scope_.symbols(); }
    std::string_view path() const { return scope_.path(); }
    std::size_t count() const { return call_.arguments.size(); }

    /// The argument at a place or of that name; null where it is left out or None.
    const network::Argument* find(std::size_t place, std::string_view name) const;
    const network::Argument* find(std::string_view name) const { return find(count(), name); }
    const network::Argument& at(std::size_t place) const;

    /// How many results the call has.
    std::size_t results() const { return call_.results.size(); }

    Tensor tensor(std::size_t place) const { return tensor(at(place)); }
    Tensor tensor(const network::Argument& argument) const;
    /// The buffer at that place becomes this tensor, for all passes behind this one.
    void replace_buffer(std::size_t place, Tensor tensor) const;
    /// A list of tensors, each written down or those of all rounds of a loop; empty where it is none.
    std::vector<Tensor> tensors(const network::Argument& argument) const;
    /// What the tensor at that place is a view of; undefined where it is a tensor of its own.
    Tensor base(std::size_t place) const;
    /// Undefined where it is None.
    Tensor optional_tensor(std::size_t place, std::string_view name) const;
    static bool is_tensor(const network::Argument& argument);
    /// Beside tensors of the device it has no dimensions, and is as good as a number.
    bool is_of_host(const network::Argument& argument) const;
    Size size(const network::Argument& argument) const;
    int integer(const network::Argument& argument) const;
    bool flag(std::size_t place, std::string_view name, bool otherwise) const;
    double real(std::size_t place, std::string_view name, double otherwise) const;
    /// Of dropout: one that is not zero where the recording says that it varies.
    double probability(std::size_t place, std::string_view name, double otherwise) const {
        const double p = real(place, name, otherwise);
        return scope_.dropout_is_off() ? 0.0 : std::isnan(p) ? 0.5 : p;
    }
    Scalar scalar(const network::Argument& argument) const;
    /// Sizes given as a list, or as all arguments from that place on.
    engine::Dims dims(std::size_t place) const;
    std::optional<DType> dtype(const network::Argument* argument) const;

    /// The sizes and the dtype of the result, as they were recorded.
    engine::Dims result_sizes() const;
    std::optional<DType> result_dtype() const;

    /// Whether the result has no dimensions.
    bool makes_scalar() const { return call_.results.size() == 1 && call_.results[0].sizes.empty(); }

    /// Whether it gives complex numbers, two of float32 each.
    bool makes_complex() const { return call_.results.size() == 1 && call_.results[0].dtype.text == "complex64"; }

    /// Throws Error (unsupported): the call means something that the engine does not know.
    [[noreturn]] void refuse(std::string_view what) const;

  private:
    engine::Dims sizes_in(std::span<const network::Argument> items) const;
    std::optional<DType> dtype_named(const network::DTypeName& name) const;

    const Scope& scope_;
    const network::Call& call_;
};

/// Runs a call and gives back what it made; nothing for what the host reads.
struct Operator {
    using One = Tensor (*)(const Arguments& arguments);
    using Several = std::vector<Tensor> (*)(const Arguments& arguments);

    constexpr Operator() = default;
    constexpr Operator(One run) : one(run) {}          // NOLINT(google-explicit-constructor)
    constexpr Operator(Several run) : several(run) {}  // NOLINT(google-explicit-constructor)
    explicit operator bool() const { return one || several; }

    One one = nullptr;
    Several several = nullptr;  ///< a function whose result is a tuple or list of tensors
};

struct NamedOperator {
    std::string_view name;  ///< as recorded: "torch.Tensor.add"
    Operator run;
};

/// The operators of one file.
std::span<const NamedOperator> elementwise_operators();
std::span<const NamedOperator> in_place_operators();
std::span<const NamedOperator> view_operators();
std::span<const NamedOperator> subscript_operators();
std::span<const NamedOperator> parts_operators();
std::span<const NamedOperator> selection_operators();
std::span<const NamedOperator> matrix_operators();
std::span<const NamedOperator> attention_operators();
std::span<const NamedOperator> liger_operators();
std::span<const NamedOperator> reduction_operators();
std::span<const NamedOperator> factory_operators();
std::span<const NamedOperator> asked_expert_operators();
std::span<const NamedOperator> generation_operators();

/// The operator of that name, or an empty one.
Operator operator_named(std::string_view name);

}  // namespace vramfit::model::recorded
