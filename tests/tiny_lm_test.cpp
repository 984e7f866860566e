// The tiny language model of demos/tiny_lm.
#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

#include <xtape/xtape.hpp>

#include "../demos/tiny_lm/model.hpp"
#include "support/close.hpp"
#include "support/errors.hpp"

namespace {

using namespace xtape;
using namespace tiny_lm;
using Ids = std::vector<std::int64_t>;

struct Kind {
  Attention attention;
  Pairing pairing;
  bool head_norm, tied;
};

const std::vector<Kind> kKinds{{Attention::differential, Pairing::adjacent, true, false},
                               {Attention::differential, Pairing::halves, true, true},
                               {Attention::differential, Pairing::halves, false, false},
                               {Attention::ordinary, Pairing::adjacent, false, false},
                               {Attention::ordinary, Pairing::adjacent, true, true}};

/// 5 symbols, 2 layers, 4 heads of 2 features.
Config small(const Kind& kind) {
  Config c;
  c.attention = kind.attention;
  c.pairing = kind.pairing;
  c.head_norm = kind.head_norm;
  c.tied = kind.tied;
  c.symbols = 5;
  c.heads = 4;
  c.width = 8;
  c.hidden = 6;
  c.context = 6;
  return c;
}

template <class T>
Model<T> small_model(const Kind& kind) {
  Random random(3);
  Model<T> model = make_model<T>(small(kind), random);
  for (auto& p : model.parameters)  // else a head of small weights hides what differs
    if (p.name == "head.weight") p.value = p.value * 20;
  return model;
}

const Index kIds({2, 6}, {0, 1, 2, 3, 4, 0, 3, 3, 1, 4, 2, 0});
const Index kNext({2, 6}, {1, 2, 3, 4, 0, 1, 3, 1, 4, 2, 0, 2});

Index columns(const Index& ids, std::int64_t from, std::int64_t to) {
  std::vector<std::int64_t> some;
  for (std::int64_t b = 0; b < ids.dim(0); ++b)
    for (std::int64_t t = from; t < to; ++t) some.push_back(ids.at({b, t}));
  return {{ids.dim(0), to - from}, some};
}

template <class T, class U>
double distance(const Tensor<T>& found, const Tensor<U>& expected) {
  const std::vector<U> values = expected.values();
  return closeness::error(found.values(), {values.begin(), values.end()});
}

/// Heads 0 1 2 3 of C / 4 rows each as 0 2 1 3.
template <class T>
Tensor<T> heads_swapped(const Tensor<T>& weight) {
  const auto heads = split(weight, {2, 2, 2, 2}, 0);
  return concatenate<T>({heads[0], heads[2], heads[1], heads[3]}, 0);
}

}  // namespace

TEST_CASE_TEMPLATE("tiny_lm: with a cache the logits are those of the full pass", T, float,
                   double) {
  for (const Kind& kind : kKinds) {
    const auto model = small_model<T>(kind);
    const Tensor<T> full = forward(model, kIds);
    REQUIRE(full.shape() == Shape{2, 6, 5});
    Cache<T> cache;
    // Three symbols at once, then one by one.
    for (auto [from, to] : std::vector<std::pair<int, int>>{{0, 3}, {3, 4}, {4, 5}, {5, 6}}) {
      const Tensor<T> some = forward(model, columns(kIds, from, to), &cache);
      CHECK(cache.length == to);
      CHECK(distance(some, slice(full, 1, from, to)) < closeness::tolerance<T>());
    }
  }
}

TEST_CASE_TEMPLATE("tiny_lm: the composition gives the fused op's loss and gradients", T, float,
                   double) {
  for (const Kind& kind : kKinds) {
    auto fused = small_model<T>(kind), composed = fused;
    composed.composition = true;
    Tape<T> tape;
    tape.watch(fused.parameters, composed.parameters);
    const auto loss = cross_entropy(forward(fused, kIds), kNext);
    const auto same = cross_entropy(forward(composed, kIds), kNext);
    CHECK(distance(loss, same) < closeness::tolerance<T>());
    const auto found = tape.gradient(loss, fused.parameters);
    const auto expected = tape.gradient(same, composed.parameters);
    for (std::size_t i = 0; i < found.size(); ++i) {
      INFO(fused.parameters[i].name);
      CHECK(distance(found[i], expected[i]) < closeness::tolerance<T>());
    }
  }
}

TEST_CASE("tiny_lm: the gradients of all parameters are central differences") {
  GradientCheck<double> options;
  options.step = 1e-6;  // norms of short rows bend so much that 1e-5 is off by 1e-6
  for (const Kind& kind : kKinds) {
    const auto model = small_model<double>(kind);
    std::vector<Tensor<double>> values;
    for (const auto& p : model.parameters) values.push_back(p.value);
    const auto report = check_gradients<double>(
        [&](const std::vector<Tensor<double>>& x) {
          Model<double> moved = model;
          for (std::size_t i = 0; i < x.size(); ++i) moved.parameters[i].value = x[i];
          return cross_entropy(forward(moved, kIds), kNext);
        },
        values, options);
    CHECK_MESSAGE(report.ok, report.message);
  }
}

TEST_CASE("tiny_lm: no symbol sees those after it") {
  for (const Kind& kind : kKinds) {
    const auto model = small_model<double>(kind);
    std::vector<std::int64_t> ids = columns(kIds, 0, 6).values();
    ids[4] = 1;
    const Tensor<double> one = forward(model, kIds), other = forward(model, Index({2, 6}, ids));
    CHECK(closeness::same_bits(slice(one, 1, 0, 4), slice(other, 1, 0, 4)));
    CHECK(distance(slice(one, 1, 4, 6), slice(other, 1, 4, 6)) > 1e-3);
  }
}

TEST_CASE("tiny_lm: heads paired by halves are adjacent heads in another order") {
  auto halves = small_model<double>({Attention::differential, Pairing::halves, true, false});
  auto adjacent = halves;
  adjacent.config.pairing = Pairing::adjacent;
  CHECK(distance(forward(adjacent, kIds), forward(halves, kIds)) > 1e-3);
  for (auto& p : adjacent.parameters)
    for (const char* name : {"attention.q.weight", "attention.k.weight", "attention.v.weight"})
      if (p.name.find(name) != std::string::npos) p.value = heads_swapped(p.value);
  CHECK(distance(forward(adjacent, kIds), forward(halves, kIds)) < 1e-12);
}

TEST_CASE("tiny_lm: float and double are one model but for rounding") {
  for (const Kind& kind : kKinds)
    CHECK(distance(forward(small_model<float>(kind), kIds),
                   forward(small_model<double>(kind), kIds)) < closeness::tolerance<float>());
}

TEST_CASE("tiny_lm: the two attentions differ by vectors in size, not by matrices") {
  Config c;
  c.symbols = 63;
  Random random(1);
  c.head_norm = false;
  c.attention = Attention::ordinary;
  const std::int64_t ordinary = count(make_model<float>(c, random).parameters);
  // 2 x 63 C for the symbols, 4 C^2 + 3 x 344 C + 2 C a layer, C for the last norm
  CHECK(ordinary == 128 * (2 * 63 + 2 * (4 * 128 + 3 * 344 + 2) + 1));
  c.attention = Attention::differential;
  CHECK(count(make_model<float>(c, random).parameters) == ordinary + 2 * 4 * 16);
  c.head_norm = true;
  CHECK(count(make_model<float>(c, random).parameters) == ordinary + 2 * (4 * 16 + 32));
  c.tied = true;
  CHECK(count(make_model<float>(c, random).parameters) == ordinary + 2 * (4 * 16 + 32) - 63 * 128);
}

TEST_CASE_TEMPLATE("tiny_lm: training lowers the loss, to the same bits by two threads", T, float,
                   double) {
  const int before = num_threads();
  for (const Kind& kind : kKinds) {
    std::vector<double> losses[2];
    for (int threads : {1, 2}) {
      set_num_threads(threads);
      Config config = small(kind);
      config.width = 64;  // large enough for threads
      config.context = 64;
      Random random(5);
      auto model = make_model<T>(config, random);
      AdamW<T> adamw({1e-2});
      Ids ids, next;
      for (std::int64_t i = 0; i < 16 * 64; ++i) {
        ids.push_back(i % 5);
        next.push_back((i + 1) % 5);
      }
      for (int step = 0; step < 5; ++step) {
        Tape<T> tape;
        tape.watch(model.parameters);
        const auto loss =
            cross_entropy(forward(model, Index({16, 64}, ids)), Index({16, 64}, next));
        auto gradients = std::move(tape).gradient(loss, model.parameters);
        clip_by_global_norm(gradients, 1);
        adamw.step(model.parameters, gradients);
        losses[threads - 1].push_back(static_cast<double>(loss.item()));
      }
    }
    CHECK(losses[0] == losses[1]);
    CHECK(losses[0].back() < losses[0].front() - 0.5);
  }
  set_num_threads(before);
}

TEST_CASE("tiny_lm: sizes that make no model are refused") {
  Config c = small(kKinds[0]);
  const auto refusal = [&] { return test::invalid([&] { check(c); }); };
  c.width = 12;
  CHECK(refusal() == "width 12 and 4 heads: the width must be a multiple of twice the heads");
  c.width = 6, c.heads = 3;
  CHECK(refusal() == "3 heads: differential attention takes them in pairs");
  c.attention = Attention::ordinary;
  CHECK(refusal() == "nothing was thrown");
  c.layers = 0;
  CHECK(refusal() == "a size of 0: 1 to 2^20 is required");
}
