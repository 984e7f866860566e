// Operations on the processor's registers that xsimd has not, or not the same in all versions.
// simd.hpp gives them for xsimd's vectors.
#pragma once

#include <cstdint>

#if defined(__SSE2__) || defined(_M_X64)
#include <immintrin.h>
#define XTAPE_REGISTERS_X86
#elif defined(__aarch64__) || defined(_M_ARM64)
#include <arm_neon.h>
#endif

namespace xtape::detail {
namespace {

// least, greatest: y where either is NaN. on ARM: NaN.
// swapped: values that lie kApart (1, 2, ... half of the width) from one another change places.
// widened_sum: the first half of float values plus the second, in double.
// widened_products: the products of the first halves plus those of the second, which are exact.
#ifdef XTAPE_REGISTERS_X86
#define XTAPE_LEAST_GREATEST(Register, prefix, suffix)                                  \
  inline Register least(Register x, Register y) { return prefix##_min_##suffix(x, y); } \
  inline Register greatest(Register x, Register y) { return prefix##_max_##suffix(x, y); }

XTAPE_LEAST_GREATEST(__m128, _mm, ps)
XTAPE_LEAST_GREATEST(__m128d, _mm, pd)
template <int kApart>
__m128 swapped(__m128 x) {
  return _mm_shuffle_ps(x, x, kApart == 1 ? 0xB1 : 0x4E);
}
template <int kApart>
__m128d swapped(__m128d x) {
  return _mm_shuffle_pd(x, x, 1);
}
inline __m128d widened_sum(__m128 x) {
  return _mm_add_pd(_mm_cvtps_pd(x), _mm_cvtps_pd(_mm_movehl_ps(x, x)));
}
inline __m128d widened_products(__m128 x, __m128 y) {
  return _mm_add_pd(
      _mm_mul_pd(_mm_cvtps_pd(x), _mm_cvtps_pd(y)),
      _mm_mul_pd(_mm_cvtps_pd(_mm_movehl_ps(x, x)), _mm_cvtps_pd(_mm_movehl_ps(y, y))));
}
// Four rows of four values, or two of two, step apart, become columns of `to`.
inline void transpose_block(const float* from, std::int64_t step, float* to, std::int64_t to_step) {
  __m128 a = _mm_loadu_ps(from), b = _mm_loadu_ps(from + step);
  __m128 c = _mm_loadu_ps(from + 2 * step), d = _mm_loadu_ps(from + 3 * step);
  _MM_TRANSPOSE4_PS(a, b, c, d);
  _mm_storeu_ps(to, a);
  _mm_storeu_ps(to + to_step, b);
  _mm_storeu_ps(to + 2 * to_step, c);
  _mm_storeu_ps(to + 3 * to_step, d);
}
inline void transpose_block(const double* from, std::int64_t step, double* to,
                            std::int64_t to_step) {
  const __m128d a = _mm_loadu_pd(from), b = _mm_loadu_pd(from + step);
  _mm_storeu_pd(to, _mm_unpacklo_pd(a, b));
  _mm_storeu_pd(to + to_step, _mm_unpackhi_pd(a, b));
}
// x f, computed in double.
inline __m128 times_in_double(__m128 x, __m128d f) {
  return _mm_movelh_ps(_mm_cvtpd_ps(_mm_mul_pd(_mm_cvtps_pd(x), f)),
                       _mm_cvtpd_ps(_mm_mul_pd(_mm_cvtps_pd(_mm_movehl_ps(x, x)), f)));
}
#ifdef __AVX__
XTAPE_LEAST_GREATEST(__m256, _mm256, ps)
XTAPE_LEAST_GREATEST(__m256d, _mm256, pd)
template <int kApart>
__m256 swapped(__m256 x) {
  return kApart == 4 ? _mm256_permute2f128_ps(x, x, 1)
                     : _mm256_permute_ps(x, kApart == 1 ? 0xB1 : 0x4E);
}
template <int kApart>
__m256d swapped(__m256d x) {
  return kApart == 2 ? _mm256_permute2f128_pd(x, x, 1) : _mm256_permute_pd(x, 0x5);
}
inline __m256d widened_sum(__m256 x) {
  return _mm256_add_pd(_mm256_cvtps_pd(_mm256_castps256_ps128(x)),
                       _mm256_cvtps_pd(_mm256_extractf128_ps(x, 1)));
}
inline __m256d widened_products(__m256 x, __m256 y) {
  return _mm256_add_pd(_mm256_mul_pd(_mm256_cvtps_pd(_mm256_castps256_ps128(x)),
                                     _mm256_cvtps_pd(_mm256_castps256_ps128(y))),
                       _mm256_mul_pd(_mm256_cvtps_pd(_mm256_extractf128_ps(x, 1)),
                                     _mm256_cvtps_pd(_mm256_extractf128_ps(y, 1))));
}
#endif
#ifdef __AVX512F__
XTAPE_LEAST_GREATEST(__m512, _mm512, ps)
XTAPE_LEAST_GREATEST(__m512d, _mm512, pd)
template <int kApart>
__m512 swapped(__m512 x) {
  return kApart >= 4 ? _mm512_shuffle_f32x4(x, x, kApart == 4 ? 0xB1 : 0x4E)
                     : _mm512_permute_ps(x, kApart == 1 ? 0xB1 : 0x4E);
}
template <int kApart>
__m512d swapped(__m512d x) {
  return kApart >= 2 ? _mm512_shuffle_f64x2(x, x, kApart == 2 ? 0xB1 : 0x4E)
                     : _mm512_permute_pd(x, 0x55);
}
inline __m512d widened_sum(__m512 x) {
  return _mm512_add_pd(_mm512_cvtps_pd(_mm512_castps512_ps256(x)),
                       _mm512_cvtps_pd(_mm512_extractf32x8_ps(x, 1)));
}
inline __m512d widened_products(__m512 x, __m512 y) {
  return _mm512_fmadd_pd(_mm512_cvtps_pd(_mm512_castps512_ps256(x)),
                         _mm512_cvtps_pd(_mm512_castps512_ps256(y)),
                         _mm512_mul_pd(_mm512_cvtps_pd(_mm512_extractf32x8_ps(x, 1)),
                                       _mm512_cvtps_pd(_mm512_extractf32x8_ps(y, 1))));
}
// xsimd 8.1 rounds twice.
inline __m512 fused(__m512 x, __m512 y, __m512 z) { return _mm512_fmadd_ps(x, y, z); }
inline __m512d fused(__m512d x, __m512d y, __m512d z) { return _mm512_fmadd_pd(x, y, z); }
// x 2^n, rounded once.
inline __m512 scaled(__m512 x, __m512 n) { return _mm512_scalef_ps(x, n); }
inline __m512d scaled(__m512d x, __m512d n) { return _mm512_scalef_pd(x, n); }
#endif
#undef XTAPE_LEAST_GREATEST

#else
inline void transpose_block(const float* from, std::int64_t step, float* to, std::int64_t to_step) {
  const float32x4x2_t ab = vtrnq_f32(vld1q_f32(from), vld1q_f32(from + step));
  const float32x4x2_t cd = vtrnq_f32(vld1q_f32(from + 2 * step), vld1q_f32(from + 3 * step));
  for (int i = 0; i < 2; ++i) {
    vst1q_f32(to + i * to_step, vcombine_f32(vget_low_f32(ab.val[i]), vget_low_f32(cd.val[i])));
    vst1q_f32(to + (i + 2) * to_step,
              vcombine_f32(vget_high_f32(ab.val[i]), vget_high_f32(cd.val[i])));
  }
}
inline void transpose_block(const double* from, std::int64_t step, double* to,
                            std::int64_t to_step) {
  const float64x2_t a = vld1q_f64(from), b = vld1q_f64(from + step);
  vst1q_f64(to, vzip1q_f64(a, b));
  vst1q_f64(to + to_step, vzip2q_f64(a, b));
}
inline float32x4_t least(float32x4_t x, float32x4_t y) { return vminq_f32(x, y); }
inline float64x2_t least(float64x2_t x, float64x2_t y) { return vminq_f64(x, y); }
inline float32x4_t greatest(float32x4_t x, float32x4_t y) { return vmaxq_f32(x, y); }
inline float64x2_t greatest(float64x2_t x, float64x2_t y) { return vmaxq_f64(x, y); }
template <int kApart>
float32x4_t swapped(float32x4_t x) {
  return kApart == 1 ? vrev64q_f32(x) : vextq_f32(x, x, 2);
}
template <int kApart>
float64x2_t swapped(float64x2_t x) {
  return vextq_f64(x, x, 1);
}
inline float64x2_t widened_sum(float32x4_t x) {
  return vaddq_f64(vcvt_f64_f32(vget_low_f32(x)), vcvt_high_f64_f32(x));
}
inline float64x2_t widened_products(float32x4_t x, float32x4_t y) {
  return vfmaq_f64(vmulq_f64(vcvt_high_f64_f32(x), vcvt_high_f64_f32(y)),
                   vcvt_f64_f32(vget_low_f32(x)), vcvt_f64_f32(vget_low_f32(y)));
}
#endif

}  // namespace
}  // namespace xtape::detail
