// The golden cases: inputs, cotangents, outputs and all gradients of 12 attention and 4 lambda
// cases, computed in 40-digit arithmetic and rounded to double (tests/data/golden.json).
//
// In case 9 (logits near 1900) 40 digits are too few: a probability of 1 - 3e-42 became 1. Its dq
// and dk, all below 1e-37, are those of math.md's formula so rounded, as double rounds it too;
// in 1200 digits they differ from these by up to 2.5 times the array's maximum.
//
//   for (const golden::AttentionCase& c : golden::load().attention) { ... }
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace golden {

using Values = std::vector<double>;

/// One case of differential attention; arrays are row-major.
struct AttentionCase {
  std::string label;               // for a test's messages: number, shape, mask, coefficient
  std::vector<std::size_t> shape;  // [B, H, T, D], of q1, k1, q2, k2 and their gradients
  bool causal = false;
  double coefficient = 0;
  Values q1, k1, q2, k2;
  Values value, cotangent, out;  // [B, H, T, 2D]
  Values dq1, dk1, dq2, dk2;
  Values dvalue;  // [B, H, T, 2D]
  double dcoefficient = 0;
};

/// One case of lambda; vectors are [D].
struct LambdaCase {
  std::string label;
  std::vector<std::size_t> shape;  // [D]
  double lambda_init = 0;
  double cotangent = 1;  // the file gives none: its gradients are those for 1
  Values q1, k1, q2, k2;
  double out = 0;
  Values dq1, dk1, dq2, dk2;
};

struct Cases {
  std::vector<AttentionCase> attention;
  std::vector<LambdaCase> lambda;
};

/// The cases of golden.json in the folder XTAPE_TEST_DATA, which the build defines.
Cases load();

/// Throws: std::runtime_error that names the file, and the case and field if it is one of those.
Cases load(const std::string& path);

}  // namespace golden
