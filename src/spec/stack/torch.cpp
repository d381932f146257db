// What changed between versions of PyTorch.
#include "vramfit/spec/stack.hpp"

namespace vramfit {

// pytorch#109876 of September 2023: the formula of mean named `self` where only its sizes are needed; the generator
// knows sym_numel from 2.2 on (tools/autograd/load_derivatives.py).
bool Stack::mean_saves_its_input() const { return torch < Version{2, 2, 0}; }

// ATen/cuda/CUDABlas.cpp: up to 2.8 a temporary of each call, from 2.9 one for each handle and stream (pull request
// 156495).
bool Stack::cublaslt_workspace_stays() const { return torch >= Version{2, 9, 0}; }

}  // namespace vramfit
