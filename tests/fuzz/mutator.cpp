// Changes an input, and mostly lets its first 8 bytes say where the header ends: else hardly any
// would pass the first check.
#include <cstddef>
#include <cstdint>

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max);

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t max, unsigned seed) {
  size = LLVMFuzzerMutate(data, size, max);
  if (seed % 8 == 0 || size < 10) return size;
  std::size_t length = size - 8;
  while (length > 1 && data[8 + length - 1] != '}') --length;
  for (int i = 0; i < 8; ++i) data[i] = static_cast<std::uint8_t>(length >> 8 * i & 255);
  return size;
}
