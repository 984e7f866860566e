// Loads the compiled library in an interpreter, where there is no linker: to be included in a
// notebook's first cell, alone. Elsewhere it is empty.
#pragma once

#if defined(__CLING__)
#pragma cling load("xtape")
#elif defined(__CLANG_REPL__)
extern "C" void* dlopen(const char* file, int mode);
namespace xtape::detail {
inline void* const loaded = dlopen("libxtape.so", 0x102);  // RTLD_NOW | RTLD_GLOBAL
}
#endif
