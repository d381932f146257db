// A recorded network as it stands in memory: its tree of modules, bound to the tensors of the network that was loaded.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "model/network/called.hpp"
#include "model/network/network.hpp"
#include "model/recorded/operators.hpp"
#include "spec/network/document.hpp"
#include "vramfit/spec/version.hpp"

namespace vramfit::model {

/// One module of the tree.
struct RecordedModule {
    const network::ModuleKind* kind = nullptr;
    std::string path;                     ///< "model.layers.0.self_attn.q_proj"; empty: the whole
    std::vector<std::uint32_t> children;  ///< in order of registration, as the kind's
    int unit = -1;                        ///< which decoder layer it is: windows begin with it
    bool is_final_norm = false;           ///< the last norm of all
    bool is_behind_layers = false;        ///< the norm behind the last of them
    Linear* linear = nullptr;             ///< what stands there in memory, of a leaf
    Embedding* embedding = nullptr;
    Norm* norm = nullptr;
    BareModule* bare = nullptr;
    std::size_t first_buffer = 0;  ///< its first among the network's buffers
    /// In one of several processes: of how many of its last outputs the gradient is summed over all.
    std::int64_t summed_tail = 0;

    bool is_unit() const { return unit >= 0; }
};

/// What hooks know a module by: its own parameters' place, if it has some.
inline engine::ModuleKey key_of_module(const RecordedModule& module) {
    if (module.bare) return key_of(module.bare, Part::itself);
    if (module.norm) return key_of(module.norm, Part::itself);
    return key_of(&module, Part::itself);
}

/// A recording and the tree of its modules; the document outlives it.
class RecordedModel {
  public:
    /// Throws Error (unsupported) where a program of the variants calls a function that no operator stands for.
    explicit RecordedModel(const network::Document& document);

    /// Finds the leaves in the network, which was made of this recording and stays where it is.
    void bind(Network& network);

    const network::Document& document() const { return *document_; }
    /// Of transformers, that it was recorded with.
    const std::optional<Version>& release() const { return release_; }
    const RecordedModule& module(std::uint32_t index) const { return modules_[index]; }
    /// The module of that path from another one, or from the whole behind '/'.
    std::uint32_t find(std::uint32_t from, std::string_view path) const;
    /// A parameter or buffer by its path from a module.
    Tensor parameter(const Network& network, std::uint32_t from, std::string_view path) const;
    /// From here on the buffer of that path is this tensor.
    void replace_buffer(const Network& network, std::uint32_t from, std::string_view path, Tensor tensor) const;
    /// The operators of a program's instructions; null where an instruction is no call.
    const std::vector<recorded::Operator>& operators(network::Number program) const { return operators_[program]; }
    std::size_t units() const { return units_; }
    bool has_norm_behind_layers() const { return !behind_layers_.empty(); }
    /// Whether layers run more than once, or in parts: none of them is known to be the last.
    bool has_several_lists() const { return several_lists_; }
    /// The path of the network inside of what has the head; empty: there is none.
    const std::string& base() const { return base_; }

  private:
    /// The module that a path ends in, and the name behind it.
    std::pair<const RecordedModule*, std::string_view> owner_of(std::uint32_t from, std::string_view path) const;
    std::uint32_t add(network::Number kind, std::string path);

    const network::Document* document_;
    std::optional<Version> release_;
    std::vector<std::string> layers_;
    std::string base_;
    std::string final_norm_;
    std::string behind_layers_;
    bool several_lists_;
    std::vector<RecordedModule> modules_;
    std::vector<std::vector<recorded::Operator>> operators_;
    std::size_t units_ = 0;
    std::size_t buffers_ = 0;
};

}  // namespace vramfit::model
