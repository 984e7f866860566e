// Pullback<T>: the rule that turns the cotangent of an op's output into the cotangent of one input.
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

#include <xtape/tensor.hpp>

namespace xtape {

/// A function (g) or (g, y) -> cotangent of the input, where g is the cotangent of the output y.
/// Small captures (24 bytes: three tensors) are held in place, without an allocation.
template <class T>
class Pullback {
 public:
  Pullback() noexcept = default;

  template <class F, std::enable_if_t<!std::is_same_v<std::decay_t<F>, Pullback>, int> = 0>
  Pullback(F&& f) {
    using Function = std::decay_t<F>;
    if constexpr (fits<Function>) {
      ::new (storage_) Function(std::forward<F>(f));
      table_ = &kTable<Function>;
    } else {
      auto boxed = [f = std::make_shared<Function>(std::forward<F>(f))](In<T> g, In<T> y) {
        return call(*f, g, y);
      };
      ::new (storage_) decltype(boxed)(std::move(boxed));
      table_ = &kTable<decltype(boxed), reads_output<Function>>;
    }
  }

  Pullback(Pullback&& other) noexcept : table_(std::exchange(other.table_, nullptr)) {
    if (table_) table_->move(storage_, other.storage_);
  }
  Pullback& operator=(Pullback&& other) noexcept {
    if (this != &other) {
      reset();
      table_ = std::exchange(other.table_, nullptr);
      if (table_) table_->move(storage_, other.storage_);
    }
    return *this;
  }
  ~Pullback() { reset(); }

  explicit operator bool() const noexcept { return table_ != nullptr; }
  /// True when the function names the output, so that its value must be kept.
  bool needs_output() const noexcept { return table_ && table_->needs_output; }
  Tensor<T> operator()(In<T> g, In<T> y) const { return table_->call(storage_, g, y); }

  void reset() noexcept {
    if (table_) std::exchange(table_, nullptr)->destroy(storage_);
  }

 private:
  static constexpr std::size_t kBytes = 24;

  struct Table {
    Tensor<T> (*call)(const void*, In<T> g, In<T> y);
    void (*move)(void* to, void* from) noexcept;
    void (*destroy)(void*) noexcept;
    bool needs_output;
  };

  template <class F>
  static constexpr bool fits =
      sizeof(F) <= kBytes &&
      alignof(F) <= alignof(void*) && std::is_nothrow_move_constructible_v<F>;
  template <class F>
  static constexpr bool reads_output = std::is_invocable_v<const F&, In<T>, In<T>>;

  template <class F>
  static Tensor<T> call(const F& f, In<T> g, In<T> y) {
    if constexpr (reads_output<F>)
      return f(g, y);
    else
      return f(g);
  }
  template <class F>
  static Tensor<T> call_at(const void* at, In<T> g, In<T> y) {
    return call(*static_cast<const F*>(at), g, y);
  }
  template <class F>
  static void move_to(void* to, void* from) noexcept {
    ::new (to) F(std::move(*static_cast<F*>(from)));
    static_cast<F*>(from)->~F();
  }
  template <class F>
  static void destroy_at(void* at) noexcept {
    static_cast<F*>(at)->~F();
  }

  template <class F, bool NeedsOutput = reads_output<F>>
  static constexpr Table kTable{call_at<F>, move_to<F>, destroy_at<F>, NeedsOutput};

  const Table* table_ = nullptr;
  alignas(void*) std::byte storage_[kBytes];
};

}  // namespace xtape
