// Files of weights in the safetensors format, which PyTorch, JAX and others read and write.
//
//   save_safetensors("model.safetensors", model, {{"step", "1000"}});
//   auto [model, metadata] = load_safetensors<float>("model.safetensors");
#pragma once

#include <map>
#include <string>

#include <xtape/parameters.hpp>

namespace xtape {

/// What a file holds.
template <class T>
struct SafeTensors {
  Parameters<T> values;
  std::map<std::string, std::string> metadata;
};

/// Writes the values in the order of the list, as F32 or F64. The file appears whole or not at all,
/// and is on the disk when this returns: whatever happens meanwhile, what was at the path stays
/// until then.
/// Throws: std::invalid_argument, before anything is written, for two parameters of one name, one
/// named `__metadata__`, or a text that is not UTF-8; std::runtime_error that names the file when
/// it cannot be written. Source: the format's description, github.com/huggingface/safetensors
template <class T>
XTAPE_API void save_safetensors(const std::string& path, const Parameters<T>& values,
                                const std::map<std::string, std::string>& metadata = {});

/// Reads a file of F32 for a float, of F64 for a double: what save_safetensors wrote, in the same
/// order, and other files in the order of their data. (The Python package sorts by name.)
/// Throws: std::runtime_error that names the file and the reason when it cannot be read, is none of
/// the format, has values of another type, or tensors that overlap, leave gaps, or have not the
/// size of their shape. Memory is allocated only when all of that has been checked.
template <class T>
XTAPE_API SafeTensors<T> load_safetensors(const std::string& path);

}  // namespace xtape
