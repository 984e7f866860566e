// NumPy's files: what is written is read again, in every layout; files that are wrong are refused
// before anything is allocated; and a file appears whole or not at all.
#include <doctest/doctest.h>

#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include <xtape/xtape.hpp>

#include "support/allocations.hpp"
#include "support/close.hpp"
#include "support/errors.hpp"
#include "support/files.hpp"

#ifndef _WIN32
#include <unistd.h>
#endif

namespace {

using namespace xtape;
using test::bytes_of;
using test::Folder;
using test::npy;

/// What load_npy<T> says of a file with these bytes: the text behind the file's name.
template <class T = double>
std::string refusal(const std::string& bytes) {
  const Folder folder;
  const std::string path = folder.file("x.npy");
  test::write(path, bytes);
  const std::string text = test::error_of<std::runtime_error>([&] { load_npy<T>(path); });
  const std::string start = "[load_npy] " + path + ": ";
  return text.compare(0, start.size(), start) == 0 ? text.substr(start.size()) : text;
}

std::string dict(const std::string& shape, const std::string& order = "False",
                 const std::string& type = "'<f8'") {
  return "{'descr': " + type + ", 'fortran_order': " + order + ", 'shape': " + shape + ", }";
}

template <class T>
Tensor<T> load(const std::string& bytes) {
  const Folder folder;
  test::write(folder.file("x.npy"), bytes);
  return load_npy<T>(folder.file("x.npy"));
}

constexpr const char* kUnreadable = "has a header that cannot be read.";

}  // namespace

TEST_CASE_TEMPLATE("what save_npy writes load_npy reads to the last bit", T, float, double) {
  const Folder folder;
  const std::string path = folder.file("x.npy");
  const std::vector<Shape> shapes{{},     {0},       {1},          {5},
                                  {2, 3}, {3, 0, 2}, {1, 4, 1, 2}, {1, 2, 1, 2, 1, 2, 1, 2}};
  for (const Shape& shape : shapes) {
    CAPTURE(to_string(shape));
    const auto x = Random(1).normal<T>(shape);
    save_npy(path, x);
    const Tensor<T> read = load_npy<T>(path);
    CHECK(closeness::same_bits(read, x));
    CHECK(read.is_contiguous());
  }
  using Limits = std::numeric_limits<T>;
  const Tensor<T> extremes({6}, {T(-0.0), Limits::infinity(), -Limits::infinity(),
                                 Limits::quiet_NaN(), Limits::denorm_min(), Limits::max()});
  save_npy(path, extremes);
  CHECK(closeness::same_bits(load_npy<T>(path), extremes));
}

TEST_CASE_TEMPLATE("views are written as their copies are", T, float, double) {
  const Folder folder;
  const auto x = Random(2).normal<T>({3, 4});
  const std::vector<Tensor<T>> views{transpose(x), flip(x), slice(x, 1, 1, 4, 2),
                                     broadcast_to(x, {2, 3, 4}), slice(x, 0, 3, 3)};
  for (const Tensor<T>& view : views) {
    save_npy(folder.file("view.npy"), view);
    save_npy(folder.file("copy.npy"), Tensor<T>(view.shape(), view.values()));
    CHECK(test::read(folder.file("view.npy")) == test::read(folder.file("copy.npy")));
    CHECK(closeness::same_bits(load_npy<T>(folder.file("view.npy")), view));
  }
}

TEST_CASE("the bytes of a file are those of version 1 of the format") {
  const Folder folder;
  save_npy(folder.file("x.npy"), Tensor<float>({2, 1}, {1.5f, -2}));
  const std::string header = dict("(2, 1)", "False", "'<f4'");
  CHECK(test::read(folder.file("x.npy")) == std::string("\x93NUMPY\x01\x00\x76\x00", 10) + header +
                                                std::string(117 - header.size(), ' ') + "\n" +
                                                bytes_of<float>({1.5f, -2}));
}

TEST_CASE("what stands at the path is replaced, and a variable is read as a constant") {
  const Folder folder;
  Tape<double> tape;
  test::write(folder.file("x.npy"), std::string(10000, 'x'));
  save_npy(folder.file("x.npy"), tape.variable(Tensor<double>{1, 2}));
  const auto x = load_npy<double>(folder.file("x.npy"));
  CHECK(x.values() == std::vector<double>{1, 2});
  CHECK(test::misuse([&] { tape.line(x); }) != "nothing was thrown");
  CHECK(folder.names() == std::vector<std::string>{"x.npy"});
}

TEST_CASE("all three versions of the header are read, and its keys in any order") {
  const std::vector<double> values{1, 2, 3};
  for (const int version : {1, 2, 3})
    CHECK(load<double>(npy(dict("(3,)"), bytes_of(values), version)).values() == values);
  for (const char* header :
       {"{\"shape\":(3,),\"descr\":\"<f8\",\"fortran_order\":False}\n",
        "{'fortran_order': False, 'shape': (3), 'descr': '<f8', }",
        "  { 'descr' : '<f8' , 'shape' : ( 3 , ) , 'fortran_order' : False } "})
    CHECK(load<double>(npy(header, bytes_of(values))).values() == values);
  CHECK(load<double>(npy(dict("()"), bytes_of<double>({7}))).shape() == Shape{});
}

TEST_CASE_TEMPLATE("Fortran order is read as the same array", T, float, double) {
  const std::string type = sizeof(T) == sizeof(float) ? "'<f4'" : "'<f8'";
  const auto read = [&](const char* shape, const std::vector<T>& values) {
    return load<T>(npy(dict(shape, "True", type), bytes_of(values)));
  };
  const Tensor<T> x = read("(2, 3)", {1, 4, 2, 5, 3, 6});
  CHECK(x.shape() == Shape{2, 3});
  CHECK(x.values() == std::vector<T>{1, 2, 3, 4, 5, 6});
  CHECK(matmul(x, Tensor<T>::eye(3)).values() == x.values());
  CHECK(read("(2, 1, 3)", {1, 4, 2, 5, 3, 6}).values() == x.values());
  CHECK(read("(2, 2, 2)", {0, 4, 2, 6, 1, 5, 3, 7}).values() ==
        std::vector<T>{0, 1, 2, 3, 4, 5, 6, 7});
  CHECK(read("(3, 0)", {}).shape() == Shape{3, 0});
  CHECK(read("()", {7}).item() == 7);
  CHECK(read("(2,)", {1, 2}).values() == std::vector<T>{1, 2});
}

TEST_CASE("a file that is none of NumPy's is refused") {
  const std::string none = "is not a .npy file: it does not begin as one.";
  CHECK(refusal("") == none);
  CHECK(refusal("\x93NUM") == none);
  CHECK(refusal("\x93NUMPY\x01") == none);
  CHECK(refusal("PK\x03\x04 and so on, as in a .npz file") == none);
  CHECK(refusal(std::string(1000, '\0')) == none);
  CHECK(refusal(npy(dict("(1,)"), bytes_of<double>({1}), 0)) ==
        "has version 0 of the format: 1 to 3 can be read.");
  CHECK(refusal(npy(dict("(1,)"), bytes_of<double>({1}), 4)) ==
        "has version 4 of the format: 1 to 3 can be read.");
}

TEST_CASE("a header longer than its file is refused") {
  const std::string whole = npy(dict("(1,)"), bytes_of<double>({1}));
  CHECK(refusal(whole.substr(0, 40)) == "says that its header has 118 bytes, but the file has 40.");
  CHECK(refusal(std::string("\x93NUMPY\x01\x00\xff\xff", 10)) ==
        "says that its header has 65535 bytes, but the file has 10.");
  CHECK(refusal(std::string("\x93NUMPY\x02\x00\xff\xff\xff\xff", 12)) ==
        "says that its header has 4294967295 bytes, but the file has 12.");
  CHECK(refusal(std::string("\x93NUMPY\x03\x00\x00\x00", 10)) ==
        "says that its header has 0 bytes, but the file has 10.");
}

TEST_CASE("a header of more than 64 KiB is refused") {
  const auto of_length = [](std::size_t length) {
    std::string text = dict("(1,)");
    text.resize(length, ' ');
    std::string bytes("\x93NUMPY\x02\x00", 8);
    for (const int shift : {0, 8, 16, 24}) bytes += static_cast<char>(length >> shift & 255u);
    return bytes + text + bytes_of<double>({1});
  };
  CHECK(load<double>(of_length(65536)).values() == std::vector<double>{1});
  CHECK(refusal(of_length(65537)) == "has a header of 65537 bytes: at most 65536 can be read.");
}

TEST_CASE("a header that is not the dictionary of the three keys is refused") {
  for (const char* header :
       {"", "garbage", "{", "{}", "()", "{'descr': '<f8'}", "{'descr': '<f8', 'shape': (1,)}",
        "{'shape': (1,), 'fortran_order': False}", "{'descr': '<f8', 'fortran_order': False}",
        "{'descr': '<f8', 'descr': '<f8', 'fortran_order': False, 'shape': (1,)}",
        "{'descr': '<f8', 'fortran_order': False, 'fortran_order': False, 'shape': (1,)}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (1,), 'shape': (1,)}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (1,), 'more': 1}",
        "{'descr': '<f8' 'fortran_order': False, 'shape': (1,)}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (1,)} more",
        "{'descr': '<f8, 'fortran_order': False, 'shape': (1,)}",
        "{'descr': '<f8', 'fortran_order': 0, 'shape': (1,)}",
        "{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (1,)}"}) {
    CAPTURE(header);
    CHECK(refusal(npy(header, bytes_of<double>({1}))) == kUnreadable);
  }
  for (const char* shape : {"1", "[1]", "(1", "(,)", "(1,,)", "(1 1)", "(-1,)", "(1.0,)", "(None,)",
                            "(99999999999999999999,)", "('1',)"}) {
    CAPTURE(shape);
    CHECK(refusal(npy(dict(shape), bytes_of<double>({1}))) == kUnreadable);
  }
}

TEST_CASE("a header that ends anywhere too early is refused") {
  const std::string whole = dict("(12, 3)");
  for (std::size_t length = 0; length < whole.size(); ++length) {
    CAPTURE(length);
    const std::string start("\x93NUMPY\x01\x00", 8);
    CHECK(refusal(start + static_cast<char>(length) + '\0' + whole.substr(0, length)) ==
          kUnreadable);
  }
}

TEST_CASE("values of another type or byte order are refused") {
  CHECK(refusal(npy(dict("(1,)", "False", "'<f4'"), bytes_of<float>({1}))) ==
        "holds values of type '<f4': '<f8' is required for Tensor<double>.");
  CHECK(refusal<float>(npy(dict("(1,)"), bytes_of<double>({1}))) ==
        "holds values of type '<f8': '<f4' is required for Tensor<float>.");
  for (const std::string& type :
       std::vector<std::string>{">f8", "<i8", "|b1", "<f2", "<c16", "|O", "", "f8"})
    CHECK(refusal(npy(dict("(1,)", "False", "'" + type + "'"), bytes_of<double>({1}))) ==
          "holds values of type '" + type + "': '<f8' is required for Tensor<double>.");
}

TEST_CASE("a file with fewer or more values than its shape is refused") {
  const auto of_size = [](std::size_t bytes) {
    return refusal(npy(dict("(2, 2)"), std::string(bytes, '\0')));
  };
  CHECK(of_size(31) == "has 31 bytes of values: shape [2, 2] needs 32.");
  CHECK(of_size(0) == "has 0 bytes of values: shape [2, 2] needs 32.");
  CHECK(of_size(33) == "has 33 bytes of values: shape [2, 2] needs 32.");
  CHECK(refusal(npy(dict("(0,)"), bytes_of<double>({1}))) ==
        "has 8 bytes of values: shape [0] needs 0.");
}

TEST_CASE("shapes that cannot be are refused") {
  const auto of_shape = [](const std::string& shape) { return refusal(npy(dict(shape), "")); };
  const std::string many = ": too many axes or values.";
  CHECK(of_shape("(1, 1, 1, 1, 1, 1, 1, 1, 1)") == "has shape [1, 1, 1, 1, 1, 1, 1, 1, 1]" + many);
  CHECK(of_shape("(4294967296, 4294967296)") == "has shape [4294967296, 4294967296]" + many);
  CHECK(of_shape("(4611686018427387904, 4)") == "has shape [4611686018427387904, 4]" + many);
  CHECK(of_shape("(922337203685477578,)") == "has shape [922337203685477578]" + many);
  CHECK(of_shape("(576460752303423488,)") == "has shape [576460752303423488]" + many);
  CHECK(of_shape("(576460752303423487,)") ==
        "has 0 bytes of values: shape [576460752303423487] needs 4611686018427387896.");
  // The product of all lengths is 0, but strides would overflow.
  CHECK(of_shape("(0, 4294967296, 4294967296)") == "has shape [0, 4294967296, 4294967296]" + many);
  CHECK(of_shape("(4294967296, 4294967296, 0)") == "has shape [4294967296, 4294967296, 0]" + many);
}

TEST_CASE("nothing is allocated on a header's word") {
  const Folder folder;
  const std::string path = folder.file("x.npy");
  const auto largest = [&](const std::string& bytes) {
    test::write(path, bytes);
    const test::Allocations allocations;
    CHECK(test::error_of<std::runtime_error>([&] { load_npy<double>(path); }).find(path) !=
          std::string::npos);
    return allocations.largest();
  };
  // A buffer of the stream is the largest there is.
  constexpr std::size_t kLittle = 64 * 1024;
  CHECK(largest(npy(dict("(1048576, 1048576)"), bytes_of<double>({1}))) < kLittle);
  CHECK(largest(npy(dict("(1000000,)"), bytes_of<double>({1}))) < kLittle);
  CHECK(largest(npy(dict("(1000000,)", "True"), bytes_of<double>({1}))) < kLittle);
  CHECK(largest(npy(dict("(576460752303423487,)"), bytes_of<double>({1}))) < kLittle);
  CHECK(largest(std::string("\x93NUMPY\x02\x00\x00\x00\x00\xf0", 12) + "{") < kLittle);
  // And the test would notice.
  const test::Allocations allocations;
  CHECK(Tensor<double>::zeros({1000000}).size() == 1000000);
  CHECK(allocations.largest() >= 8000000);
}

TEST_CASE("what cannot be read is refused: a missing file, a folder, a device") {
  const Folder folder;
  const std::string text = ": cannot be read: is it a file that is there and readable?";
  for (const std::string& path : {folder.file("missing.npy"), folder.path(), std::string(),
                                  folder.file("no/folder/x.npy"), std::string("/dev/zero")})
    CHECK(test::error_of<std::runtime_error>([&] { load_npy<float>(path); }) ==
          "[load_npy] " + path + text);
}

TEST_CASE("a file that cannot be written is refused, and leaves no other behind") {
  const Folder folder;
  const Tensor<double> x{1, 2, 3};
  const auto refusal_at = [&](const std::string& path) {
    return test::error_of<std::runtime_error>([&] { save_npy(path, x); });
  };
  const std::string text = ": cannot be created: is its folder there and writable?";
  const std::string missing = folder.file("missing/x.npy"), below = folder.file("file/x.npy");
  CHECK(refusal_at(missing) == "[save_npy] " + missing + text);
  test::write(folder.file("file"), "old");
  CHECK(refusal_at(below) == "[save_npy] " + below + text);
  CHECK(folder.names() == std::vector<std::string>{"file"});
  CHECK(test::read(folder.file("file")) == "old");
  // A folder with something in it is never replaced.
  const Folder inner(folder.file("inner"));
  test::write(inner.file("old"), "old");
  const std::string replaced = "[save_npy] " + inner.path() + ": cannot be replaced: ";
  CHECK(refusal_at(inner.path()).substr(0, replaced.size()) == replaced);
  CHECK(folder.names() == std::vector<std::string>{"file", "inner"});
  CHECK(inner.names() == std::vector<std::string>{"old"});
}

#ifndef _WIN32
TEST_CASE("a file that cannot be written whole leaves the old one, and no temporary") {
  const Folder folder;
  const std::string path = folder.file("x.npy");
  save_npy(path, Tensor<double>{1, 2});
  const std::string old = test::read(path);
  {
    const test::FileSizeLimit limit(4096);
    CHECK(test::error_of<std::runtime_error>([&] {
            save_npy(path, Tensor<double>::zeros({100000}));
          }) == "[save_npy] " + path + ": could not be written whole: is the disk full?");
  }
  CHECK(test::read(path) == old);
  CHECK(folder.names() == std::vector<std::string>{"x.npy"});
}
#endif

#ifndef _WIN32
TEST_CASE("a process without standard input can write files") {
  const Folder folder;
  const std::string path = folder.file("x.npy");
  const int input = dup(STDIN_FILENO);
  close(STDIN_FILENO);  // the next file that is opened is number 0
  const std::string said = test::error_of<std::runtime_error>([&] {
    save_npy(path, Tensor<double>{1, 2});
  });
  if (input >= 0) {
    dup2(input, STDIN_FILENO);
    close(input);
  }
  CHECK(said == "nothing was thrown");
  CHECK(load_npy<double>(path).values() == std::vector<double>{1, 2});
}
#endif

TEST_CASE("a folder that may not be written keeps what it holds") {
  const Folder folder;
  const std::string path = folder.file("x.npy");
  save_npy(path, Tensor<double>{1, 2});
  const std::string old = test::read(path);
  folder.forbid_writing();
  const std::string text =
      test::error_of<std::runtime_error>([&] { save_npy(path, Tensor<double>{3}); });
  folder.allow_writing();
  if (text == "nothing was thrown") {  // root may write wherever it likes
    CHECK(load_npy<double>(path).values() == std::vector<double>{3});
  } else {
    CHECK(text == "[save_npy] " + path + ": cannot be created: is its folder there and writable?");
    CHECK(test::read(path) == old);
  }
  CHECK(folder.names() == std::vector<std::string>{"x.npy"});
}

TEST_CASE("tensors without a value are refused, and nothing is written") {
  const Folder folder;
  const std::string path = folder.file("x.npy");
  CHECK(test::invalid([&] { save_npy(path, Tensor<double>()); }) != "nothing was thrown");
  CHECK(folder.names().empty());
}
