// Methods of a script's texts, dicts and lists.
#include <algorithm>
#include <cctype>

#include <fmt/format.h>

#include "trainers/python/evaluate.hpp"

namespace vramfit::trainers::python {

namespace {

std::string key_of(Ref key) { return key->is(Kind::integer) ? std::to_string(key->integer) : key->text; }

}  // namespace

Ref Evaluator::text_method(Ref base, const std::string& method, Ref first) {
    if (method == "format" || method == "join")
        return heap_->unknown(fmt::format("it is put together in line {}", here_.line));
    if (method == "lower" || method == "strip" || method == "upper") {
        std::string out = base->text;
        for (char& c : out)
            c = static_cast<char>(method == "lower" ? std::tolower(c) : method == "upper" ? std::toupper(c) : c);
        return method == "strip" && out.find_first_of(" \t\n") != std::string::npos
                   ? heap_->unknown("strip() is not followed")
                   : heap_->make(Kind::text, out);
    }
    if ((method == "startswith" || method == "endswith") && first && first->is(Kind::text))
        return heap_->truth(method == "endswith" ? base->text.ends_with(first->text)
                                                 : base->text.starts_with(first->text));
    return heap_->unknown(fmt::format("{}() of a text is not followed", method));
}

/// get and pop.
Ref Evaluator::dict_get(Ref base, const std::string& method, const Arguments& arguments) {
    const std::string key = key_of(arguments.items[0]);
    const Ref second = arguments.items.size() > 1 ? arguments.items[1] : nullptr;
    const Ref found = base->find(key);
    const bool unclear = std::any_of(base->keys.begin(), base->keys.end(),
                                     [](const std::string& each) { return each.starts_with("**"); });
    const Ref out = found     ? found
                    : unclear ? heap_->unknown("the dict is not known as a whole")
                    : second  ? second
                              : heap_->make(Kind::none);
    if (method != "pop" || !found) return out;
    if (level_ > base->level) {
        set_key(base, key, heap_->unknown("it may be taken out"), here_);
        return out;
    }
    const auto at = std::find(base->keys.begin(), base->keys.end(), key) - base->keys.begin();
    base->keys.erase(base->keys.begin() + at);
    base->items.erase(base->items.begin() + at);
    if (at < static_cast<std::ptrdiff_t>(base->places.size())) base->places.erase(base->places.begin() + at);
    return out;
}

Ref Evaluator::dict_update(Ref base, const Arguments& arguments) {
    for (std::size_t i = 0; i < arguments.keys.size(); ++i) {
        const Ref value = arguments.items[i];
        if (arguments.keys[i] != "0")
            set_key(base, arguments.keys[i], value, arguments.places[i]);
        else if (value->is(Kind::dict))
            for (std::size_t k = 0; k < value->items.size() && value != base; ++k)
                set_key(base, value->keys[k], value->items[k], here_);
        else
            set_key(base, "**update", heap_->unknown(fmt::format("update() in line {}", here_.line)), here_);
    }
    return heap_->make(Kind::none);
}

/// append and extend.
Ref Evaluator::list_append(Ref base, const std::string& method, Ref first) {
    if (method == "append") {
        base->items.push_back(first);
    } else if (first->is(Kind::list)) {
        const std::vector<Ref> more = first->items;
        count(more.size());
        base->items.insert(base->items.end(), more.begin(), more.end());
    } else {
        base->items.push_back(heap_->unknown("extend() with what is not known"));
    }
    return heap_->make(Kind::none);
}

Ref Evaluator::container_method(Ref base, const std::string& method, const Arguments& arguments) {
    const Ref first = arguments.items.empty() ? nullptr : arguments.items[0];
    const bool text_first = first && (first->is(Kind::text) || first->is(Kind::integer));
    if (base->is(Kind::text)) return text_method(base, method, first);
    if (base->is(Kind::dict) && (method == "get" || method == "pop") && text_first)
        return dict_get(base, method, arguments);
    if (base->is(Kind::dict) && method == "copy") {
        const Ref out = heap_->make(Kind::dict);
        out->level = level_;
        out->items = base->items;
        out->keys = base->keys;
        out->places = base->places;
        count(out->items.size());
        return out;
    }
    if (base->is(Kind::dict) && method == "update") return dict_update(base, arguments);
    if (base->is(Kind::list) && (method == "append" || method == "extend") && first && level_ <= base->level)
        return list_append(base, method, first);
    if (base->is(Kind::list) && (method == "copy" || method == "index" || method == "count"))
        return method == "copy" ? builtin("list", {{base}, {"0"}, {here_}}) : heap_->unknown("it is not followed");
    // Anything else may change it.
    if (base->is(Kind::list))
        base->items.assign(1, heap_->unknown(fmt::format("{}() in line {} may change the list", method, here_.line)));
    if (base->is(Kind::dict) && method != "items" && method != "keys" && method != "values")
        set_key(base, "**" + method,
                heap_->unknown(fmt::format("{}() in line {} may change the dict", method, here_.line)), here_);
    return heap_->unknown(fmt::format("it is the result of {}() in line {}", method, here_.line));
}

}  // namespace vramfit::trainers::python
