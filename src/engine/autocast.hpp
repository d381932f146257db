// torch.autocast: which operators cast, and the cache of weight casts.
// Source: torch 2.11 ATen/autocast_mode.cpp cached_cast, autocast_mode.h operator lists.
#pragma once

#include "engine/session.hpp"

namespace vramfit::engine {

/// The argument of an operator of the lower-precision list.
Tensor autocast_to_lower(const Tensor& t);
/// The argument of an operator of the fp32 list.
Tensor autocast_to_float32(const Tensor& t);

/// `with torch.autocast(...)`: leaving the outermost one on a thread empties the cache.
class AutocastScope {
  public:
    AutocastScope(Session& session, bool enabled, DType dtype);
    AutocastScope(const AutocastScope&) = delete;
    AutocastScope& operator=(const AutocastScope&) = delete;
    ~AutocastScope();

  private:
    Session& session_;
    bool old_enabled_;
    DType old_dtype_;
};

}  // namespace vramfit::engine
