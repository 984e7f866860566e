// The processes that `mpirun -n N` started, which train one model together: each takes its windows
// of a batch, and the gradients are averaged. Without MPI there is one.
#pragma once

#include <vector>
#include <xtape/tensor.hpp>

namespace tiny_lm {

class Ranks {
 public:
  /// Starts MPI, where the program was built with it. Once in a program.
  Ranks();
  ~Ranks();
  Ranks(const Ranks&) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }
  /// One of them writes files and talks.
  bool first() const { return rank_ == 0; }

  /// Replaces each value by its mean over the ranks, the same bits for all of them. Every rank must
  /// call it, with as many values.
  void average(std::vector<double>& values) const;
  template <class T>
  void average(std::vector<xtape::Tensor<T>>& tensors) const;

  /// Ends the other ranks too, which would wait for this one for ever.
  void give_up(int code) const;

 private:
  int rank_ = 0, size_ = 1;
};

}  // namespace tiny_lm
