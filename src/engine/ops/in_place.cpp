// In-place operators (torch 2.11 tools/autograd/gen_variable_type.py: what a formula needs of `self` is cloned first).
#include "engine/ops/in_place.hpp"

#include "engine/ops/copy.hpp"
#include "engine/ops/pointwise.hpp"
#include "engine/ops/pointwise_backward.hpp"
#include "engine/session.hpp"

namespace vramfit::engine {

void add_in_place(const Tensor& a, const Tensor& b) {
    if (!needs_grad(a, b)) return;
    const Ref<Node> node = make_node(a.session(), kAddBackward);
    add_edge(*node, a);
    add_edge(*node, b);
    set_history(a, node);
}

void add_in_place(const Tensor& a) {
    if (!needs_grad(a)) return;
    const Ref<Node> node = make_node(a.session(), kPassBackward);
    add_edge(*node, a);
    set_history(a, node);
}

void div_in_place(const Tensor& a, const Tensor& b) {
    if (!needs_grad(a, b)) return;
    const Ref<Node> node = make_node(a.session(), kDivBackward);
    add_edge(*node, a);
    add_edge(*node, b);
    node->save(b.requires_grad() ? clone(detach(a)) : Tensor());
    node->save(b);
    set_history(a, node);
}

void masked_fill_in_place(const Tensor& a, const Tensor& mask) {
    if (!needs_grad(a)) return;
    const Ref<Node> node = make_node(a.session(), kMaskedFillBackward);
    add_edge(*node, a);
    node->save(mask);
    set_history(a, node);
}

}  // namespace vramfit::engine
