# Shared by the checks that exchange files with Python: a folder to work in, which goes away, and a
# program with the library. The compiler is $CXX, with $CXXFLAGS and $LDFLAGS; XTAPE_LIBRARY is the
# library.
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd -P) || exit
library=$(realpath "${XTAPE_LIBRARY:?the library}") || exit
work=$(mktemp -d) || exit
trap 'rm -rf "$work"' EXIT
cd "$work" || exit

# find_python MODULES PYTHON...: sets python to the first that has the modules; fails without one.
find_python() {
  for python in "${@:2}"; do
    "$python" -c "import $1" 2>/dev/null && return
  done
  return 1
}

# build_exchange HEADER CODE: makes ./exchange FOLDER, where CODE reads every file of it, `name`, and
# writes name.back, with T float or double by the name; what is said of refused ones goes to name.txt.
build_exchange() {
  cat >exchange.cpp <<CPP
#include <exception>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <xtape/$1>

template <class T>
void exchange(const std::string& name) try {
  $2
} catch (const std::exception& error) {
  std::ofstream(name + ".txt") << error.what() << '\n';
}

int main(int, char** argv) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(argv[1]))
    names.push_back(entry.path().string());
  for (const std::string& name : names) {
    const bool is_float = name.find("/float32-") != std::string::npos;
    is_float ? exchange<float>(name) : exchange<double>(name);
  }
}
CPP
  # shellcheck disable=SC2086
  "${CXX:-c++}" -std=c++17 ${CXXFLAGS-} -I"$root/engine/include" -I"$root/ops/include" \
    exchange.cpp "$library" "-Wl,-rpath,$(dirname "$library")" ${LDFLAGS-} -o exchange
}
