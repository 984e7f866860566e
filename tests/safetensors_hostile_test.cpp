// Files of weights that are wrong, by accident or on purpose: each is refused with its name and the
// reason, and nothing is allocated on a header's word.
// Sources: ggml#709, llama.cpp#14595 and #27203, gguf-tools#25, and the format's description.
#include <doctest/doctest.h>

#include <stdexcept>
#include <string>
#include <vector>

#include <xtape/xtape.hpp>

#include "support/allocations.hpp"
#include "support/errors.hpp"
#include "support/files.hpp"

namespace {

using namespace xtape;
using test::bytes_of;
using test::Folder;
using test::safetensors;

/// What load_safetensors<T> says of a file with these bytes: the text behind the file's name.
template <class T = float>
std::string refusal(const std::string& bytes) {
  const Folder folder;
  const std::string path = folder.file("x.safetensors");
  test::write(path, bytes);
  const std::string text = test::error_of<std::runtime_error>([&] { load_safetensors<T>(path); });
  const std::string start = "[load_safetensors] " + path + ": ";
  return text.compare(0, start.size(), start) == 0 ? text.substr(start.size()) : text;
}

/// The same for a header and so many bytes of data.
std::string refused_header(const std::string& header, std::size_t data = 8) {
  return refusal(safetensors(header, std::string(data, '\0')));
}

/// `"name":{...}` of two floats, with these parts.
std::string entry(const std::string& name, const std::string& offsets = "[0,8]",
                  const std::string& shape = "[2]", const std::string& dtype = "\"F32\"") {
  return "\"" + name + "\":{\"dtype\":" + dtype + ",\"shape\":" + shape +
         ",\"data_offsets\":" + offsets + "}";
}

std::string of_offsets(const std::string& offsets) {
  return refused_header("{" + entry("w", offsets) + "}");
}

std::string of_shape(const std::string& shape) {
  return refused_header("{" + entry("w", "[0,8]", shape) + "}");
}

const std::string kLength8 = std::string("\x08\0\0\0\0\0\0\0", 8);

}  // namespace

TEST_CASE("the file that the wrong ones are made of is right") {
  CHECK(refused_header("{" + entry("w") + "}") == "nothing was thrown");
  CHECK(refused_header("{" + entry("v") + "," + entry("w", "[8,16]") + "}", 16) ==
        "nothing was thrown");
  CHECK(refused_header("{}", 0) == "nothing was thrown");
}

TEST_CASE("a file without a whole length is refused") {
  for (std::size_t bytes = 0; bytes < 8; ++bytes)
    CHECK(refusal(std::string(bytes, '\0')) ==
          "is not a safetensors file: it has less than 8 bytes.");
}

TEST_CASE("a safetensors header longer than its file is refused") {
  CHECK(refusal(kLength8) == "says that its header has 8 bytes, but the file has 8.");
  CHECK(refusal(kLength8 + "{}     ") == "says that its header has 8 bytes, but the file has 15.");
  CHECK(refusal(std::string(8, '\xff') + "{}") ==
        "says that its header has 18446744073709551615 bytes, but the file has 10.");
  // Adding 8 to it would wrap around.
  CHECK(refusal("\xf8" + std::string(7, '\xff') + "{}") ==
        "says that its header has 18446744073709551608 bytes, but the file has 10.");
  const std::string whole = safetensors("{" + entry("w") + "}", std::string(8, '\0'));
  const std::size_t header = whole.size() - 16;
  for (std::size_t bytes = 8; bytes < 8 + header; ++bytes)
    CHECK(refusal(whole.substr(0, bytes)) == "says that its header has " + std::to_string(header) +
                                                 " bytes, but the file has " +
                                                 std::to_string(bytes) + ".");
  for (std::size_t bytes = 8 + header; bytes < whole.size(); ++bytes)
    CHECK(refusal(whole.substr(0, bytes)) ==
          "has " + std::to_string(bytes - 8 - header) + " bytes of data: its tensors need 8.");
}

TEST_CASE("a header of more than 100 million bytes is refused") {
  CHECK(refused_header("{}" + std::string(100000000 - 2, ' '), 0) == "nothing was thrown");
  CHECK(refused_header("{}" + std::string(100000000 - 1, ' '), 0) ==
        "has a header of 100000001 bytes: at most 100000000 can be read.");
}

TEST_CASE("a header that is not JSON is refused") {
  const std::string no_brace = "has a header that does not begin with {.";
  for (const char* header : {"", " {}", "[]", "null", "\xef\xbb\xbf{}"})
    CHECK(refused_header(header, 0) == no_brace);
  for (const char* header :
       {"{", "{}}", "{} x", "{\"w\"}", "{w:1}", "{'w':{}}", "{\"w\":}", "{,}", "{}{}",
        "{\"__metadata__\":{\"a\":\"b\",}}", "{\"__metadata__\":{\"a\":\"\x01\"}}",
        "{\"__metadata__\":{\"a\":\"\xff\"}}", "{\"__metadata__\":{\"a\":\"\\ud800\"}}",
        "{\"__metadata__\":{\"a\":NaN}}", "{\"__metadata__\":{\"a\":1e999}}", "{/**/}"}) {
    CAPTURE(header);
    const std::string text = refused_header(header, 0);
    CHECK(text.substr(0, 40) == "has a header that is not JSON from byte ");
  }
  // The parser would stop at it, and the rest would never be read.
  CHECK(refused_header(std::string("{}\0{\"w\":1}", 10), 0) == "has a zero byte in its header.");
}

TEST_CASE("names that stand twice are refused, wherever they are") {
  CHECK(refused_header("{" + entry("w") + "," + entry("w", "[8,16]") + "}", 16) ==
        "has \"w\" twice in its header.");
  CHECK(refused_header("{" + entry("w") + "," + entry("\\u0077", "[8,16]") + "}", 16) ==
        "has \"w\" twice in its header.");
  CHECK(refused_header(R"({"__metadata__":{},"__metadata__":{}})", 0) ==
        "has \"__metadata__\" twice in its header.");
  CHECK(refused_header(R"({"__metadata__":{"a":"1","b":"2","a":"3"}})", 0) ==
        "has \"a\" twice in __metadata__.");
  for (const char* twice : {R"("dtype":"F32")", R"("shape":[2])", R"("data_offsets":[0,8])"}) {
    const std::string one = twice, key = one.substr(0, one.find(':'));
    std::string header = "{" + entry("w") + "}";
    header.insert(header.size() - 2, "," + one);
    CHECK(refused_header(header) == "has " + key + " twice in \"w\".");
  }
}

TEST_CASE("metadata that is no object of texts is refused") {
  const auto of = [](const std::string& value) {
    return refused_header("{\"__metadata__\":" + value + "}", 0);
  };
  const auto in = [](const char* what, const char* where) {
    return "has " + std::string(what) + " in " + where + ", where none can be.";
  };
  CHECK(of("null") == in("null", "its header"));
  CHECK(of("\"text\"") == in("a text", "its header"));
  CHECK(of("[]") == in("a list", "its header"));
  CHECK(of("{\"a\":1}") == in("a number", "__metadata__"));
  CHECK(of("{\"a\":-1}") == in("a negative number", "__metadata__"));
  CHECK(of("{\"a\":0.5}") == in("a fraction", "__metadata__"));
  CHECK(of("{\"a\":true}") == in("a boolean", "__metadata__"));
  CHECK(of("{\"a\":null}") == in("null", "__metadata__"));
  CHECK(of("{\"a\":[\"b\"]}") == in("a list", "__metadata__"));
  CHECK(of("{\"a\":{}}") == in("an object", "__metadata__"));
}

TEST_CASE("an entry that is not of dtype, shape and data_offsets is refused") {
  const auto of = [](const std::string& value) { return refused_header("{\"w\":" + value + "}"); };
  for (const auto& [value, what] : std::vector<std::pair<std::string, std::string>>{
           {"1", "a number"}, {"\"F32\"", "a text"}, {"[]", "a list"}, {"false", "a boolean"}})
    CHECK(of(value) == "has " + what + " in its header, where none can be.");
  const std::string lacks = "lacks one of dtype, shape and data_offsets in \"w\".";
  CHECK(of("{}") == lacks);
  CHECK(of(R"({"dtype":"F32","shape":[2]})") == lacks);
  CHECK(of(R"({"dtype":"F32","data_offsets":[0,8]})") == lacks);
  CHECK(of(R"({"shape":[2],"data_offsets":[0,8]})") == lacks);
  CHECK(of(R"({"dtype":"F32","shape":[2],"offsets":[0,8]})") ==
        "has \"offsets\" in \"w\": it is not known there.");
  CHECK(of(R"({"dtype":{"a":1}})") == "has an object in \"w\", where none can be.");
  CHECK(of(R"({"dtype":["F32"]})") == "has a list in \"w\", where none can be.");
  CHECK(of(R"({"dtype":32})") == "has a number in \"w\", where none can be.");
  CHECK(of(R"({"shape":"2"})") == "has a text in \"w\", where none can be.");
  CHECK(of(R"({"shape":2})") == "has a number in \"w\", where none can be.");
  CHECK(of(R"({"data_offsets":{}})") == "has an object in \"w\", where none can be.");
}

TEST_CASE("values of another type are refused by its name") {
  for (const char* dtype : {"F64", "F16", "BF16", "I64", "BOOL", "f32", ""})
    CHECK(refused_header("{" + entry("w", "[0,8]", "[2]", "\"" + std::string(dtype) + "\"") +
                         "}") == "has values of type \"" + std::string(dtype) +
                                     "\" in \"w\": \"F32\" is required for Tensor<float>.");
  CHECK(refusal<double>(safetensors("{" + entry("w") + "}", std::string(8, '\0'))) ==
        "has values of type \"F32\" in \"w\": \"F64\" is required for Tensor<double>.");
}

TEST_CASE("shapes that cannot be are refused, whatever they multiply to") {
  const auto none = [](const char* what) {
    return "has " + std::string(what) + " in \"w\", where none can be.";
  };
  CHECK(of_shape("[-2]") == none("a negative number"));
  CHECK(of_shape("[2.0]") == none("a fraction"));
  CHECK(of_shape("[\"2\"]") == none("a text"));
  CHECK(of_shape("[[2]]") == none("a list"));
  CHECK(of_shape("[null]") == none("null"));
  CHECK(of_shape("[9223372036854775808]") == none("a number above 2^63"));
  CHECK(of_shape("[18446744073709551616]") == none("a fraction"));
  CHECK(of_shape("[1,1,1,1,1,1,1,1,2]") == "has more than 8 axes in \"w\".");
  const auto many = [](const char* shape) {
    return "has \"w\" of shape " + std::string(shape) + ": too many values.";
  };
  CHECK(of_shape("[4294967296,4294967296]") == many("[4294967296, 4294967296]"));
  // 2^64 + 2 values, and 2^64 + 8 bytes: both would wrap around to what is there.
  CHECK(of_shape("[6,3074457345618258603]") == many("[6, 3074457345618258603]"));
  CHECK(of_shape("[4611686018427387906]") == many("[4611686018427387906]"));
  // The product of all is 0, but strides would overflow.
  CHECK(of_shape("[0,4294967296,4294967296]") == many("[0, 4294967296, 4294967296]"));
  CHECK(of_shape("[3]") == "has \"w\" from byte 0 to 8 of its data: shape [3] needs 12 bytes.");
  CHECK(of_shape("[0]") == "has \"w\" from byte 0 to 8 of its data: shape [0] needs 0 bytes.");
  CHECK(of_shape("[]") == "has \"w\" from byte 0 to 8 of its data: shape [] needs 4 bytes.");
}

TEST_CASE("offsets that are not two whole numbers in order are refused") {
  for (const char* offsets : {"[]", "[0]"})
    CHECK(of_offsets(offsets) == "has not two data_offsets in \"w\".");
  CHECK(of_offsets("[0,8,8]") == "has a number in \"w\", where none can be.");
  CHECK(of_offsets("[-8,0]") == "has a negative number in \"w\", where none can be.");
  CHECK(of_offsets("[0,8.0]") == "has a fraction in \"w\", where none can be.");
  CHECK(of_offsets("[0,9223372036854775808]") ==
        "has a number above 2^63 in \"w\", where none can be.");
  CHECK(of_offsets("[8,0]") == "has \"w\" from byte 8 to 0 of its data: shape [2] needs 8 bytes.");
  CHECK(of_offsets("[0,4]") == "has \"w\" from byte 0 to 4 of its data: shape [2] needs 8 bytes.");
}

TEST_CASE("tensors that overlap, leave gaps or do not fill the data are refused") {
  const auto two = [](const char* first, const char* second, std::size_t data) {
    return refused_header("{" + entry("v", first) + "," + entry("w", second) + "}", data);
  };
  const auto misplaced = [](const char* name, int begin, int free) {
    return "has \"" + std::string(name) + "\" from byte " + std::to_string(begin) +
           " of its data on, where " + std::to_string(free) +
           " is the first that is free: tensors must lie one after the other.";
  };
  CHECK(two("[0,8]", "[0,8]", 8) == misplaced("w", 0, 8));
  CHECK(two("[0,8]", "[4,12]", 12) == misplaced("w", 4, 8));
  CHECK(two("[4,12]", "[0,8]", 12) == misplaced("v", 4, 8));
  CHECK(two("[0,8]", "[12,20]", 20) == misplaced("w", 12, 8));
  CHECK(two("[4,12]", "[12,20]", 20) == misplaced("v", 4, 0));
  CHECK(two("[0,8]", "[8,16]", 15) == "has 15 bytes of data: its tensors need 16.");
  CHECK(two("[0,8]", "[8,16]", 17) == "has 17 bytes of data: its tensors need 16.");
  CHECK(two("[9223372036854775800,9223372036854775808]", "[0,8]", 8) ==
        "has a number above 2^63 in \"v\", where none can be.");
  CHECK(
      two("[9223372036854775799,9223372036854775807]", "[0,8]", 8) ==
      "has \"v\" from byte 9223372036854775799 of its data on, where 8 is the first that is free: "
      "tensors must lie one after the other.");
  CHECK(refused_header("{" + entry("w") + "," + entry("none", "[4,4]", "[0]") + "}") ==
        misplaced("none", 4, 8));
  CHECK(refused_header("{}", 1) == "has 1 bytes of data: its tensors need 0.");
}

TEST_CASE("deep nesting is refused at its first level, not by recursion") {
  const std::size_t depth = 1000000;
  const std::string lists(depth, '[');
  std::string objects;
  for (std::size_t i = 0; i < depth; ++i) objects += "{\"a\":";
  CHECK(refused_header("{\"w\":" + lists) == "has a list in its header, where none can be.");
  CHECK(of_shape(lists) == "has a list in \"w\", where none can be.");
  CHECK(refused_header("{\"w\":" + objects) == "has \"a\" in \"w\": it is not known there.");
  CHECK(refused_header("{\"__metadata__\":" + objects) ==
        "has an object in __metadata__, where none can be.");
}

TEST_CASE("long and strange names are shown short and plain") {
  CHECK(refused_header("{\"" + std::string(200, 'n') + "\":1,\"" + std::string(200, 'n') +
                       "\":1}") == "has a number in its header, where none can be.");
  CHECK(refused_header("{" + entry(std::string(200, 'n'), "[0,4]") + "}") ==
        "has \"" + std::string(80, 'n') +
            "...\" from byte 0 to 4 of its data: shape [2] needs 8 bytes.");
  CHECK(refused_header("{" + entry("\\n\\u001b[31m\xc3\xa9", "[0,4]") + "}") ==
        "has \"\\n\\u001b[31m\\u00e9\" from byte 0 to 4 of its data: shape [2] needs 8 bytes.");
}

TEST_CASE("nothing is allocated on a safetensors header's word") {
  const Folder folder;
  const std::string path = folder.file("x");
  const auto largest = [&](const std::string& bytes) {
    test::write(path, bytes);
    const test::Allocations allocations;
    CHECK(test::error_of<std::runtime_error>([&] { load_safetensors<float>(path); }).find(path) !=
          std::string::npos);
    return allocations.largest();
  };
  // A buffer of the stream is the largest there is.
  constexpr std::size_t kLittle = 64 * 1024;
  const auto of = [&](const std::string& offsets, const std::string& shape) {
    return largest(safetensors("{" + entry("w", offsets, shape) + "}", std::string(8, '\0')));
  };
  CHECK(largest(std::string(8, '\xff') + "{}") < kLittle);
  CHECK(largest(std::string("\0\0\0\x05\0\0\0\0", 8) + "{}") < kLittle);
  CHECK(of("[0,4000000]", "[1000000]") < kLittle);
  CHECK(of("[0,4000000000000]", "[1000000,1000000]") < kLittle);
  CHECK(of("[0,9223372036854775804]", "[2305843009213693951]") < kLittle);
  CHECK(largest(safetensors("{" + entry("v") + "," + entry("w", "[8,40000008]", "[10000000]") + "}",
                            std::string(16, '\0'))) < kLittle);
}

TEST_CASE("weights that cannot be read are refused: a missing file, a folder, a device") {
  const Folder folder;
  const std::string text = ": cannot be read: is it a file that is there and readable?";
  for (const std::string& path : {folder.file("missing"), folder.path(), std::string(),
                                  folder.file("no/folder/x"), std::string("/dev/zero")})
    CHECK(test::error_of<std::runtime_error>([&] { load_safetensors<float>(path); }) ==
          "[load_safetensors] " + path + text);
}
