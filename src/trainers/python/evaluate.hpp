// Follows a script's assignments and calls in order, without running it.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "trainers/python/object.hpp"

namespace vramfit::trainers::python {

using Names = std::map<std::string, Ref, std::less<>>;

struct Arguments {
    std::vector<Ref> items;
    std::vector<std::string> keys;
    std::vector<Place> places;
};

/// A function's own names while it is followed.
struct Frame {
    Names names;
    std::set<std::string, std::less<>> globals;
    std::vector<Ref> returns;
};

class Evaluator {
  public:
    Evaluator(Heap& heap, std::string file, bool bf16_card)
        : heap_(&heap), file_(std::move(file)), bf16_card_(bf16_card) {}

    void run(const std::vector<Statement>& script);
    /// The trainers that are set up, in order.
    const std::vector<Ref>& trainers() const { return trainers_; }
    /// Called when a trainer begins to train.
    void (*on_train)(void* context, Ref trainer) = nullptr;
    void* context = nullptr;

  private:
    enum class Truth : unsigned char { no, yes, unknown };

    Ref value_of(const Expression& expression);
    Ref name(const std::string& text);
    Ref number(const std::string& text);
    Ref attribute(Ref base, const std::string& name);
    Ref subscript(Ref base, Ref index);
    Ref unary(const std::string& sign, Ref value);
    Ref binary(const std::string& sign, Ref left, Ref right);
    Ref compare(const std::string& sign, Ref left, Ref right);
    Ref logic(const Expression& expression);
    Ref format(const Expression& expression);
    Ref dict(const Expression& expression);
    static Truth truth_of(const Object& value);

    Ref call(const Expression& expression);
    Arguments arguments_of(const Expression& expression);
    Ref call_object(Ref callee, Arguments arguments, Place place);
    Ref call_function(Ref function, Ref self, const Arguments& arguments);
    Ref call_method(Ref base, const std::string& method, Arguments arguments, Place place);
    Ref container_method(Ref base, const std::string& method, const Arguments& arguments);
    Ref text_method(Ref base, const std::string& method, Ref first);
    Ref dict_get(Ref base, const std::string& method, const Arguments& arguments);
    Ref dict_update(Ref base, const Arguments& arguments);
    Ref list_append(Ref base, const std::string& method, Ref first);
    Ref instance(Ref type, Arguments arguments, Place place);
    Ref outside(const std::string& name, Arguments arguments, Place place);
    Ref builtin(std::string_view name, const Arguments& arguments);
    Ref as_dict(Arguments arguments);

    bool run_block(const std::vector<Statement>& block);
    bool run_statement(const Statement& statement);
    bool run_branch(const Statement& statement);
    void run_loop(const Statement& statement);
    bool run_attempt(const Statement& statement);
    void run_type(const Statement& statement);
    void run_uncalled(const std::vector<Statement>& script);
    void assign(const Expression& target, Ref value);
    void set_attribute(Ref base, const std::string& name, Ref value, Place place);
    void set_item(Ref base, Ref index, Ref value, Place place);
    void set_key(Ref base, const std::string& key, Ref value, Place place);
    void bind(const std::string& name, Ref value);
    Ref merge(Ref a, Ref b, int line, int depth = 0);
    Names merged(const Names& a, const Names& b, int line);
    Ref element(Ref whole);
    void count(std::size_t steps = 1);

    Names& names() { return frames_.empty() ? globals_ : frames_.back().names; }

    Heap* heap_;
    std::string file_;
    bool bf16_card_;
    Names globals_;
    std::vector<Frame> frames_;
    std::vector<Ref> trainers_;
    std::set<const Statement*> called_;
    std::vector<const Statement*> calling_;  ///< that are being run now, the outermost first
    int level_ = 0;
    int line_ = 0;  ///< of the condition that is not known
    int depth_ = 0;
    std::size_t steps_ = 0;
    Place here_;
};

}  // namespace vramfit::trainers::python
