// Reads golden.json: a list of objects, each of one kind, with nested lists for arrays.
#include "support/golden.hpp"

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>
#include <type_traits>

namespace golden {
namespace {

using Json = nlohmann::json;
using Shape = std::vector<std::size_t>;

std::string text_of(const Shape& shape) {
  std::string text = "[";
  for (std::size_t n = 0; n < shape.size(); ++n)
    text += (n == 0 ? "" : ", ") + std::to_string(shape[n]);
  return text + "]";
}

// One object of the file, which can say where it stands.
struct Entry {
  const Json& json;
  std::string place;  // "[golden] /path/golden.json, case 3"

  [[noreturn]] void fail(const std::string& what) const {
    throw std::runtime_error(place + ": " + what);
  }

  const Json& field(const std::string& name) const {
    const auto found = json.find(name);
    if (found == json.end()) fail("no field \"" + name + "\".");
    return *found;
  }

  // A number, boolean, string or shape; numbers must not be read from booleans.
  template <class Result>
  Result get(const std::string& name) const {
    const Json& value = field(name);
    try {
      if (std::is_same_v<Result, double> && !value.is_number())
        fail("\"" + name + "\" is no number.");
      return value.get<Result>();
    } catch (const Json::exception& error) {
      fail("\"" + name + "\": " + error.what());
    }
  }

  // Nested lists of this shape -> row-major
  Values array(const std::string& name, const Shape& shape) const {
    Values values;
    append(name, field(name), shape, 0, values);
    return values;
  }

  void append(const std::string& name, const Json& part, const Shape& shape, std::size_t axis,
              Values& values) const {
    const bool innermost = axis == shape.size();
    if (innermost ? !part.is_number() : !part.is_array() || part.size() != shape[axis])
      fail("\"" + name + "\" is not of shape " + text_of(shape) + ".");
    if (innermost) return values.push_back(part.get<double>());
    for (const Json& item : part) append(name, item, shape, axis + 1, values);
  }
};

std::string label_of(std::size_t number, const Shape& shape, const std::string& parameter,
                     double value) {
  std::ostringstream text;
  text << "golden case " << number << ": " << text_of(shape) << ", " << parameter << " " << value;
  return text.str();
}

AttentionCase attention_case(const Entry& entry, std::size_t number) {
  AttentionCase c;
  c.shape = entry.get<Shape>("shape");
  if (c.shape.size() != 4) entry.fail("\"shape\" is not [B, H, T, D].");
  Shape wide = c.shape;
  wide[3] *= 2;  // values and outputs are twice as wide as queries
  c.causal = entry.get<bool>("causal");
  c.coefficient = entry.get<double>("coefficient");
  c.label =
      label_of(number, c.shape, c.causal ? "causal, coefficient" : "coefficient", c.coefficient);
  c.q1 = entry.array("q1", c.shape);
  c.k1 = entry.array("k1", c.shape);
  c.q2 = entry.array("q2", c.shape);
  c.k2 = entry.array("k2", c.shape);
  c.value = entry.array("value", wide);
  c.cotangent = entry.array("cotangent", wide);
  c.out = entry.array("out", wide);
  c.dq1 = entry.array("dq1", c.shape);
  c.dk1 = entry.array("dk1", c.shape);
  c.dq2 = entry.array("dq2", c.shape);
  c.dk2 = entry.array("dk2", c.shape);
  c.dvalue = entry.array("dvalue", wide);
  c.dcoefficient = entry.get<double>("dcoefficient");
  return c;
}

LambdaCase lambda_case(const Entry& entry, std::size_t number) {
  LambdaCase c;
  c.shape = {entry.field("q1").size()};
  c.lambda_init = entry.get<double>("lambda_init");
  c.label = label_of(number, c.shape, "lambda_init", c.lambda_init);
  c.q1 = entry.array("q1", c.shape);
  c.k1 = entry.array("k1", c.shape);
  c.q2 = entry.array("q2", c.shape);
  c.k2 = entry.array("k2", c.shape);
  c.out = entry.get<double>("out");
  c.dq1 = entry.array("dq1", c.shape);
  c.dk1 = entry.array("dk1", c.shape);
  c.dq2 = entry.array("dq2", c.shape);
  c.dk2 = entry.array("dk2", c.shape);
  return c;
}

Json parse(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  // An empty file sets text's failbit and a folder that of the file: both count as unreadable.
  if (!file || !(text << file.rdbuf())) {
    throw std::runtime_error("[golden] cannot read " + path +
                             ": a file that is not empty is required.");
  }
  try {
    return Json::parse(text.str());
  } catch (const Json::exception& error) {
    throw std::runtime_error("[golden] " + path + " is no JSON: " + error.what());
  }
}

}  // namespace

Cases load() { return load(XTAPE_TEST_DATA "/golden.json"); }

Cases load(const std::string& path) {
  const Json file = parse(path);
  if (!file.is_array()) throw std::runtime_error("[golden] " + path + " is no list of cases.");
  Cases cases;
  for (std::size_t number = 0; number < file.size(); ++number) {
    const Entry entry{file[number], "[golden] " + path + ", case " + std::to_string(number)};
    if (!entry.json.is_object()) entry.fail("not an object.");
    const std::string kind = entry.get<std::string>("kind");
    if (kind == "differential_attention") {
      cases.attention.push_back(attention_case(entry, number));
    } else if (kind == "differential_lambda") {
      cases.lambda.push_back(lambda_case(entry, number));
    } else {
      entry.fail("unknown kind \"" + kind + "\".");
    }
  }
  return cases;
}

}  // namespace golden
