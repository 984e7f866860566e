// libtorch's part in compare.sh: chains of 1000 recorded ops, from C++.
#include <torch/torch.h>

#include "serve.hpp"

namespace {

using torch::Tensor;

Case make(const Request& r) {
  const auto type = torch::dtype(r.dtype == "f32" ? torch::kFloat32 : torch::kFloat64);
  const Tensor one = torch::ones(r.shape, type), c = torch::full(r.shape, 1.0001, type);
  const auto chain = [&](auto step) -> Case {
    const auto run = [=] {
      const Tensor x = one.detach().requires_grad_();
      Tensor y = x;
      for (int i = 0; i < 1000; ++i) y = step(y, x);
      return torch::autograd::grad({y}, {x}, {one})[0];
    };
    return {[=] { run(); }, [](const std::string&) {}};
  };
  if (r.op == "chain_mul_constant") return chain([=](auto& y, auto&) { return y * c; });
  if (r.op == "chain_add_constant") return chain([=](auto& y, auto&) { return y + c; });
  if (r.op == "chain_mul_variable") return chain([](auto& y, auto& x) { return y * x; });
  if (r.op == "chain_add_variable") return chain([](auto& y, auto& x) { return y + x; });
  throw std::invalid_argument("there is no op " + r.op);
}

}  // namespace

int main() { return serve(std::string("libtorch ") + TORCH_VERSION, make); }
