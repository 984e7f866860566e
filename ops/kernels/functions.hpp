// What the elementwise kernels compute, for numbers and for vectors of them.
#pragma once

#include "simd.hpp"

namespace xtape::detail {
namespace {

struct Add {
  template <class V>
  V operator()(V x, V y) const {
    return x + y;
  }
};
struct Sub {
  template <class V>
  V operator()(V x, V y) const {
    return x - y;
  }
};
struct Mul {
  template <class V>
  V operator()(V x, V y) const {
    return x * y;
  }
};
struct Div {
  template <class V>
  V operator()(V x, V y) const {
    return x / y;
  }
};
struct Chain {
  template <class V>
  V operator()(V x, V y) const {
    return xsimd::select(x == V(0), V(0), x * y);
  }
};

}  // namespace
}  // namespace xtape::detail
