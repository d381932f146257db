// Casting of arguments under autocast.
#include "engine/autocast.hpp"

#include "engine/ops/copy.hpp"

namespace vramfit::engine {

namespace {

/// cached_cast: only casts of trainable fp32 leaves are remembered.
Tensor cached_cast(const Tensor& t, DType dtype) {
    if (!t.defined() || !is_floating(t.dtype()) || t.dtype() == DType::float64 || t.dtype() == dtype) return t;
    Autocast& autocast = t.session().autocast;
    const bool cacheable = autocast.remembers && dtype == autocast.dtype && t.dtype() == DType::float32 &&
                           t.requires_grad() && t.is_leaf() && !t->is_view;
    if (!cacheable) return to(t, dtype);
    CastCache& cache = autocast.cache;
    const auto found = cache.places.find(t.get());
    if (found != cache.places.end()) return cache.casts[found->second].second;
    // Made with gradients even inside of no_grad, so that whoever uses it later has them (as torch 2.11 and later do).
    const GradMode with_gradients(t.session(), true);
    Tensor cast = to(t, dtype);
    cache.places.emplace(t.get(), cache.casts.size());
    cache.casts.emplace_back(t, cast);
    return cast;
}

}  // namespace

Tensor autocast_to_lower(const Tensor& t) {
    if (!t.defined() || !t.session().autocast.enabled) return t;
    return cached_cast(t, t.session().autocast.dtype);
}

Tensor autocast_to_float32(const Tensor& t) {
    if (!t.defined() || !t.session().autocast.enabled) return t;
    return cached_cast(t, DType::float32);
}

AutocastScope::AutocastScope(Session& session, bool enabled, DType dtype)
    : session_(session), old_enabled_(session.autocast.enabled), old_dtype_(session.autocast.dtype) {
    session.autocast.enabled = enabled;
    session.autocast.dtype = dtype;
    ++session.autocast.nesting[static_cast<int>(session.thread)];
}

AutocastScope::~AutocastScope() {
    int& nesting = session_.autocast.nesting[static_cast<int>(session_.thread)];
    if (--nesting == 0) session_.autocast.cache = {};
    session_.autocast.enabled = old_enabled_;
    session_.autocast.dtype = old_dtype_;
}

}  // namespace vramfit::engine
