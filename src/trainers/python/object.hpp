// What is known about the values of a script without running it.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "trainers/python/syntax.hpp"

namespace vramfit::trainers::python {

struct Object;
using Ref = Object*;

/// A method that was called on an object, or an attribute of a part of it that was set.
struct Effect {
    std::string name;  ///< "gradient_checkpointing_enable", "config.use_cache"
    Ref value;         ///< arguments as a dict; what was assigned
    Place place;
};

struct Object {
    enum class Kind : unsigned char {
        none,
        truth,
        integer,
        real,
        text,
        list,
        dict,
        call,        ///< what a call outside of the script gives, and instances of its classes: text(keys = items)
        dotted,      ///< a name from outside: "torch.bfloat16"
        function,    ///< of the script
        type,        ///< a class of the script, its attributes by keys
        part,        ///< something that belongs to owner, such as model.config
        capability,  ///< torch.cuda.get_device_capability()
        major,       ///< its first number
        unknown      ///< text: why
    };

    Kind kind = Kind::unknown;
    bool truth = false;
    std::int64_t integer = 0;
    double real = 0;
    std::string text;
    Place place;  ///< call: where it stands
    std::vector<Ref> items;
    std::vector<std::string> keys;  ///< dict, call, type; positional arguments are called "0", "1"
    std::vector<Place> places;      ///< call: of the arguments
    Ref owner = nullptr;
    Ref type = nullptr;  ///< call: the script's class
    const Statement* code = nullptr;
    std::vector<Effect> effects;
    int level = 0;  ///< under so many conditions that are not known it was made

    bool is(Kind wanted) const { return kind == wanted; }
    Ref find(std::string_view key) const {
        for (std::size_t i = 0; i < keys.size(); ++i)
            if (keys[i] == key) return items[i];
        return nullptr;
    }
    Place place_of(std::string_view key) const {
        for (std::size_t i = 0; i < keys.size() && i < places.size(); ++i)
            if (keys[i] == key) return places[i];
        return place;
    }
};

using Kind = Object::Kind;

/// All objects of a script; they live as long as it is read, so that they may refer to each other in circles.
class Heap {
  public:
    Ref make(Object::Kind kind, std::string text = {}) {
        all_.emplace_back();
        all_.back().kind = kind;
        all_.back().text = std::move(text);
        return &all_.back();
    }
    Ref unknown(std::string why) { return make(Object::Kind::unknown, std::move(why)); }
    Ref truth(bool value) {
        const Ref out = make(Object::Kind::truth);
        out->truth = value;
        return out;
    }
    Ref integer(std::int64_t value) {
        const Ref out = make(Object::Kind::integer);
        out->integer = value;
        out->real = static_cast<double>(value);
        return out;
    }
    Ref real(double value) {
        const Ref out = make(Object::Kind::real);
        out->real = value;
        return out;
    }

  private:
    std::deque<Object> all_;
};

/// The last part of a dotted name.
inline std::string_view last_name(std::string_view name) { return name.substr(name.rfind('.') + 1); }

/// Whether both are known to be the same.
bool are_equal(const Object& a, const Object& b, int depth = 0);

}  // namespace vramfit::trainers::python
