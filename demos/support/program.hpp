// What the demos' main functions share: options by CLI11, one clear line for whatever goes wrong,
// and files that are written whole or not at all.
//
// Exit codes: 0 all is well, 1 a result is wrong, 2 the user can mend it.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <system_error>
#include <xtape/trace.hpp>

#include "error.hpp"

#ifdef _WIN32
#include <io.h>
#else
#include <unistd.h>
#endif

namespace demo {

/// True when somebody watches standard output.
inline bool on_terminal() {
#ifdef _WIN32
  return _isatty(_fileno(stdout)) != 0;
#else
  return isatty(STDOUT_FILENO) != 0;
#endif
}

/// Parses the options, then returns body().
template <class Body>
int run(CLI::App& app, int argc, const char* const* argv, const Body& body) {
  const auto complain = [&](const std::string& text, int code) {
    std::cout.flush();
    std::cerr << app.get_name() << ": " << text << '\n';
    return code;
  };
  try {
    app.parse(argc, argv);
    const int code = body();
    const bool written = std::cout.flush() && std::fflush(stdout) == 0 && !std::ferror(stdout);
    return written ? code : complain("cannot write to standard output", 2);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help
    return complain(std::string(error.what()) + " (--help lists the options)", 2);
  } catch (const UserError& error) {
    return complain(error.what(), 2);
  } catch (const std::exception& error) {
    return complain(error.what(), 1);
  }
}

inline std::string read_file(const std::string& path) {
  if (std::filesystem::is_directory(path)) throw UserError(path + " is a directory, not a file");
  std::ifstream in(path, std::ios::binary);
  if (!in) throw UserError("cannot open " + path + ": " + last_system_error());
  try {
    return {std::istreambuf_iterator<char>(in), {}};
  } catch (const std::ios_base::failure&) {
    throw UserError("cannot read " + path + ": " + last_system_error());
  }
}

/// Writes beside `path` first, so that a file of that name is never half written.
inline void write_file(const std::filesystem::path& path, const std::string& text) {
  std::filesystem::path unfinished = path;
  unfinished += ".tmp";
  std::ofstream out(unfinished, std::ios::binary);
  if (!(out << text) || (out.close(), !out))
    throw UserError("cannot write " + unfinished.string() + ": " + last_system_error());
  std::error_code error;
  std::filesystem::rename(unfinished, path, error);
  if (error) throw UserError("cannot write " + path.string() + ": " + error.message());
}

/// --trace FILE
inline void add_trace_option(CLI::App& app, std::string& file) {
  app.add_option("--trace", file, "File for a page that steps through a tape of this program");
}

/// Writes the page of a tape, where one was asked for.
template <class T>
void write_trace(const std::string& file, xtape::Tape<T>& tape, const xtape::Tensor<T>& target,
                 const std::string& title) {
  if (!file.empty()) write_file(file, xtape::trace(tape, target, title));
}

}  // namespace demo
