// A vector whose first N elements live inside it.
#pragma once

#include <array>
#include <cstddef>
#include <utility>
#include <vector>

namespace vramfit::engine {

/// Grows like std::vector; no allocation up to N elements. Elements are default-constructible and movable.
template <class T, std::size_t N>
class InlineVector {
  public:
    InlineVector() = default;
    InlineVector(const InlineVector&) = default;
    InlineVector& operator=(const InlineVector&) = default;
    InlineVector(InlineVector&& other) noexcept { take(other); }
    InlineVector& operator=(InlineVector&& other) noexcept {
        if (this != &other) {
            clear();
            take(other);
        }
        return *this;
    }
    ~InlineVector() = default;

    std::size_t size() const { return size_; }
    bool empty() const { return size_ == 0; }
    void push_back(T value) {
        if (size_ < N) {
            inline_[size_++] = std::move(value);
            return;
        }
        if (heap_.empty())
            for (auto& v : inline_) heap_.push_back(std::move(v));
        heap_.push_back(std::move(value));
        ++size_;
    }
    void resize(std::size_t n) {
        if (n <= N && size_ <= n) {  // all inside, and those behind the end are as new
            size_ = n;
            return;
        }
        while (size_ < n) push_back(T{});
        while (size_ > n) pop_back();
    }
    void pop_back() {
        (*this)[size_ - 1] = T{};
        --size_;
        if (!heap_.empty()) heap_.pop_back();
        if (size_ == N && !heap_.empty()) {
            for (std::size_t i = 0; i < N; ++i) inline_[i] = std::move(heap_[i]);
            heap_.clear();
        }
    }
    /// Destroys the elements in order.
    void clear() {
        for (std::size_t i = 0; i < size_; ++i) (*this)[i] = T{};
        heap_.clear();
        size_ = 0;
    }
    T& operator[](std::size_t i) { return heap_.empty() ? inline_[i] : heap_[i]; }
    const T& operator[](std::size_t i) const { return heap_.empty() ? inline_[i] : heap_[i]; }
    T* begin() { return heap_.empty() ? inline_.data() : heap_.data(); }
    T* end() { return begin() + size_; }
    const T* begin() const { return heap_.empty() ? inline_.data() : heap_.data(); }
    const T* end() const { return begin() + size_; }

  private:
    /// Takes over all elements; `other` is as new, and so was this one.
    void take(InlineVector& other) noexcept {
        if (other.heap_.empty())
            for (std::size_t i = 0; i < other.size_; ++i) inline_[i] = std::exchange(other.inline_[i], T{});
        heap_ = std::move(other.heap_);
        other.heap_.clear();
        size_ = std::exchange(other.size_, 0);
    }

    std::array<T, N> inline_{};
    std::vector<T> heap_;
    std::size_t size_ = 0;
};

}  // namespace vramfit::engine
