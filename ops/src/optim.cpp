// Optimisers: one loop over memory for each parameter.
#include <xtape/ops/optim.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <string>
#include <utility>

#include <xtape/ops/reduce.hpp>

#include "map.hpp"

namespace xtape {

using namespace detail;

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

/// Throws unless 0 <= value < limit.
void check_number(const char* op, const char* name, double value, double limit = kInf) {
  if (value >= 0 && value < limit) return;
  fail(op, name, " ", value, ": ",
       limit == kInf ? "a finite number of at least 0 is required."
                     : "a number of at least 0 and below 1 is required.");
}

/// Throws unless there is a gradient of its shape for each parameter, and each name stands once.
template <class T>
void check_gradients(const char* op, const Parameters<T>& model, const Tensors<T>& gradients) {
  if (gradients.size() != model.size())
    fail(op, gradients.size(), " gradients for ", model.size(),
         " parameters: one for each is required, in the same order.");
  std::set<std::string> names;
  for (std::size_t i = 0; i < model.size(); ++i) {
    const Dims &shape = body(model[i].value, op).shape, &given = body(gradients[i], op).shape;
    if (given != shape)
      fail(op, "a gradient of shape ", given, " for \"", model[i].name, "\" of shape ", shape,
           ": they must be equal.");
    if (!names.insert(model[i].name).second)
      fail(op, "two parameters are named \"", model[i].name, "\": each name may stand once.");
  }
}

/// What an optimiser remembers is a list: `first` values of its own, then for each parameter one
/// for each of some prefixes, named by prefix and parameter.
struct Layout {
  const char* op;
  std::size_t first;
  std::vector<std::string> prefixes;
};

/// Begins a state with zeros; throws unless one that has begun is of this model.
template <class T>
void prepare(const Layout& layout, const Parameters<T>& model, Parameters<T>& state) {
  const bool begins = state.size() == layout.first;
  const std::size_t size = layout.first + model.size() * layout.prefixes.size();
  if (!begins && state.size() != size)
    fail(layout.op, "a model of ", model.size(), " parameters, where the state is of ",
         (state.size() - layout.first) / layout.prefixes.size(),
         ": the model must be that of the steps before.");
  std::size_t next = layout.first;
  for (const Parameter<T>& p : model)
    for (const std::string& prefix : layout.prefixes) {
      const std::string name = prefix + p.name;
      if (begins) {
        state.push_back({name, Tensor<T>::zeros(p.value.shape())});
        continue;
      }
      const Parameter<T>& found = state[next++];
      const Dims &shape = p.value.raw()->shape, &before = found.value.raw()->shape;
      if (found.name != name || before != shape)
        fail(layout.op, "\"", p.name, "\" of shape ", shape, ", where the state has \"", found.name,
             "\" of shape ", before, ": the model must be that of the steps before.");
    }
}

/// A copy of a state, checked.
template <class T>
Parameters<T> checked(const Layout& layout, const Parameters<T>& state) {
  const std::size_t each = layout.prefixes.size();
  if (state.size() < layout.first ||
      (each == 0 ? state.size() > layout.first : (state.size() - layout.first) % each != 0))
    fail(layout.op, "a state of ", state.size(), " values: what state() gave with ",
         "the same options is required.");
  Parameters<T> copy;
  for (const Parameter<T>& p : state) {
    body(p.value, layout.op);
    if (copy.size() >= layout.first) {
      const std::size_t slot = (copy.size() - layout.first) % each;
      const std::string& prefix = layout.prefixes[slot];
      const Parameter<T>& base = slot == 0 ? p : copy[copy.size() - slot];
      const std::string parameter =
          base.name.substr(std::min(base.name.size(), layout.prefixes[0].size()));
      if (p.name != prefix + parameter || p.value.shape() != base.value.shape())
        fail(layout.op, "\"", p.name, "\" of shape ", p.value.shape(), " in a state: \"", prefix,
             parameter, "\" of shape ", base.value.shape(), " is required there.");
    }
    copy.push_back({p.name, stop_gradient(p.value)});
  }
  return copy;
}

/// The same values without gaps.
template <class T>
Tensor<T> flat(const Tensor<T>& x) {
  return x.is_contiguous() ? x : Tensor<T>(dense(*x.raw()));
}

/// Threads share the values of a parameter.
template <class Job>
void for_values(std::int64_t n, const Job& job) {
  parallel_blocks(n, static_cast<double>(n) / 2, job);
}

// The loops over memory. What they write is new: compilers are told so, and take several values at
// once.

template <class T>
using Out = T* __restrict;

template <class T>
struct AdamWNumbers {
  T keep, rate, beta1, rest1, beta2, rest2, unbias2, epsilon;
};

template <class T>
void adamw_values(std::int64_t n, const AdamWNumbers<T> c, const T* p, const T* g, const T* m,
                  const T* v, Out<T> p_next, Out<T> m_next, Out<T> v_next) {
  for (std::int64_t i = 0; i < n; ++i) {
    const T mean = c.beta1 * m[i] + c.rest1 * g[i];
    const T square = c.beta2 * v[i] + c.rest2 * (g[i] * g[i]);
    m_next[i] = mean;
    v_next[i] = square;
    p_next[i] = c.keep * p[i] - c.rate * mean / (std::sqrt(square) * c.unbias2 + c.epsilon);
  }
}

template <class T>
struct SgdNumbers {
  T rate, momentum, decay;
  bool nesterov;
};

template <class T>
void sgd_values(std::int64_t n, const SgdNumbers<T> c, const T* p, const T* g, Out<T> p_next) {
  for (std::int64_t i = 0; i < n; ++i) p_next[i] = p[i] - c.rate * (g[i] + c.decay * p[i]);
}

template <class T>
void momentum_values(std::int64_t n, const SgdNumbers<T> c, const T* p, const T* g, const T* m,
                     Out<T> p_next, Out<T> m_next) {
  for (std::int64_t i = 0; i < n; ++i) {
    const T slope = g[i] + c.decay * p[i];
    const T step = c.momentum * m[i] + slope;
    m_next[i] = step;
    p_next[i] = p[i] - c.rate * (c.nesterov ? slope + c.momentum * step : step);
  }
}

Layout sgd_layout(const SgdOptions& options) {
  if (options.momentum == 0) return {"Sgd", 0, {}};
  return {"Sgd", 0, {"sgd.momentum."}};
}

Layout adamw_layout() { return {"AdamW", 1, {"adamw.m.", "adamw.v."}}; }

}  // namespace

template <class T>
double clip_by_global_norm(std::vector<Tensor<T>>& gradients, double max_norm) {
  if (!(max_norm > 0))
    fail("clip_by_global_norm", "max_norm ", max_norm, ": a number above 0 is required.");
  std::vector<double> norms;
  for (const Tensor<T>& g : gradients) {
    const auto wide =
        map_to<double>(body(g, "clip_by_global_norm"), [](T v) { return static_cast<double>(v); });
    norms.push_back(norm(Tensor<double>(wide)).item());
  }
  const auto parts = static_cast<std::int64_t>(norms.size());
  const double before = norm(Tensor<double>({parts}, norms)).item();
  if (before > max_norm && before < kInf)
    for (Tensor<T>& g : gradients)  // in double: the factor may be too small for a float
      g = map_to<T>(body(g, "clip_by_global_norm"), [factor = max_norm / before](T v) {
        return static_cast<T>(factor * static_cast<double>(v));
      });
  return before;
}

double warmup_cosine(std::int64_t step, double peak, std::int64_t warmup, std::int64_t total,
                     double floor_fraction) {
  check_number("warmup_cosine", "peak", peak);
  if (step < 0) fail("warmup_cosine", "step ", step, ": they are counted from 0.");
  if (warmup < 0 || warmup > total)
    fail("warmup_cosine", "warmup ", warmup, " of ", total,
         " steps: a number from 0 to that of all steps is required.");
  if (!(floor_fraction >= 0 && floor_fraction <= 1))
    fail("warmup_cosine", "floor_fraction ", floor_fraction, ": a number from 0 to 1 is required.");
  if (step < warmup) return peak * static_cast<double>(step + 1) / static_cast<double>(warmup);
  if (step >= total) return peak * floor_fraction;
  constexpr double kPi = 3.14159265358979323846;
  const double done = static_cast<double>(step + 1 - warmup) / static_cast<double>(total - warmup);
  return peak * (floor_fraction + (1 - floor_fraction) * 0.5 * (1 + std::cos(kPi * done)));
}

template <class T>
Sgd<T>::Sgd(SgdOptions options) : options_(options) {
  check_number("Sgd", "rate", options.rate);
  check_number("Sgd", "momentum", options.momentum, 1);
  check_number("Sgd", "weight_decay", options.weight_decay);
}

template <class T>
void Sgd<T>::step(Parameters<T>& model, const std::vector<Tensor<T>>& gradients) {
  step(model, gradients, options_.rate);
}

template <class T>
void Sgd<T>::step(Parameters<T>& model, const std::vector<Tensor<T>>& gradients, double rate) {
  check_number("Sgd", "rate", rate);
  check_gradients("Sgd", model, gradients);
  prepare(sgd_layout(options_), model, state_);
  for (std::size_t i = 0; i < model.size(); ++i) {
    const Tensor<T> p = flat(model[i].value), g = flat(gradients[i]);
    const bool decays = p.rank() >= options_.decayed_rank;
    const SgdNumbers<T> c{static_cast<T>(rate), static_cast<T>(options_.momentum),
                          static_cast<T>(decays ? options_.weight_decay : 0), options_.nesterov};
    auto next = fresh<T>(p.raw()->shape);
    if (state_.empty()) {
      for_values(p.size(), [&](std::int64_t from, std::int64_t to) {
        sgd_values(to - from, c, p.data() + from, g.data() + from, next.data + from);
      });
    } else {
      const Tensor<T> m = flat(state_[i].value);
      auto m_next = fresh<T>(p.raw()->shape);
      for_values(p.size(), [&](std::int64_t from, std::int64_t to) {
        momentum_values(to - from, c, p.data() + from, g.data() + from, m.data() + from,
                        next.data + from, m_next.data + from);
      });
      state_[i].value = m_next.array;
    }
    model[i].value = next.array;
  }
}

template <class T>
void Sgd<T>::load_state(const Parameters<T>& state) {
  state_ = checked(sgd_layout(options_), state);
}

template <class T>
AdamW<T>::AdamW(AdamWOptions options) : options_(options), state_{{"adamw.step", 0}} {
  check_number("AdamW", "rate", options.rate);
  check_number("AdamW", "beta1", options.beta1, 1);
  check_number("AdamW", "beta2", options.beta2, 1);
  check_number("AdamW", "epsilon", options.epsilon);
  check_number("AdamW", "weight_decay", options.weight_decay);
}

template <class T>
void AdamW<T>::step(Parameters<T>& model, const std::vector<Tensor<T>>& gradients) {
  step(model, gradients, options_.rate);
}

template <class T>
void AdamW<T>::step(Parameters<T>& model, const std::vector<Tensor<T>>& gradients, double rate) {
  check_number("AdamW", "rate", rate);
  check_gradients("AdamW", model, gradients);
  prepare(adamw_layout(), model, state_);
  // A float counts to 2^24: then the powers below have long been 0.
  const Tensor<T> steps = state_[0].value + 1;
  const double t = static_cast<double>(steps.item());
  AdamWNumbers<T> c{};
  c.rate = static_cast<T>(rate / (1 - std::pow(options_.beta1, t)));
  c.beta1 = static_cast<T>(options_.beta1);
  c.rest1 = static_cast<T>(1 - options_.beta1);
  c.beta2 = static_cast<T>(options_.beta2);
  c.rest2 = static_cast<T>(1 - options_.beta2);
  c.unbias2 = static_cast<T>(1 / std::sqrt(1 - std::pow(options_.beta2, t)));
  c.epsilon = static_cast<T>(options_.epsilon);
  state_[0].value = steps;
  for (std::size_t i = 0; i < model.size(); ++i) {
    Tensor<T>&m_state = state_[1 + 2 * i].value, &v_state = state_[2 + 2 * i].value;
    const Tensor<T> p = flat(model[i].value), g = flat(gradients[i]);
    const Tensor<T> m = flat(m_state), v = flat(v_state);
    c.keep =
        static_cast<T>(p.rank() < options_.decayed_rank ? 1 : 1 - rate * options_.weight_decay);
    const Dims& shape = p.raw()->shape;
    auto p_next = fresh<T>(shape), m_next = fresh<T>(shape), v_next = fresh<T>(shape);
    for_values(p.size(), [&](std::int64_t from, std::int64_t to) {
      adamw_values(to - from, c, p.data() + from, g.data() + from, m.data() + from, v.data() + from,
                   p_next.data + from, m_next.data + from, v_next.data + from);
    });
    model[i].value = p_next.array;
    m_state = m_next.array;
    v_state = v_next.array;
  }
}

template <class T>
void AdamW<T>::load_state(const Parameters<T>& state) {
  Parameters<T> copy = checked(adamw_layout(), state);
  const auto counts = [](const Tensor<T>& n) {
    return n.rank() == 0 && n.item() >= 0 && n.item() < kInf && n.item() == std::floor(n.item());
  };
  if (copy[0].name != "adamw.step" || !counts(copy[0].value))
    fail("AdamW", "a state that begins with \"", copy[0].name,
         "\": the number of steps as \"adamw.step\" is required there.");
  state_ = std::move(copy);
}

#define XTAPE_INSTANTIATE(T)                                            \
  template double clip_by_global_norm(std::vector<Tensor<T>>&, double); \
  template class Sgd<T>;                                                \
  template class AdamW<T>;
XTAPE_INSTANTIATE(float)
XTAPE_INSTANTIATE(double)
#undef XTAPE_INSTANTIATE

}  // namespace xtape
