// Differential attention for a page.
//
// Each token has a signal s; all share an offset c. A token's value is s u + c w, with u and w
// at right angles, so that of an output both parts can be read off. The first map attends to
// tokens with large signals; the second looks everywhere alike, or the same way as the first.
#include <cstdint>
#include <vector>

#include "support/page.hpp"

using namespace xtape;
using namespace page;

namespace {

struct Question {
  std::vector<double> signal;
  double offset, lambda;
  bool causal, same, offset_is_target;

  explicit Question(const Json& json)
      : signal(json.at("signal").get<std::vector<double>>()),
        offset(json.at("offset")),
        lambda(json.at("lambda")),
        causal(json.at("causal")),
        same(json.at("same")),
        offset_is_target(json.at("target") == "offset") {}
};

const Matrix u{1, -1, 0.5, 2}, w{2, 1, 2, -1};  // u . w = 0

/// [T, F] -> [1, 1, T, F]
Matrix as_head(const Matrix& x) { return unsqueeze(unsqueeze(x, 0), 0); }
/// [1, 1, T, F] -> [T, F]
Matrix without_head(const Matrix& x) { return reshape(x, {x.dim(-2), x.dim(-1)}); }

/// What of each row lies along a direction.
Matrix along(const Matrix& rows, const Matrix& direction) {
  return matmul(rows, direction / sum(square(direction)));
}

struct Model {
  Matrix lambda, signal, offset;      // [], [T], []
  Matrix q1, k1, q2, k2, value;       // [T, 2] each, [T, 4]
  Matrix output;                      // [T, 4]
  Matrix signal_found, offset_found;  // [T]

  Model(Tape<double>& tape, const Question& ask) {
    const auto count = static_cast<std::int64_t>(ask.signal.size());
    lambda = tape.variable(ask.lambda, "lambda");
    signal = tape.variable(Matrix({count}, ask.signal), "signal");
    offset = tape.variable(ask.offset, "offset");
    const Matrix column = unsqueeze(signal, 1);  // [T, 1]
    const Matrix ones = Matrix::ones({count, 2});
    q1 = tape.variable(ones, "q1");
    k1 = column * Matrix{2, 1};
    q2 = ask.same ? q1 : tape.variable(ones, "q2");
    k2 = ask.same ? k1 : tape.variable(ones, "k2");
    value = column * u + offset * w;
    output = without_head(differential_attention(as_head(q1), as_head(k1), as_head(q2), as_head(k2),
                                                 as_head(value), lambda, ask.causal));
    signal_found = along(output, u);
    offset_found = along(output, w);
  }
};

/// The map of one branch, read off with the identity for values: [T, T].
Matrix map_of(const Matrix& q, const Matrix& k, bool causal) {
  return without_head(attention(as_head(q), as_head(k), as_head(Matrix::eye(q.dim(0))), causal));
}

Matrix last_of(const Matrix& x) { return slice(x, 0, -1, x.dim(0)); }

/// What arrives at the last token, for lambdas from -0.5 to 1.5: [lambda, signal, offset] each.
Json curve(const Model& m, bool causal) {
  const std::int64_t count = 41;
  const Matrix lambdas = Matrix::linspace(-0.5, 1.5, count);
  const auto heads = [&](const Matrix& x) {  // a head for each lambda: [1, 41, T, F]
    return broadcast_to(as_head(x), {1, count, x.dim(0), x.dim(1)});
  };
  const Matrix output =
      differential_attention(heads(m.q1), heads(m.k1), heads(m.q2), heads(m.k2), heads(m.value),
                             reshape(lambdas, {count, 1, 1}), causal);
  const Matrix last = reshape(slice(output, 2, -1, output.dim(2)), {count, 4});
  const Matrix found = stack<double>({lambdas, along(last, u), along(last, w)}, 1);  // [41, 3]
  return picture(found);
}

}  // namespace

Json page::answer(const Json& json) {
  const Question ask(json);
  Tape<double> tape(Keep::values);
  const Model m(tape, ask);
  const Matrix target = sum(last_of(ask.offset_is_target ? m.offset_found : m.signal_found));
  if (json.contains("trace")) return {{"trace", trace(tape, target, "The tape of this page")}};

  Json result{{"tape", to_string(tape)}, {"lines", tape.size()}, {"target", target.item()}};
  const auto [lambda, signal, offset, q1, k1, q2, k2, value] =
      tape.gradient(target, m.lambda, m.signal, m.offset, m.q1, m.k1, m.q2, m.k2, m.value);
  result["gradients"] = {{"lambda", picture(lambda)}, {"offset", picture(offset)},
                         {"signal", picture(signal)}, {"q1", picture(q1)},
                         {"k1", picture(k1)},         {"q2", picture(q2)},
                         {"k2", picture(k2)},         {"value", picture(value)}};
  tape.clear();  // what follows is for the eye only

  const Matrix a1 = map_of(m.q1, m.k1, ask.causal), a2 = map_of(m.q2, m.k2, ask.causal);
  result["a1"] = picture(a1);
  result["a2"] = picture(a2);
  result["signed"] = picture(a1 - ask.lambda * a2);
  result["output"] = picture(m.output);
  result["found"] = {{"signal", picture(m.signal_found)}, {"offset", picture(m.offset_found)}};
  result["curve"] = curve(m, ask.causal);
  return result;
}
