// Calls of a script: its own functions and classes are followed, others stand for what they are called.
#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "trainers/python/evaluate.hpp"
#include "trainers/value.hpp"

namespace vramfit::trainers::python {

namespace {

constexpr std::size_t kDeepestCall = 12;

/// torch, transformers and unsloth: whether the card computes in bfloat16.
constexpr std::string_view kBf16Questions[] = {"is_bf16_supported", "is_bfloat16_supported",
                                               "is_torch_bf16_gpu_available", "is_torch_bf16_available",
                                               "is_torch_bf16_available_on_device"};

/// Methods of torch.nn.Module that give the module itself.
constexpr std::string_view kGivesItself[] = {"to",    "cuda",     "eval",           "train", "half",
                                             "float", "bfloat16", "requires_grad_", "cpu"};

template <class Words>
bool is_one_of(std::string_view word, const Words& words) {
    return std::find(std::begin(words), std::end(words), word) != std::end(words);
}

bool is_trainer(const Object& called) {
    const std::string_view name = last_name(called.text);
    if (!name.ends_with("Trainer") || called.text.starts_with("tokenizers.")) return false;
    return called.find("model") || called.find("args") || called.find("train_dataset") || called.find("0");
}

}  // namespace

Arguments Evaluator::arguments_of(const Expression& e) {
    Arguments out;
    int number = 0;
    const auto add = [&](std::string key, Ref value, Place place) {
        count();
        out.keys.push_back(std::move(key));
        out.items.push_back(value);
        out.places.push_back(place);
    };
    for (std::size_t i = 0; i < e.names.size(); ++i) {
        const Expression& item = e.items[i + 1];
        const std::string& key = e.names[i];
        const Ref value = value_of(item);
        if (key.empty()) {
            add(std::to_string(number++), value, e.places[i]);
        } else if (key == "**" && value->is(Kind::dict)) {
            for (std::size_t k = 0; k < value->items.size(); ++k) add(value->keys[k], value->items[k], e.places[i]);
        } else if (key == "*" && value->is(Kind::list)) {
            for (const Ref each : value->items) add(std::to_string(number++), each, e.places[i]);
        } else if (key == "*" || key == "**") {
            add(fmt::format("{}{}", key, item.source),
                heap_->unknown(value->is(Kind::unknown) ? value->text : "it is no dict of this file"), e.places[i]);
        } else {
            add(key, value, e.places[i]);
        }
    }
    return out;
}

Ref Evaluator::call(const Expression& e) {
    here_ = e.place;
    const Expression& callee = e.items[0];
    if (callee.kind != Expression::Kind::attribute) {
        const Ref called = value_of(callee);
        Arguments arguments = arguments_of(e);
        here_ = e.place;
        return call_object(called, std::move(arguments), e.place);
    }
    const Ref base = value_of(callee.items[0]);
    Arguments arguments = arguments_of(e);
    here_ = e.place;
    if (base->is(Kind::dotted))
        return outside(fmt::format("{}.{}", base->text, callee.text), std::move(arguments), e.place);
    return call_method(base, callee.text, std::move(arguments), e.place);
}

Ref Evaluator::call_object(Ref callee, Arguments arguments, Place place) {
    switch (callee->kind) {
        case Kind::function: return call_function(callee, nullptr, arguments);
        case Kind::type: return instance(callee, std::move(arguments), place);
        case Kind::dotted: return outside(callee->text, std::move(arguments), place);
        case Kind::unknown: return callee;
        default: return heap_->unknown(fmt::format("it is the result of a call in line {}", place.line));
    }
}

Ref Evaluator::call_function(Ref function, Ref self, const Arguments& arguments) {
    const Statement& code = *function->code;
    if (std::find(calling_.begin(), calling_.end(), &code) != calling_.end())
        return heap_->unknown(fmt::format("{}() calls itself", code.text));
    if (calling_.size() >= kDeepestCall) return heap_->unknown(fmt::format("{}() is called too deep", code.text));
    calling_.push_back(&code);  // before the defaults of its parameters, which may call it too
    called_.insert(&code);
    Frame frame;
    std::size_t position = 0;
    for (std::size_t i = 0; i < code.names.size(); ++i) {
        const std::string& parameter = code.names[i];
        if (parameter.starts_with("*")) {
            if (parameter == "*") position = 1'000'000;  // what follows has no place
            if (parameter.starts_with("**") && parameter.size() > 2)
                frame.names[parameter.substr(2)] = heap_->unknown(fmt::format("it is a parameter of {}()", code.text));
            continue;
        }
        if (self && i == 0) {
            frame.names[parameter] = self;
            continue;
        }
        Ref given = nullptr;
        for (std::size_t k = 0; k < arguments.keys.size(); ++k)
            if (arguments.keys[k] == parameter || arguments.keys[k] == std::to_string(position))
                given = arguments.items[k];
        ++position;
        const bool unclear = std::any_of(arguments.keys.begin(), arguments.keys.end(),
                                         [](const std::string& key) { return key.starts_with("*"); });
        if (!given && !code.words[i].empty() && !unclear) given = value_of(code.items[i]);
        frame.names[parameter] =
            given ? given
                  : heap_->unknown(fmt::format("it is a parameter of {}() in line {}", code.text, code.place.line));
    }
    const int level = level_;
    frames_.push_back(std::move(frame));
    const bool returned = run_block(code.body);
    std::vector<Ref> returns = std::move(frames_.back().returns);
    frames_.pop_back();
    level_ = level;
    calling_.pop_back();
    if (!returned) returns.push_back(heap_->make(Kind::none));
    Ref out = returns.front();
    for (const Ref each : returns) out = merge(out, each, code.place.line);
    return out;
}

Ref Evaluator::instance(Ref type, Arguments arguments, Place place) {
    // A class made of one from outside is taken as that one; what it changes is for the reader of the result.
    for (const Ref base : type->owner ? type->owner->items : std::vector<Ref>())
        if (base->is(Kind::dotted) &&
            (base->text.ends_with("Trainer") || base->text.ends_with("Arguments") || base->text.ends_with("Config"))) {
            const Ref out = outside(base->text, std::move(arguments), place);
            if (base->text.ends_with("Trainer") && out->is(Kind::call)) out->type = type;
            return out;
        }
    const Ref out = heap_->make(Kind::call, type->code->text);
    out->type = type;
    out->place = place;
    out->level = level_;
    for (std::size_t i = 0; i < type->items.size(); ++i)
        if (!type->items[i]->is(Kind::function)) set_key(out, type->keys[i], type->items[i], place);
    if (const Ref init = type->find("__init__"); init && init->is(Kind::function)) {
        (void)call_function(init, out, arguments);
        return out;
    }
    for (std::size_t i = 0; i < arguments.keys.size(); ++i) set_key(out, arguments.keys[i], arguments.items[i], place);
    return out;
}

Ref Evaluator::as_dict(Arguments arguments) {
    const Ref out = heap_->make(Kind::dict);
    out->level = level_;
    for (std::size_t i = 0; i < arguments.keys.size(); ++i)
        set_key(out, arguments.keys[i], arguments.items[i], arguments.places[i]);
    return out;
}

/// What Python itself and torch answer, or nothing.
Ref Evaluator::builtin(std::string_view name, const Arguments& arguments) {
    const Ref first = arguments.items.empty() ? nullptr : arguments.items[0];
    if (is_one_of(last_name(name), kBf16Questions)) return heap_->truth(bf16_card_);
    if (name == "torch.cuda.is_available") return heap_->truth(true);
    if (name == "torch.cuda.get_device_capability") return heap_->make(Kind::capability);
    if (name == "dict" && (!first || arguments.keys[0] != "0" || first->is(Kind::dict))) {
        Arguments all;
        for (std::size_t i = 0; i < arguments.keys.size(); ++i)
            if (arguments.keys[i] == "0") {
                all.keys = first->keys;
                all.items = first->items;
                all.places.resize(all.keys.size(), here_);
            }
        for (std::size_t i = 0; i < arguments.keys.size(); ++i) {
            if (arguments.keys[i] == "0") continue;
            all.keys.push_back(arguments.keys[i]);
            all.items.push_back(arguments.items[i]);
            all.places.push_back(arguments.places[i]);
        }
        return as_dict(std::move(all));
    }
    if (!first || arguments.keys[0] != "0") return nullptr;
    if (name == "len" && (first->is(Kind::list) || first->is(Kind::dict)) &&
        (first->level == level_ || first->items.empty()))
        return heap_->integer(static_cast<std::int64_t>(first->items.size()));
    const bool scalar = first->is(Kind::integer) || first->is(Kind::real) || first->is(Kind::truth);
    if (name == "bool") {
        const Truth truth = truth_of(*first);
        if (truth != Truth::unknown) return heap_->truth(truth == Truth::yes);
    }
    if (name == "float" && scalar) return heap_->real(first->is(Kind::truth) ? first->truth : first->real);
    if (name == "float" && first->is(Kind::text)) return number(first->text);
    if (name == "int" && first->is(Kind::integer)) return first;
    if (name == "int" && first->is(Kind::text)) return number(first->text);
    if (name == "int" && first->is(Kind::real) && first->real > -1e15 && first->real < 1e15)
        return heap_->integer(static_cast<std::int64_t>(first->real));
    if (name == "str" && first->is(Kind::text)) return first;
    if (name == "str" && first->is(Kind::integer)) return heap_->make(Kind::text, std::to_string(first->integer));
    if ((name == "list" || name == "tuple") && first->is(Kind::list)) {
        const Ref out = heap_->make(Kind::list, "[]");
        out->level = level_;
        out->items = first->items;
        count(out->items.size());
        return out;
    }
    if (name == "getattr" && arguments.items.size() == 2 && arguments.items[1]->is(Kind::text))
        return attribute(first, arguments.items[1]->text);
    if ((name == "max" || name == "min") && arguments.items.size() == 2) {
        const Ref less = compare("<", first, arguments.items[1]);
        if (less->is(Kind::truth)) return arguments.items[less->truth == (name == "max") ? 1 : 0];
    }
    return nullptr;
}

Ref Evaluator::outside(const std::string& name, Arguments arguments, Place place) {
    count();
    if (const Ref known = builtin(name, arguments)) return known;
    const Ref out = heap_->make(Kind::call, name);
    out->items = std::move(arguments.items);
    out->keys = std::move(arguments.keys);
    out->places = std::move(arguments.places);
    out->place = place;
    out->level = level_;
    if (is_trainer(*out)) trainers_.push_back(out);
    const std::string_view method = last_name(name);
    if (method == "setattr" && out->items.size() == 3 && out->items[1]->is(Kind::text))
        set_attribute(out->items[0], out->items[1]->text, out->items[2], place);
    // Both return what they are given: unsloth/models/llama.py for_training, unsloth_zoo/dataset_utils.py.
    const Ref first = out->find("0") ? out->find("0") : out->find("model") ? out->find("model") : out->find("trainer");
    if ((method == "for_training" || method == "train_on_responses_only") && first) return first;
    const bool pair = name.find("Fast") != std::string::npos && method == "from_pretrained";
    if (!pair) return out;
    const Ref tokenizer = heap_->make(Kind::part, "tokenizer");
    tokenizer->owner = out;
    const Ref both = heap_->make(Kind::list, "()");
    both->level = level_;
    both->items = {out, tokenizer};
    return both;
}

Ref Evaluator::call_method(Ref base, const std::string& method, Arguments arguments, Place place) {
    if (base->is(Kind::type)) {
        const Ref found = base->find(method);
        return found ? call_object(found, std::move(arguments), place)
                     : heap_->unknown(fmt::format("it is the result of {}()", method));
    }
    if (base->is(Kind::list) || base->is(Kind::dict) || base->is(Kind::text))
        return container_method(base, method, arguments);
    if (base->is(Kind::unknown))
        return heap_->unknown(fmt::format("it is the result of {}() in line {}", method, place.line));
    if (base->is(Kind::call) && base->type)
        if (const Ref own = base->type->find(method); own && own->is(Kind::function))
            return call_function(own, base, arguments);
    if (!base->is(Kind::call) && !base->is(Kind::part))
        return heap_->unknown(fmt::format("it is the result of {}() in line {}", method, place.line));
    const Ref owner = base->is(Kind::part) ? base->owner : base;
    const std::string path = base->is(Kind::part) ? fmt::format("{}.{}", base->text, method) : method;
    if (path.size() > 200) return heap_->unknown("its name is too long");
    owner->effects.push_back({path, as_dict(std::move(arguments)), place});
    if (path == "train" && is_trainer(*owner) && on_train) on_train(context, owner);
    if (base->is(Kind::call) && is_one_of(method, kGivesItself) && !is_trainer(*owner)) return base;
    const Ref out = heap_->make(Kind::part, fmt::format("{}()", path));
    out->owner = owner;
    return out;
}

}  // namespace vramfit::trainers::python
