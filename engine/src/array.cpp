// Arrays: making, viewing and reading them.
#include <xtape/array.hpp>

#include <algorithm>
#include <cmath>
#include <new>
#include <stdexcept>
#include <string>

#include "memory.hpp"
#include "xt.hpp"

namespace xtape {
namespace detail {

namespace {

template <class E>
Body<E>* new_body() {
  static_assert(sizeof(Body<E>) <= kBlockBytes, "a body must fit into a block");
  return ::new (allocate_block()) Body<E>;
}

template <class E>
std::size_t bytes_of(const Body<E>& body) noexcept {
  return static_cast<std::size_t>(body.size) * sizeof(E);
}

/// A body of its own values, not yet filled.
template <class E>
Body<E>* new_body(const Dims& shape) {
  Body<E>* body = new_body<E>();
  body->shape = shape;
  body->strides.resize(shape.rank());
  for (int i = shape.rank() - 1; i >= 0; --i) {
    body->strides[i] = body->size;
    body->size *= shape[i];
  }
  body->data = body->local;
  if (body->size > static_cast<std::int64_t>(Body<E>::kLocal)) {
    try {
      body->data = static_cast<E*>(allocate_values(bytes_of(*body)));
    } catch (...) {
      free_block(body);
      throw;
    }
  }
  poison(const_cast<E*>(body->data), bytes_of(*body));
  return body;
}

template <class E>
void measure(const Nested<E>& item, Shape& shape) {
  if (item.leaf()) return;
  shape.push_back(static_cast<std::int64_t>(item.items().size()));
  // The first of each list tells the shape; flatten checks the others.
  if (!item.items().empty()) measure(item.items()[0], shape);
}

template <class E>
void flatten(const Nested<E>& item, std::size_t depth, const Shape& shape, std::vector<E>& values) {
  const bool leaf_expected = depth == shape.size();
  if (item.leaf() != leaf_expected ||
      (!leaf_expected && static_cast<std::int64_t>(item.items().size()) != shape[depth]))
    fail("Tensor", "a nested list that begins like shape ", shape,
         " is ragged: all lists at one depth must be equally long.");
  if (item.leaf()) values.push_back(item.value());
  for (const Nested<E>& below : item.items()) flatten(below, depth + 1, shape, values);
}

}  // namespace

template <class E>
void destroy(Body<E>* body) noexcept {
  if (Body<E>* owner = body->owner) {  // an owner is never a view: no recursion beyond this
    if (release(*owner)) destroy(owner);
  } else if (body->data != body->local) {
    free_values(const_cast<E*>(body->data), bytes_of(*body));
  }
  body->~Body<E>();
  free_block(body);
}

template <class E>
Body<E>* scalar(E value) {
  Body<E>* body = new_body<E>();
  body->data = body->local;
  body->local[0] = value;
  return body;
}

template <class E>
Fresh<E> fresh(const Dims& shape) {
  Body<E>* body = new_body<E>(shape);
  return {Array<E>::adopt(body), const_cast<E*>(body->data)};
}

template <class E>
Array<E> view(const Array<E>& x, const Dims& shape, const Dims& strides, std::int64_t offset) {
  Body<E>* base = x.raw();
  Body<E>* body = new_body<E>();
  body->shape = shape;
  body->strides = strides;
  body->size = size_of(shape);
  body->contiguous = is_contiguous(shape, strides);
  body->data = base->data + offset;
  body->owner = base->owner ? base->owner : base;
  body->owner->references.fetch_add(1, std::memory_order_relaxed);
  return Array<E>::adopt(body);
}

}  // namespace detail

using namespace detail;

template <class E>
Array<E>::Array(const Shape& shape, const std::vector<E>& values) {
  const Dims dims = to_dims(shape, "Tensor");
  const auto given = static_cast<std::int64_t>(values.size());
  if (size_of(dims) != given)
    fail("Tensor", values_text(given), " for shape ", shape, ": it needs ", size_of(dims), ".");
  auto made = fresh<E>(dims);
  std::copy(values.begin(), values.end(), made.data);
  *this = std::move(made.array);
}

template <class E>
Array<E>::Array(std::initializer_list<Nested<E>> items) {
  const Nested<E> list(items);
  Shape shape;
  std::vector<E> values;
  measure(list, shape);
  flatten(list, 0, shape, values);
  *this = Array(shape, values);
}

template <class E>
Shape Array<E>::shape() const {
  return to_shape(body(*this, "shape").shape);
}

template <class E>
std::vector<std::int64_t> Array<E>::strides() const {
  return to_shape(body(*this, "strides").strides);
}

template <class E>
std::int64_t Array<E>::dim(Axis axis) const {
  const Dims& shape = body(*this, "dim").shape;
  return shape[normalize(axis, shape.rank(), "dim")];
}

template <class E>
std::vector<E> Array<E>::values() const {
  const Body<E>& x = body(*this, "values");
  std::vector<E> result(static_cast<std::size_t>(x.size));
  read_values(x, [&](auto from) { std::copy_n(from, x.size, result.begin()); });
  return result;
}

template <class E>
E Array<E>::item() const {
  const Body<E>& x = body(*this, "item");
  if (x.size != 1)
    fail("item", "shape ", x.shape, " has ", x.size, " values: exactly one is required.");
  return x.data[0];
}

template <class E>
E Array<E>::at(const std::vector<std::int64_t>& position) const {
  const Body<E>& x = body(*this, "at");
  if (static_cast<int>(position.size()) != x.shape.rank())
    fail("at", "position ", position, " in shape ", x.shape, ": one number an axis is required.");
  std::int64_t offset = 0;
  for (int i = 0; i < x.shape.rank(); ++i) {
    const std::int64_t given = position[static_cast<std::size_t>(i)];
    const std::int64_t at = given < 0 ? given + x.shape[i] : given;
    if (at < 0 || at >= x.shape[i])
      fail("at", "position ", position, " in shape ", x.shape, ": it must lie inside.");
    offset += at * x.strides[i];
  }
  return x.data[offset];
}

#define XTAPE_INSTANTIATE(E)                                                       \
  template class Array<E>;                                                         \
  namespace detail {                                                               \
  template void destroy(Body<E>*) noexcept;                                        \
  template Body<E>* scalar(E);                                                     \
  template Fresh<E> fresh(const Dims&);                                            \
  template Array<E> view(const Array<E>&, const Dims&, const Dims&, std::int64_t); \
  }
XTAPE_INSTANTIATE(float)
XTAPE_INSTANTIATE(double)
XTAPE_INSTANTIATE(bool)
XTAPE_INSTANTIATE(std::int64_t)
#undef XTAPE_INSTANTIATE

}  // namespace xtape
