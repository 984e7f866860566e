// NumPy's .npy files: tensors to and from Python.
#pragma once

#include <string>

#include <xtape/tensor.hpp>

namespace xtape {

/// The array of a .npy file: float32 for a Tensor<float>, float64 for a Tensor<double>, little
/// endian, in C or Fortran order.
/// Throws: std::runtime_error that names the file and the reason when it cannot be read, is no .npy
/// file, holds another type, or has not the size that its header says. Memory is allocated only
/// when all of that has been checked.
/// Source: NEP 1, "A simple file format for NumPy arrays"
template <class T>
XTAPE_API Tensor<T> load_npy(const std::string& path);

/// Writes x in C order. The file appears whole or not at all.
/// Throws: std::runtime_error that names the file when it cannot be written.
template <class T>
XTAPE_API void save_npy(const std::string& path, const Tensor<T>& x);

}  // namespace xtape
