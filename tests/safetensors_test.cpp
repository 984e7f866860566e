// Files of weights: what is written is read again and has the bytes that the format asks for; a
// file appears whole or not at all, and is on the disk by then.
#include <doctest/doctest.h>

#include <limits>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include <xtape/xtape.hpp>

#include "support/errors.hpp"
#include "support/files.hpp"
#include "support/model.hpp"
#include "support/sanitizers.hpp"

#ifndef _WIN32
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
#endif
#ifdef __linux__
#include <sys/syscall.h>

#include <cerrno>
#include <filesystem>

namespace {

bool disk_fails = false;
std::vector<std::string> synced;  // the files and folders that were waited for

}  // namespace

/// Stands before the system's, for the library too.
extern "C" int fsync(int file) {
  if (disk_fails) {
    errno = EIO;
    return -1;
  }
  const auto path = std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(file));
  synced.push_back(path.string());
  return static_cast<int>(syscall(SYS_fsync, file));
}
#endif

namespace {

using namespace xtape;
using test::a_model;
using test::bytes_of;
using test::Folder;
using test::same_bits;

using Metadata = std::map<std::string, std::string>;

template <class T>
SafeTensors<T> load(const std::string& header, const std::string& data) {
  const Folder folder;
  test::write(folder.file("x"), test::safetensors(header, data));
  return load_safetensors<T>(folder.file("x"));
}

}  // namespace

TEST_CASE_TEMPLATE("what save_safetensors writes load_safetensors reads to the last bit", T, float,
                   double) {
  const Folder folder;
  const std::string path = folder.file("model.safetensors");
  using Limits = std::numeric_limits<T>;
  Parameters<T> model = a_model<T>();
  model.push_back({"", Tensor<T>({6}, {T(-0.0), Limits::infinity(), -Limits::infinity(),
                                       Limits::quiet_NaN(), Limits::denorm_min(), Limits::max()})});
  model.push_back({"a \"name\" with\n\\ and \xc3\xa9, \xf0\x9f\x98\x80", Tensor<T>{1}});
  model.push_back({"eight axes", Tensor<T>::ones({1, 2, 1, 2, 1, 2, 1, 2})});
  const Metadata metadata{{"step", "12"}, {"", "\"\t\xc3\xa9"}, {"__metadata__", "inner"}};
  save_safetensors(path, model, metadata);
  const SafeTensors<T> read = load_safetensors<T>(path);
  CHECK(same_bits(read.values, model));
  CHECK(read.metadata == metadata);
  for (const Parameter<T>& p : read.values) CHECK(p.value.is_contiguous());

  save_safetensors(path, Parameters<T>());
  CHECK(load_safetensors<T>(path).values.empty());
  CHECK(load_safetensors<T>(path).metadata.empty());
}

TEST_CASE("the order of the parameters stays, with empty ones anywhere among them") {
  const Folder folder;
  const auto none = Tensor<float>::zeros({0}), one = Tensor<float>{1};
  for (const Parameters<float>& model :
       {Parameters<float>{
            {"z", none}, {"y", none}, {"x", one}, {"a", none}, {"w", none}, {"b", one}},
        Parameters<float>{{"b", one}, {"a", one}, {"d", none}, {"c", none}}}) {
    save_safetensors(folder.file("x"), model);
    CHECK(same_bits(load_safetensors<float>(folder.file("x")).values, model));
  }
}

TEST_CASE("a file has the bytes that the format asks for") {
  const Folder folder;
  const std::string path = folder.file("x");
  save_safetensors<float>(path, {{"w", Tensor<float>({2, 1}, {1.5f, -2})}, {"b", 1}});
  const std::string header = R"({"w":{"dtype":"F32","shape":[2, 1],"data_offsets":[0, 8]},)"
                             R"("b":{"dtype":"F32","shape":[],"data_offsets":[8, 12]}})";
  // The header has 112 bytes, a multiple of 8; 1.5 is 0x3fc00000, -2 0xc0000000, 1 0x3f800000.
  CHECK(header.size() == 112);
  CHECK(test::read(path) == std::string("\x70\0\0\0\0\0\0\0", 8) + header +
                                std::string("\0\0\xc0\x3f\0\0\0\xc0\0\0\x80\x3f", 12));

  save_safetensors<double>(path, {{"x", 1}}, {{"a", "b"}, {"cd", "\""}});
  const std::string doubles =
      R"({"__metadata__":{"a":"b","cd":"\""},"x":{"dtype":"F64","shape":[],"data_offsets":[0, 8]}})";
  CHECK(doubles.size() == 89);
  CHECK(test::read(path) == std::string("\x60\0\0\0\0\0\0\0", 8) + doubles + std::string(7, ' ') +
                                std::string("\0\0\0\0\0\0\xf0\x3f", 8));
  save_safetensors<double>(path, {});
  CHECK(test::read(path) == std::string("\x08\0\0\0\0\0\0\0{}      ", 16));
}

TEST_CASE(
    "a header may have its keys in any order, blanks, and tensors in another order than data") {
  const SafeTensors<float> read = load<float>(
      "{ \"b\" : {\"data_offsets\":[4,12], \"shape\":[2,1], \"dtype\":\"F32\"},\n"
      "\"__metadata__\":{\"format\":\"pt\"},\t\"a\":{\"dtype\":\"F32\",\"shape\":[],\"data_"
      "offsets\":"
      "[0,4]}}  \n ",
      bytes_of<float>({7, 8, 9}));
  REQUIRE(read.values.size() == 2);
  CHECK(read.values[0].name == "a");
  CHECK(read.values[0].value.item() == 7);
  CHECK(read.values[1].name == "b");
  CHECK(read.values[1].value.shape() == Shape{2, 1});
  CHECK(read.values[1].value.values() == std::vector<float>{8, 9});
  CHECK(read.metadata == Metadata{{"format", "pt"}});
  // Where the header has it last, an empty tensor is still before what begins at its place.
  const SafeTensors<float> empty =
      load<float>(R"({"w":{"dtype":"F32","shape":[],"data_offsets":[0,4]},)"
                  R"("none":{"dtype":"F32","shape":[0],"data_offsets":[0,0]}})",
                  bytes_of<float>({7}));
  REQUIRE(empty.values.size() == 2);
  CHECK(empty.values[0].name == "none");
  CHECK(empty.values[1].value.item() == 7);
  CHECK(load<float>(R"({"\u0061\ud83d\ude00":{"dtype":"F32","shape":[],"data_offsets":[0,4]}})",
                    bytes_of<float>({7}))
            .values[0]
            .name == "a\xf0\x9f\x98\x80");
}

TEST_CASE("views are written as their copies are, and variables read as constants") {
  const Folder folder;
  Tape<double> tape;
  const auto x = tape.variable(Random(2).normal<double>({3, 4}));
  const Parameters<double> views{{"t", transpose(x)}, {"s", slice(x, 1, 1, 4, 2)}, {"f", flip(x)}};
  Parameters<double> copies;
  for (const auto& p : views)
    copies.push_back({p.name, Tensor<double>(p.value.shape(), p.value.values())});
  save_safetensors(folder.file("views"), views);
  save_safetensors(folder.file("copies"), copies);
  CHECK(test::read(folder.file("views")) == test::read(folder.file("copies")));
  const auto read = load_safetensors<double>(folder.file("views"));
  CHECK(same_bits(read.values, copies));
  CHECK(test::misuse([&] { tape.line(read.values[0].value); }) != "nothing was thrown");
}

TEST_CASE("an optimiser's state goes through a file and on with the same bits") {
  const Folder folder;
  Parameters<float> model = a_model<float>();
  AdamW<float> adamw, resumed;
  for (std::uint64_t step = 0; step < 3; ++step)
    adamw.step(model, test::some_gradients(model, step));
  save_safetensors(folder.file("model"), model);
  save_safetensors(folder.file("state"), adamw.state());
  Parameters<float> copy = load_safetensors<float>(folder.file("model")).values;
  resumed.load_state(load_safetensors<float>(folder.file("state")).values);
  for (std::uint64_t step = 3; step < 6; ++step) {
    adamw.step(model, test::some_gradients(model, step));
    resumed.step(copy, test::some_gradients(model, step));
  }
  CHECK(same_bits(model, copy));
}

TEST_CASE("names and texts that a file cannot hold are refused, and nothing is written") {
  const Folder folder;
  const auto refusal = [&](const Parameters<double>& model, const Metadata& metadata = {}) {
    return test::invalid([&] { save_safetensors(folder.file("x"), model, metadata); });
  };
  const std::string op = "[save_safetensors] ", utf8 = ": names and metadata must be UTF-8.";
  CHECK(refusal({{"a", 1}, {"b", 1}, {"a", 2}}) ==
        op + "a parameter named \"a\": each name may stand once.");
  CHECK(refusal({{"__metadata__", 1}}) ==
        op + "a parameter named \"__metadata__\": that is the name of the metadata.");
  CHECK(refusal({{"\xff", 1}}) == op + "\"\\ufffd\"" + utf8);
  CHECK(refusal({}, {{"key", "\xc3"}}) == op + "\"\\ufffd\"" + utf8);
  CHECK(refusal({}, {{"\xc0\x80", "value"}}) == op + "\"\\ufffd\\ufffd\"" + utf8);
  CHECK(refusal({{"x", {}}}) ==
        op + "an array without a value was given: it must be assigned first.");
  CHECK(folder.names().empty());
}

TEST_CASE("weights that cannot be written are refused, and leave no other file behind") {
  const Folder folder;
  const Parameters<double> model{{"x", Tensor<double>{1, 2, 3}}};
  const auto refusal_at = [&](const std::string& path) {
    return test::error_of<std::runtime_error>([&] { save_safetensors(path, model); });
  };
  const std::string missing = folder.file("missing/x");
  CHECK(refusal_at(missing) ==
        "[save_safetensors] " + missing + ": cannot be created: is its folder there and writable?");
  const Folder inner(folder.file("inner"));
  test::write(inner.file("old"), "old");
  const std::string replaced = "[save_safetensors] " + inner.path() + ": cannot be replaced: ";
  CHECK(refusal_at(inner.path()).substr(0, replaced.size()) == replaced);
  CHECK(folder.names() == std::vector<std::string>{"inner"});
}

#ifndef _WIN32
TEST_CASE("weights that cannot be written whole leave the old file, and no temporary") {
  const Folder folder;
  const std::string path = folder.file("x");
  save_safetensors<double>(path, {{"x", 1}});
  const std::string old = test::read(path);
  const std::string text =
      "[save_safetensors] " + path + ": could not be written whole: is the disk full?";
  const auto refusal = [&] {
    return test::error_of<std::runtime_error>([&] {
      save_safetensors<double>(path, {{"x", Tensor<double>::zeros({100000})}});
    });
  };
  {
    const test::FileSizeLimit limit(4096);
    CHECK(refusal() == text);
  }
#ifdef __linux__
  disk_fails = true;
  CHECK(refusal() == text);
  disk_fails = false;
#endif
  CHECK(test::read(path) == old);
  CHECK(folder.names() == std::vector<std::string>{"x"});
}
#endif

#ifdef __linux__
TEST_CASE("a saved file is on the disk before it has its name, and then its folder") {
  const Folder folder;
  const std::string real = std::filesystem::canonical(folder.path()).string();
  const std::string path = real + "/x.safetensors";
  synced.clear();
  save_safetensors<double>(path, {{"x", 1}});
  REQUIRE(synced.size() == 2);
  CHECK(synced[0].substr(0, path.size() + 1) == path + ".");
  CHECK(synced[0].substr(synced[0].size() - 4) == ".tmp");
  CHECK(synced[1] == real);
}
#endif

// A sanitizer's own allocator may hang in a process that was forked.
#if !defined(_WIN32) && !defined(SANITIZED)
TEST_CASE("a process that is killed while it saves leaves the old file or the new one, whole") {
  const Folder folder;
  const std::string path = folder.file("x.safetensors");
  const Parameters<float> one{{"x", Tensor<float>::full({200000}, 1)}};
  const Parameters<float> two{{"x", Tensor<float>::full({300000}, 2)}, {"y", 3}};
  save_safetensors(path, one);
  Random random(7);
  int whole = 0;
  for (int round = 0; round < 20; ++round) {
    const pid_t child = fork();
    if (child == 0) try {
        alarm(60);
        while (true) {
          save_safetensors(path, two);
          save_safetensors(path, one);
        }
      } catch (...) {
        _exit(1);
      }
    usleep(static_cast<useconds_t>(random.below(20000)));
    kill(child, SIGKILL);
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    REQUIRE(WIFSIGNALED(status));
    const Parameters<float> read = load_safetensors<float>(path).values;
    whole += same_bits(read, one) || same_bits(read, two) ? 1 : 0;
  }
  CHECK(whole == 20);
}
#endif
