// Optimisers against plain loops of their papers' formulas, in double, and against facts that are
// known without computing; and their states.
#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

#include <xtape/xtape.hpp>

#include "support/close.hpp"
#include "support/errors.hpp"
#include "support/model.hpp"
#include "support/near.hpp"

namespace {

using namespace xtape;
using test::a_model;
using test::Gradients;
using test::same_bits;
using test::some_gradients;

/// The rounding of T, some of which each step adds.
template <class T>
constexpr double kStep = sizeof(T) == sizeof(double) ? 1e-14 : 4e-6;

/// One value, stepped by hand.
struct PlainAdamW {
  AdamWOptions o;
  double m = 0, v = 0;
  int t = 0;
  double step(double p, double g, double rate, bool decays) {
    ++t;
    m = o.beta1 * m + (1 - o.beta1) * g;
    v = o.beta2 * v + (1 - o.beta2) * g * g;
    const double m_hat = m / (1 - std::pow(o.beta1, t)), v_hat = v / (1 - std::pow(o.beta2, t));
    const double decayed = decays ? p - rate * o.weight_decay * p : p;
    return decayed - rate * m_hat / (std::sqrt(v_hat) + o.epsilon);
  }
};

struct PlainSgd {
  SgdOptions o;
  double buffer = 0;
  double step(double p, double g, double rate, bool decays) {
    if (decays) g += o.weight_decay * p;
    buffer = o.momentum * buffer + g;
    return p - rate * (o.nesterov ? g + o.momentum * buffer : buffer);
  }
};

/// 40 steps of an optimiser at changing rates beside a plain one for each value.
template <class T, class Optimiser, class Plain>
void check_against(Optimiser optimiser, const Plain& plain, std::size_t decayed_rank = 2) {
  Parameters<T> model = a_model<T>();
  std::vector<std::vector<double>> expected;
  for (const Parameter<T>& p : model) expected.push_back(cast<double>(p.value).values());
  std::vector<std::vector<Plain>> states;
  for (const auto& values : expected) states.emplace_back(values.size(), plain);
  for (int step = 0; step < 40; ++step) {
    const double rate = 0.05 / (1 + step % 3);
    const Gradients<T> gradients = some_gradients(model, static_cast<std::uint64_t>(step));
    optimiser.step(model, gradients, rate);
    for (std::size_t i = 0; i < model.size(); ++i) {
      const std::vector<T> g = gradients[i].values();
      const bool decays = model[i].value.shape().size() >= decayed_rank;
      for (std::size_t j = 0; j < g.size(); ++j)
        expected[i][j] = states[i][j].step(expected[i][j], static_cast<double>(g[j]), rate, decays);
      CAPTURE(model[i].name);
      CHECK(closeness::error(model[i].value.values(), expected[i]) < 40 * kStep<T>);
    }
  }
}

}  // namespace

TEST_CASE_TEMPLATE("AdamW is the algorithm of its paper, value by value", T, float, double) {
  const AdamWOptions usual, other{1e-3, 0.8, 0.95, 1e-3, 0.3};
  AdamWOptions every = other, none = other;
  every.decayed_rank = 0;
  none.decayed_rank = 9;
  check_against<T>(AdamW<T>(), PlainAdamW{usual});
  check_against<T>(AdamW<T>(other), PlainAdamW{other});
  check_against<T>(AdamW<T>(every), PlainAdamW{every}, 0);
  check_against<T>(AdamW<T>(none), PlainAdamW{none}, 9);
}

TEST_CASE_TEMPLATE("Sgd is gradient descent, with momentum and Nesterov's, value by value", T,
                   float, double) {
  for (const SgdOptions& o :
       {SgdOptions{0.1}, SgdOptions{0.1, 0.9}, SgdOptions{0.1, 0, 0.3}, SgdOptions{0.1, 0.8, 0.3},
        SgdOptions{0.1, 0.8, 0.3, true}, SgdOptions{0.1, 0.8, 0.3, true, 0}})
    check_against<T>(Sgd<T>(o), PlainSgd{o}, static_cast<std::size_t>(o.decayed_rank));
}

TEST_CASE("Adam's first step is the rate against the gradient's sign, whatever its size") {
  AdamWOptions options;
  options.epsilon = 0;
  options.weight_decay = 0;
  AdamW<double> adamw(options);
  Parameters<double> model{{"x", Tensor<double>::zeros({4})}};
  adamw.step(model, {Tensor<double>{1e-8, -3, 1e30, -1e-30}}, 0.25);
  const std::vector<double> found = model[0].value.values(), expected{-0.25, 0.25, -0.25, 0.25};
  for (std::size_t i = 0; i < 4; ++i) CHECK(test::near(found[i], expected[i], 8 * test::kRounding));
}

TEST_CASE("Adam keeps its step where the gradient stays the same") {
  // Then both unbiased means are those of one gradient.
  AdamW<double> adamw({0.01, 0.9, 0.999, 0, 0});
  Parameters<double> model{{"x", Tensor<double>{1.0}}};
  for (int step = 1; step <= 50; ++step) {
    adamw.step(model, {Tensor<double>{7.0}});
    // Each step has some roundings of numbers of at most 1.
    CHECK(std::abs(model[0].value.item() - (1 - 0.01 * step)) < 10 * step * test::kRounding);
  }
}

TEST_CASE_TEMPLATE("where gradients are 0 only weight decay moves, and matrices alone", T, float,
                   double) {
  const Parameters<T> before = a_model<T>();
  Gradients<T> zeros;
  for (const Parameter<T>& p : before) zeros.push_back(Tensor<T>::zeros(p.value.shape()));
  const auto check = [&](auto optimiser) {
    Parameters<T> model = before;
    optimiser.step(model, zeros, 0.25);
    for (std::size_t i = 0; i < model.size(); ++i) {
      const Tensor<T>& old = before[i].value;
      // 1 - 0.25 * 0.5, exactly
      CHECK(closeness::same_bits(model[i].value, old.rank() < 2 ? old : old * 0.875));
    }
  };
  check(AdamW<T>({1, 0.9, 0.999, 1e-8, 0.5}));
  check(Sgd<T>({1, 0, 0.5}));
}

TEST_CASE("a step without a rate takes that of the options") {
  const auto check = [](auto one, auto other, double rate) {
    Parameters<double> a = a_model<double>(), b = a;
    one.step(a, some_gradients(a, 1));
    other.step(b, some_gradients(b, 1), rate);
    CHECK(same_bits(a, b));
    CHECK(!same_bits(a, a_model<double>()));
  };
  check(AdamW<double>({0.3}), AdamW<double>({0.7}), 0.3);
  check(Sgd<double>({0.3, 0.9}), Sgd<double>({0.7, 0.9}), 0.3);
}

TEST_CASE("a step makes new tensors, off the tape, and leaves the old ones") {
  Parameters<double> model{{"w", Tensor<double>{{1, 2}, {3, 4}}}};
  const Tensor<double> old = model[0].value;
  Tape<double> tape;
  tape.watch(model);
  const auto gradients = tape.gradient(sum(square(model[0].value)), model, Record::yes);
  const std::int64_t lines = tape.size();
  AdamW<double>().step(model, gradients);
  Sgd<double>({0.1, 0.9}).step(model, gradients);
  CHECK(tape.size() == lines);
  CHECK(test::misuse([&] { tape.line(model[0].value); }) != "nothing was thrown");
  CHECK(old.values() == std::vector<double>{1, 2, 3, 4});
  CHECK(model[0].value.values() != old.values());
  CHECK(gradients[0].values() == std::vector<double>{2, 4, 6, 8});
}

TEST_CASE("strided values and gradients step as their copies do") {
  const auto check = [](auto one) {
    auto other = one;
    Random random(4);
    const auto x = random.normal<float>({6, 4}), g = random.normal<float>({12});
    Parameters<float> model{{"x", slice(transpose(x), 1, 0, 6, 2)}};
    Parameters<float> copy{{"x", Tensor<float>({4, 3}, model[0].value.values())}};
    const Gradients<float> turned{transpose(reshape(g, {3, 4}))};
    const Gradients<float> dense{Tensor<float>({4, 3}, turned[0].values())};
    for (int step = 0; step < 3; ++step) {
      one.step(model, turned);
      other.step(copy, dense);
    }
    CHECK(same_bits(model, copy));
  };
  check(AdamW<float>());
  check(Sgd<float>({0.1}));
  check(Sgd<float>({0.1, 0.9}));
}

TEST_CASE_TEMPLATE("a state that is loaded goes on with the same bits", T, float, double) {
  const auto check = [](auto make) {
    for (const int before : {0, 1, 7}) {
      CAPTURE(before);
      auto whole = make();
      Parameters<T> model = a_model<T>();
      int step = 0;
      for (; step < before; ++step)
        whole.step(model, some_gradients(model, static_cast<std::uint64_t>(step)));
      auto resumed = make();
      resumed.load_state(whole.state());
      CHECK(same_bits(resumed.state(), whole.state()));
      Parameters<T> copy = model;
      for (; step < before + 5; ++step) {
        const auto gradients = some_gradients(model, static_cast<std::uint64_t>(step));
        whole.step(model, gradients);
        resumed.step(copy, gradients);
      }
      CHECK(same_bits(model, copy));
      CHECK(same_bits(resumed.state(), whole.state()));
    }
  };
  check([] { return AdamW<T>(); });
  check([] { return Sgd<T>({0.1, 0.9}); });
  check([] { return Sgd<T>({0.1}); });
}

TEST_CASE("a state has the names of the parameters, and the number of steps") {
  const auto names = [](const Parameters<double>& state) {
    std::string text;
    for (const auto& p : state) text += p.name + to_string(p.value.shape()) + " ";
    return text;
  };
  Parameters<double> model{{"w", Tensor<double>{{1, 2}}}, {"b", 3}};
  const Gradients<double> gradients{Tensor<double>{{3, -4}}, 2};
  AdamW<double> adamw({0.1, 0.75, 0.5});
  CHECK(names(adamw.state()) == "adamw.step[] ");
  for (int step = 0; step < 2; ++step) adamw.step(model, gradients);
  CHECK(names(adamw.state()) ==
        "adamw.step[] adamw.m.w[1, 2] adamw.v.w[1, 2] adamw.m.b[] adamw.v.b[] ");
  CHECK(adamw.state()[0].value.item() == 2);
  // (1 - beta^2) of the gradient, which stayed the same, and of its square
  CHECK(adamw.state()[1].value.values() == std::vector<double>{3 * 0.4375, -4 * 0.4375});
  CHECK(adamw.state()[4].value.item() == 4 * 0.75);

  Sgd<double> sgd({0.1, 0.5}), plain({0.1});
  sgd.step(model, gradients);
  plain.step(model, gradients);
  CHECK(names(sgd.state()) == "sgd.momentum.w[1, 2] sgd.momentum.b[] ");
  CHECK(sgd.state()[0].value.values() == std::vector<double>{3, -4});
  CHECK(plain.state().empty());
}

TEST_CASE_TEMPLATE("steps have the same bits for any number of threads", T, float, double) {
  const int before = num_threads();
  const auto run = [](int threads) {
    set_num_threads(threads);
    Parameters<T> model = a_model<T>(40001);
    AdamW<T> adamw;
    Sgd<T> sgd({0.1, 0.9}), plain({0.1});
    for (std::uint64_t step = 0; step < 3; ++step) {
      auto gradients = some_gradients(model, step);
      clip_by_global_norm(gradients, 1);
      adamw.step(model, gradients);
      sgd.step(model, gradients);
      plain.step(model, gradients);
    }
    return model;
  };
  const Parameters<T> one = run(1);
  for (const int threads : {2, 3, 8}) CHECK(same_bits(run(threads), one));
  set_num_threads(before);
}

TEST_CASE_TEMPLATE("both optimisers fit a line to points that lie on it", T, float, double) {
  const auto fit = [](auto optimiser, int steps) {
    const Tensor<T> x{{0}, {1}, {2}, {3}}, y{{1}, {3}, {5}, {7}};
    Parameters<T> model{{"slope", Tensor<T>{{0}}}, {"start", Tensor<T>{0}}};
    for (int step = 0; step < steps; ++step) {
      Tape<T> tape;
      tape.watch(model);
      const auto loss = mse(matmul(x, at(model, "slope")) + at(model, "start"), y);
      optimiser.step(model, std::move(tape).gradient(loss, model));
    }
    // Both converge linearly; what is left is far below one hundredth.
    CHECK(std::abs(at(model, "slope").item() - 2) < 0.01);
    CHECK(std::abs(at(model, "start").item() - 1) < 0.01);
  };
  fit(Sgd<T>({0.05, 0.9}), 300);
  fit(AdamW<T>({0.05, 0.9, 0.99, 1e-8, 0}), 600);
}
