// XTAPE_API marks what the library exports; everything else stays hidden inside it.
#pragma once

#if defined(XTAPE_STATIC)
#define XTAPE_API
#elif defined(_WIN32)
#if defined(XTAPE_BUILDING)
#define XTAPE_API __declspec(dllexport)
#else
#define XTAPE_API __declspec(dllimport)
#endif
#else
#define XTAPE_API __attribute__((visibility("default")))
#endif
