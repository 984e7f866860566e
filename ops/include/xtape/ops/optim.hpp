// Optimisers: from a model and its gradients to the next model. No tensor is modified; each value
// is replaced by a new one, off every tape.
//
//   AdamW<float> adamw({3e-3, 0.9, 0.95});
//   for (std::int64_t step = 0; step < total; ++step) {
//     Tape<float> tape;
//     tape.watch(model);
//     auto gradients = std::move(tape).gradient(loss(model), model);
//     clip_by_global_norm(gradients, 1);
//     adamw.step(model, gradients, warmup_cosine(step, 3e-3, 100, total, 0.1));
//   }
#pragma once

#include <cstdint>
#include <vector>

#include <xtape/parameters.hpp>

namespace xtape {

/// Scales all gradients by one factor, so that the norm of all their values together is max_norm at
/// most; returns the norm before. One that is not finite is returned, and changes nothing. (PyTorch
/// adds 1e-6 to the norm that it divides by.)
/// Throws: std::invalid_argument for a max_norm that is not above 0.
/// Not an op: it is computed off every tape.
/// Source: Pascanu, Mikolov and Bengio, "On the difficulty of training recurrent neural networks",
/// ICML 2013, section 3.2
template <class T>
XTAPE_API double clip_by_global_norm(std::vector<Tensor<T>>& gradients, double max_norm);

/// The learning rate of a step, counted from 0: for `warmup` steps it rises in a line, and is peak
/// at the last of them; then half a cosine falls to floor_fraction of the peak, which the last of
/// `total` steps has, and whatever may follow.
/// Throws: std::invalid_argument for a step below 0, a peak that is no finite number of at least 0,
/// a warmup outside of [0, total], or a floor_fraction outside of [0, 1].
/// Not an op: it is of numbers.
/// Source: Loshchilov and Hutter, "SGDR: stochastic gradient descent with warm restarts", ICLR
/// 2017, equation 5
XTAPE_API double warmup_cosine(std::int64_t step, double peak, std::int64_t warmup,
                               std::int64_t total, double floor_fraction);

/// weight_decay applies to values of at least `decayed_rank` axes: to matrices, but neither to
/// biases nor to gains. 0 is for all.
struct SgdOptions {
  double rate = 1e-3;
  double momentum = 0;
  double weight_decay = 0;
  bool nesterov = false;
  int decayed_rank = 2;
};

/// Gradient descent with momentum; weight decay is a part of the gradient.
/// m is 0 at first: g' = g + weight_decay p, m = momentum m + g', p = p - rate m, and with nesterov
/// p = p - rate (g' + momentum m).
/// Source: Sutskever, Martens, Dahl and Hinton, "On the importance of initialization and momentum
/// in deep learning", ICML 2013, section 2, with the rate outside of m
template <class T>
class XTAPE_API Sgd {
 public:
  /// Throws: std::invalid_argument for a rate or weight_decay that is no finite number of at least
  /// 0, or a momentum outside of [0, 1).
  explicit Sgd(SgdOptions options = {});

  /// Replaces every value of the model. gradients: one for each, in its order and shape.
  /// Throws: std::invalid_argument, before anything changes, when they are not, two names are
  /// equal, or the model has not the names and shapes of the steps before.
  void step(Parameters<T>& model, const std::vector<Tensor<T>>& gradients);
  /// The same with a rate for this step.
  void step(Parameters<T>& model, const std::vector<Tensor<T>>& gradients, double rate);

  /// What is remembered, as `sgd.momentum.NAME`: nothing without momentum, or before the first
  /// step.
  Parameters<T> state() const { return state_; }
  /// Goes on from there, with the same bits.
  /// Throws: std::invalid_argument for what is no state of an Sgd.
  void load_state(const Parameters<T>& state);

 private:
  SgdOptions options_;
  Parameters<T> state_;
};

/// As of SgdOptions, decayed_rank says what weight_decay applies to.
struct AdamWOptions {
  double rate = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0.01;
  int decayed_rank = 2;
};

/// Adam with decoupled weight decay, and bias correction.
/// m and v are 0 at first; in step t, m = beta1 m + (1 - beta1) g, v = beta2 v + (1 - beta2) g^2,
/// p = (1 - rate weight_decay) p - rate m / (1 - beta1^t) / (sqrt(v / (1 - beta2^t)) + epsilon).
/// Source: Loshchilov and Hutter, "Decoupled weight decay regularization", ICLR 2019, algorithm 2,
/// where the rate multiplies the decay too
template <class T>
class XTAPE_API AdamW {
 public:
  /// Throws: std::invalid_argument for a rate, epsilon or weight_decay that is no finite number of
  /// at least 0, or betas outside of [0, 1).
  explicit AdamW(AdamWOptions options = {});

  /// Replaces every value of the model. gradients: one for each, in its order and shape.
  /// Throws: std::invalid_argument, before anything changes, when they are not, two names are
  /// equal, or the model has not the names and shapes of the steps before.
  void step(Parameters<T>& model, const std::vector<Tensor<T>>& gradients);
  /// The same with a rate for this step.
  void step(Parameters<T>& model, const std::vector<Tensor<T>>& gradients, double rate);

  /// What is remembered: the number of steps as `adamw.step`, then for each parameter m as
  /// `adamw.m.NAME` and v as `adamw.v.NAME`.
  Parameters<T> state() const { return state_; }
  /// Goes on from there, with the same bits.
  /// Throws: std::invalid_argument for what is no state of an AdamW.
  void load_state(const Parameters<T>& state);

 private:
  AdamWOptions options_;
  Parameters<T> state_;
};

}  // namespace xtape
