// Recycled memory for the small objects of a session: tensors, storages, nodes.
#pragma once

#include <memory>
#include <new>
#include <utility>
#include <vector>

namespace vramfit::engine {

/// Hands out objects of one type from chunks that live as long as the pool. Every object must be recycled before.
template <class T>
class Pool {
  public:
    template <class... Args>
    T* make(Args&&... args) {
        if (!free_) grow();
        Slot* slot = std::exchange(free_, free_->next);
        return new (slot->bytes) T(std::forward<Args>(args)...);
    }
    void recycle(T* object) {
        object->~T();
        auto* slot = reinterpret_cast<Slot*>(object);
        slot->next = free_;
        free_ = slot;
    }

  private:
    union Slot {
        Slot* next;
        alignas(T) unsigned char bytes[sizeof(T)];
    };
    static constexpr std::size_t kChunk = 64;

    void grow() {
        chunks_.emplace_back(new Slot[kChunk]);
        for (std::size_t i = kChunk; i-- > 0;) {
            chunks_.back()[i].next = free_;
            free_ = &chunks_.back()[i];
        }
    }

    std::vector<std::unique_ptr<Slot[]>> chunks_;
    Slot* free_ = nullptr;
};

}  // namespace vramfit::engine
