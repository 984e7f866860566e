// What the elementwise kernels compute, for numbers and for vectors of them.
#pragma once

#include "exp.hpp"
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
    return divide(x, y);
  }
};
struct Chain {
  template <class V>
  V operator()(V x, V y) const {
    return xsimd::select(x == V(0), V(0), x * y);
  }
};

struct Neg {
  template <class V>
  V operator()(V x) const {  // by the sign's bit: xsimd 8.1 has 0 - x for AVX-512, so -0 was +0
    using T = typename V::value_type;
    return from_bits<T, typename V::arch_type>(to_bits(x) ^ Format<T>::kSign);
  }
};
struct Abs {
  template <class V>
  V operator()(V x) const {
    return magnitude(x);
  }
};
struct Relu {
  template <class V>
  V operator()(V x) const {
    return xsimd::select(x <= V(0), V(0), x);
  }
};
struct Sqrt {
  template <class V>
  V operator()(V x) const {
    return square_root(x);
  }
};
struct Square {
  template <class V>
  V operator()(V x) const {
    return x * x;
  }
};

}  // namespace
}  // namespace xtape::detail
