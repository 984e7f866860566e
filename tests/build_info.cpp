// Prints what runs here, or why nothing does.
#include <exception>
#include <iostream>

#include <xtape/build_info.hpp>

int main() {
  try {
    std::cout << xtape::build_info();
  } catch (const std::exception& e) {
    std::cout << e.what() << '\n';
    return 1;
  }
}
