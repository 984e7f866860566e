// The ranks by MPI, or without it.
#include "ranks.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#ifdef TINY_LM_MPI
#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>
#endif

namespace tiny_lm {

using namespace xtape;

#ifdef TINY_LM_MPI

namespace {

/// True in a process that Open MPI's or MPICH's mpirun started. To start MPI takes a while, and
/// another process: a program of its own can do without.
bool by_mpirun() {
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_RANK"})
    if (std::getenv(name)) return true;
  return false;
}

}  // namespace

Ranks::Ranks() {
  if (!by_mpirun()) return;
  MPI_Init(nullptr, nullptr);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  MPI_Comm_size(MPI_COMM_WORLD, &size_);
}
Ranks::~Ranks() {
  if (by_mpirun()) MPI_Finalize();
}
void Ranks::give_up(int code) const {
  if (size_ > 1) MPI_Abort(MPI_COMM_WORLD, code);
}

namespace {

// An error of MPI's, such as a rank that is gone, ends all ranks: that is its default.
void sum(float* values, int count) {
  MPI_Allreduce(MPI_IN_PLACE, values, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
}
void sum(double* values, int count) {
  MPI_Allreduce(MPI_IN_PLACE, values, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

}  // namespace

#else

Ranks::Ranks() = default;
Ranks::~Ranks() = default;
void Ranks::give_up(int) const {}

namespace {

template <class T>
void sum(T*, int) {}

}  // namespace

#endif

namespace {

/// In pieces, since MPI counts in int.
template <class T>
void average_values(std::vector<T>& values, int ranks) {
  constexpr std::size_t kPiece = std::size_t{1} << 24;
  for (std::size_t i = 0; i < values.size(); i += kPiece)
    sum(values.data() + i, static_cast<int>(std::min(kPiece, values.size() - i)));
  for (T& v : values) v /= static_cast<T>(ranks);
}

}  // namespace

void Ranks::average(std::vector<double>& values) const {
  if (size_ > 1) average_values(values, size_);
}

template <class T>
void Ranks::average(std::vector<Tensor<T>>& tensors) const {
  if (size_ == 1) return;
  std::vector<T> all;  // one message costs less than one for each tensor
  for (const Tensor<T>& x : tensors) {
    const std::vector<T> values = x.values();
    all.insert(all.end(), values.begin(), values.end());
  }
  average_values(all, size_);
  auto from = all.begin();
  for (Tensor<T>& x : tensors) {
    const auto to = from + static_cast<std::ptrdiff_t>(x.size());
    x = Tensor<T>(x.shape(), {from, to});
    from = to;
  }
}

template void Ranks::average(std::vector<Tensor<float>>&) const;
template void Ranks::average(std::vector<Tensor<double>>&) const;

}  // namespace tiny_lm
