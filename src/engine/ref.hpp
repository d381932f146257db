// An intrusive reference count, the analogue of c10::intrusive_ptr.
#pragma once

#include <cstdint>
#include <utility>

namespace vramfit::engine {

/// Owner of a `T`. `hold(T*)` counts up; `drop(T*)` counts down and destroys at zero: T may be incomplete here.
template <class T>
class Ref {
  public:
    Ref() = default;
    explicit Ref(T* object) : object_(object) {
        if (object_) hold(object_);
    }
    Ref(const Ref& other) : Ref(other.object_) {}
    Ref(Ref&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
    Ref& operator=(const Ref& other) {
        Ref copy(other);
        std::swap(object_, copy.object_);
        return *this;
    }
    Ref& operator=(Ref&& other) noexcept {
        // The old object dies before the assignment ends, as in Python's rebinding of a name.
        Ref old(std::move(other));
        std::swap(object_, old.object_);
        return *this;
    }
    ~Ref() { reset(); }

    void reset() {
        T* object = std::exchange(object_, nullptr);
        if (object) drop(object);
    }
    T* get() const { return object_; }
    T* operator->() const { return object_; }
    T& operator*() const { return *object_; }
    explicit operator bool() const { return object_ != nullptr; }
    friend bool operator==(const Ref& a, const Ref& b) { return a.object_ == b.object_; }

  private:
    T* object_ = nullptr;
};

}  // namespace vramfit::engine
