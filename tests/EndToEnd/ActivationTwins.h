// SPDX-License-Identifier: Apache-2.0
///
/// The naive reference implementations ("twins") of the activations, one line each; the only list
/// of them in the tests. Kernels are compared with them, random programs use them, and the
/// interpreter of random programs takes values and error bounds from here.
#ifndef HEDDLE_TESTS_ENDTOEND_ACTIVATIONTWINS_H
#define HEDDLE_TESTS_ENDTOEND_ACTIVATIONTWINS_H

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

namespace heddle {

/// The accuracy of compiled code.
enum class TwinRounding {
  /// Exact.
  None,
  /// One plus erf or tanh has the accuracy of f32 near 1, where it cancels too.
  OfInput,
  /// An exponential has the accuracy of its argument.
  OfExponent,
  /// Exact and monotonic, but not continuous.
  Jumps,
  /// The accuracy of f32 at the result, for positive numbers: the slope decreases, and its value at
  /// the smallest input is used.
  OfResult,
  /// The accuracy of f32 at the result, and monotonic: the range of the input determines that of
  /// the result.
  Rises,
  /// The same, for positive numbers.
  RisesFromZero,
};

struct ActivationTwin {
  std::string_view name;
  /// The formula of the dialect's documentation.
  double (*value)(double);
  /// The maximum slope; for a function of positive numbers, it is unbounded near 0.
  double slope;
  TwinRounding rounding;
  /// Whether results are about 1, however large the input is.
  bool isBounded;

  bool isOfPositives() const {
    return rounding == TwinRounding::OfResult || rounding == TwinRounding::RisesFromZero;
  }
};

inline double twinOfSigmoid(double x) { return 1 / (1 + std::exp(-x)); }

inline constexpr std::array activationTwins = {
    ActivationTwin{"abs", [](double x) { return std::abs(x); }, 1, TwinRounding::None, false},
    ActivationTwin{"cos", [](double x) { return std::cos(x); }, 1, TwinRounding::OfExponent, true},
    ActivationTwin{"erf", [](double x) { return std::erf(x); }, 1.13, TwinRounding::Rises, true},
    ActivationTwin{"exp", [](double x) { return std::exp(x); }, INFINITY, TwinRounding::Rises,
                   false},
    ActivationTwin{"floor", [](double x) { return std::floor(x); }, 0, TwinRounding::Jumps, false},
    ActivationTwin{"gelu", [](double x) { return x * std::erfc(-x / std::sqrt(2.0)) / 2; }, 1.13,
                   TwinRounding::OfInput, false},
    ActivationTwin{"gelu_new",
                   [](double x) {
                     const double inner = std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x);
                     return x * (1 + std::tanh(inner)) / 2;
                   },
                   1.13, TwinRounding::OfInput, false},
    ActivationTwin{"log", [](double x) { return std::log(x); }, INFINITY,
                   TwinRounding::RisesFromZero, false},
    ActivationTwin{"nan_to_zero", [](double x) { return std::isnan(x) ? 0 : x; }, 1,
                   TwinRounding::None, false},
    ActivationTwin{"quick_gelu", [](double x) { return x * twinOfSigmoid(1.702 * x); }, 1.13,
                   TwinRounding::OfExponent, false},
    ActivationTwin{"reciprocal", [](double x) { return 1 / x; }, INFINITY, TwinRounding::OfResult,
                   false},
    ActivationTwin{"relu", [](double x) { return std::max(x, 0.0); }, 1, TwinRounding::None, false},
    ActivationTwin{"rsqrt", [](double x) { return 1 / std::sqrt(x); }, INFINITY,
                   TwinRounding::OfResult, false},
    ActivationTwin{"sigmoid", twinOfSigmoid, 0.25, TwinRounding::OfExponent, true},
    ActivationTwin{"silu", [](double x) { return x * twinOfSigmoid(x); }, 1.13,
                   TwinRounding::OfExponent, false},
    ActivationTwin{"sin", [](double x) { return std::sin(x); }, 1, TwinRounding::OfExponent, true},
    ActivationTwin{"softplus",
                   [](double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); },
                   1, TwinRounding::OfExponent, false},
    ActivationTwin{"sqrt", [](double x) { return std::sqrt(x); }, INFINITY,
                   TwinRounding::RisesFromZero, false},
    ActivationTwin{"tanh", [](double x) { return std::tanh(x); }, 1, TwinRounding::OfExponent,
                   true},
};

/// Returns the twin of an activation; null if it has none.
inline const ActivationTwin *findActivationTwin(std::string_view name) {
  const auto *found = std::find_if(activationTwins.begin(), activationTwins.end(),
                                   [&](const ActivationTwin &twin) { return twin.name == name; });
  return found == activationTwins.end() ? nullptr : found;
}

} // namespace heddle

#endif // HEDDLE_TESTS_ENDTOEND_ACTIVATIONTWINS_H
