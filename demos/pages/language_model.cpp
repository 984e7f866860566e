// A tiny language model for a page: what may come next, what is drawn, and where a head looks.
//
// The weights are those of a run of demos/tiny_lm, widened to double. The maps are read off a tape:
// attention is composed on it, so the line that subtracts has them as its operands.
#include <charconv>
#include <cstdint>
#include <string>
#include <system_error>
#include <vector>

#include "../tiny_lm/model.hpp"
#include "../tiny_lm/run.hpp"
#include "../tiny_lm/sample.hpp"
#include "support/page.hpp"

using namespace xtape;
using namespace page;
using namespace tiny_lm;

namespace {

struct Trained {
  Model<double> model;
  Vocabulary vocabulary;
  std::int64_t steps;

  Trained() {
    const Run<float> run = load<float>(LANGUAGE_MODEL);  // a folder, from CMakeLists.txt
    model.config = run.model.config;
    for (const auto& p : run.model.parameters)
      model.parameters.push_back({p.name, cast<double>(p.value)});
    model.composition = true;
    vocabulary = run.vocabulary;
    steps = run.step;
  }
};

/// What the heads of a layer do: [1, H, T, T] each.
struct Maps {
  Matrix first, second, difference;
};

/// Those of all layers, from the lines `A1 - coefficient * A2`.
std::vector<Maps> maps_on(const Tape<double>& tape) {
  std::vector<Maps> found;
  for (std::int64_t i = 0; i < tape.size(); ++i) {
    const Node<double> node = tape.node(i);
    if (node.op != "sub" || node.shape.size() != 4) continue;
    const Node<double> scaled = tape.node(node.inputs[1].line);
    found.push_back(
        {tape.node(node.inputs[0].line).value, tape.node(scaled.inputs[1].line).value, node.value});
  }
  return found;
}

/// The last `shown` queries and keys of a head. [1, H, T, T] -> [shown, shown]
Matrix corner(const Matrix& map, std::int64_t head, std::int64_t shown) {
  const std::int64_t count = map.dim(-1), from = count - std::min(count, shown);
  const Matrix one = reshape(slice(map, 1, head, head + 1), {count, count});
  return slice(slice(one, 0, from, count), 1, from, count);
}

/// A number of the question.
template <class N>
N between(const Json& question, const char* name, N low, N high) {
  const Json& value = question.at(name);
  if (value < low || value > high)
    throw demo::UserError(std::string(name) + " " + value.dump() + ": " + Json(low).dump() +
                          " to " + Json(high).dump() + " is required");
  return value;
}

/// The question's draws go on where the last answer left them, or begin with a seed.
Random random_of(const Json& question) {
  const std::string text = question.at("random");
  std::uint64_t state = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), state);
  if (error != std::errc{} || end != text.data() + text.size())
    throw demo::UserError("seed \"" + text + "\": a whole number of at least 0 is required");
  return Random(state);
}

/// Each symbol's probability by the model, and that with which it is drawn; likeliest first.
Json alternatives(const Choices& all, const Choices& drawn, const Vocabulary& vocabulary) {
  Json list = Json::array();
  for (std::size_t i = 0; i < all.ids.size(); ++i)
    list.push_back({{"symbol", vocabulary.decode({all.ids[i]})},
                    {"model", all.p[i]},
                    {"drawn", i < drawn.p.size() ? drawn.p[i] : 0}});
  return list;
}

}  // namespace

Json page::answer(const Json& question) {
  static const Trained trained;
  Model<double> model = trained.model;
  const Config& c = model.config;
  const std::int64_t one = 1;
  const std::int64_t layer = between(question, "layer", one, c.layers);
  const std::int64_t head = between(question, "head", one, c.heads / 2);
  const std::int64_t shown = between(question, "shown", one, c.context);
  const Sampling sampling{between(question, "temperature", 0.0, 100.0),
                          between(question, "top_k", one - 1, c.symbols),
                          between(question, "top_p", 0.0, 1.0)};
  Random random = random_of(question);

  const Ids seen = last(trained.vocabulary.encode(question.at("text"), "the text"), c.context);
  if (seen.empty()) throw demo::UserError("no text: one character at least is required");
  const auto count = static_cast<std::int64_t>(seen.size());
  Tape<double> tape(Keep::values);
  tape.watch(model.parameters);
  const auto logits = slice(forward(model, {{1, count}, seen}), 1, count - 1, count).values();

  const Choices drawn = choices(logits, sampling);
  Json result{{"seen", count},
              {"alternatives", alternatives(choices(logits, {1, 0, 1}), drawn, trained.vocabulary)},
              {"next", trained.vocabulary.decode({draw(drawn, random)})},
              {"random", std::to_string(random.state())}};
  result["model"] = {{"parameters", xtape::count(model.parameters)},
                     {"steps", trained.steps},
                     {"layers", c.layers},
                     {"heads", c.heads / 2},
                     {"context", c.context}};
  for (std::int64_t i = 0; i < c.layers; ++i)
    result["lambdas"].push_back({{"init", lambda_init(i + 1)}, {"now", lambda(model, i).item()}});
  const Maps maps = maps_on(tape).at(static_cast<std::size_t>(layer - 1));
  result["a1"] = picture(corner(maps.first, head - 1, shown));
  result["a2"] = picture(corner(maps.second, head - 1, shown));
  result["signed"] = picture(corner(maps.difference, head - 1, shown));
  for (const std::int64_t id : last(seen, shown))
    result["labels"].push_back(trained.vocabulary.decode({id}));
  return result;
}
