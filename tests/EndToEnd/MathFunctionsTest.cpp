// SPDX-License-Identifier: Apache-2.0
///
/// exp, exp2, log, log1p, erf, tanh, sin and cos as compiled code computes them, over the whole
/// range of f32: every 997th of the 2^32 bit patterns on each target, against the C library in
/// double precision.
#include "formats/Checkpoint/Safetensors.h"
#include "tests/EndToEnd/CompiledModel.h"
#include "tests/base/TemporaryFolder.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <numeric>

namespace heddle {
namespace {

constexpr size_t width = 1000; // not a multiple of any vector, so that tails are tested too
constexpr uint32_t stride = 997;
constexpr double mostUlp = 4;

std::vector<float> sampledValues() {
  std::vector<float> values;
  for (uint64_t bits = 0; bits < (uint64_t(1) << 32); bits += stride) {
    float value = std::bit_cast<float>(static_cast<uint32_t>(bits));
    if (!std::isnan(value)) {
      values.push_back(value);
    }
  }
  for (float extra :
       {0.0f, -0.0f, INFINITY, -INFINITY, 1.0f, -1.0f, 0.625f, 4.0f, 88.72f, 128.0f}) {
    values.push_back(extra);
  }
  // Next to multiples of pi / 2 of every size, where argument reduction loses most; the first is
  // the closest of all f32.
  for (double multiple : {16367173 * 0x1p72, M_PI_2, M_PI, 3 * M_PI_2, 11 * M_PI, 97 * M_PI_2}) {
    for (double size = 1; size < 0x1p120; size *= 8) {
      for (float value : {float(multiple * size), float(-multiple * size)}) {
        values.push_back(value);
        values.push_back(std::nextafter(value, INFINITY));
      }
    }
  }
  // Where the reduction uses other parts of 2 / pi.
  for (float bound : {0x1p53f, 0x1p81f, 0x1p109f, 0x1.fffffep127f}) {
    values.push_back(bound);
    values.push_back(-std::nextafter(bound, 0.0f));
  }
  std::erase_if(values, [](float value) { return std::isnan(value); });
  values.resize((values.size() + width - 1) / width * width, 0.5f);
  return values;
}

/// Returns a program that looks rows up and maps every element %x to %y.
std::string programOf(const std::string &maths, size_t rows) {
  std::string n = std::to_string(rows), w = std::to_string(width);
  std::string table = "!dataflow.buffer<[" + n + ", " + w + "], f32>";
  std::string ids = "!dataflow.buffer<[tokens], i32>",
              out = "!dataflow.buffer<[tokens, " + w + "], f32>";
  return "transformer.parameter @values : tensor<" + n + "x" + w +
         "xf32> from \"values\"\n"
         "dataflow.kernel @apply : (" +
         ids + ", " + table + ") -> " + out + " computes #dataflow.gather<width = " + w +
         ", lookups = 1> {\n"
         "^bb0(%x: f32):\n" +
         maths +
         "  dataflow.yield %y\n}\n"
         "dataflow.graph @encode(%ids: " +
         ids + " {dataflow.name = \"input_ids\", dataflow.limit = " + n + " : i64}) -> (" + out +
         " {dataflow.name = \"values\"}) attributes {arena = #dataflow.size<tokens = 0>} {\n"
         "  %t = dataflow.parameter @values : " +
         table +
         "\n"
         "  %y = dataflow.dispatch @apply(%ids, %t) : (" +
         ids + ", " + table + ") -> " + out +
         "\n"
         "  dataflow.output %y : " +
         out + "\n}\n";
}

/// Returns the distance in units in the last place (ulp) of the exact result rounded to f32.
double ulpDistance(float value, double exact) {
  float rounded = static_cast<float>(exact);
  if (std::isinf(rounded) || std::isnan(exact)) {
    return value == rounded || (std::isnan(exact) && std::isnan(value)) ? 0 : INFINITY;
  }
  float magnitude = std::abs(rounded);
  double unit = static_cast<double>(std::nextafter(magnitude, INFINITY)) - magnitude;
  if (std::isinf(unit)) {
    unit = std::ldexp(1.0, 104);
  }
  return std::abs(value - exact) / unit;
}

/// Returns the results of the maths for every sample, on each target of this machine.
std::map<std::string, std::vector<float>> resultsOf(const std::string &maths,
                                                    const std::vector<float> &values) {
  size_t rows = values.size() / width;
  TemporaryFolder folder;
  std::string program = folder.write("maths.mlir", programOf(maths, rows));
  SafetensorsTensor tensor{"values",
                           ElementType::F32,
                           {static_cast<int64_t>(rows), static_cast<int64_t>(width)},
                           std::as_bytes(std::span(values))};
  EXPECT_TRUE(writeSafetensors(folder / "maths.safetensors", std::span(&tensor, 1)).ok());
  std::string binary = compileModel(program, {"--start-at=kernels"});
  Ragged batch;
  std::vector<int32_t> ids(rows);
  std::iota(ids.begin(), ids.end(), 0);
  batch.append(ids);
  std::map<std::string, std::vector<float>> results;
  for (const std::string &isa : runnableTargets(binary)) {
    results[isa] = runBinary(binary, batch, isa)["values"];
    EXPECT_EQ(results[isa].size(), values.size());
    results[isa].resize(values.size());
  }
  return results;
}

void expectFunction(const std::string &name, double (*exact)(double)) {
  std::vector<float> values = sampledValues();
  for (const auto &[isa, results] : resultsOf("  %y = math." + name + " %x : f32\n", values)) {
    double worst = 0;
    float worstAt = 0;
    for (size_t i = 0; i < values.size(); ++i) {
      double distance = ulpDistance(results[i], exact(values[i]));
      if (distance > worst) {
        worst = distance;
        worstAt = values[i];
      }
    }
    std::printf("%s on %s: at most %.2f ulp, at %.9g\n", name.c_str(), isa.c_str(), worst, worstAt);
    EXPECT_LE(worst, mostUlp) << isa << " at " << worstAt;
  }
}

TEST(MathFunctions, Exp) { expectFunction("exp", std::exp); }
TEST(MathFunctions, Exp2) { expectFunction("exp2", std::exp2); }
TEST(MathFunctions, Erf) { expectFunction("erf", std::erf); }
TEST(MathFunctions, Tanh) { expectFunction("tanh", std::tanh); }
TEST(MathFunctions, Log) { expectFunction("log", std::log); }
TEST(MathFunctions, Log1p) { expectFunction("log1p", std::log1p); }
TEST(MathFunctions, Sin) { expectFunction("sin", std::sin); }
TEST(MathFunctions, Cos) { expectFunction("cos", std::cos); }

TEST(MathFunctions, SinKeepsTheSignOfZero) {
  std::vector<float> values(width, -0.0f);
  values.front() = 0.0f;
  for (const auto &[isa, results] : resultsOf("  %y = math.sin %x : f32\n", values)) {
    EXPECT_FALSE(std::signbit(results.front())) << isa;
    EXPECT_TRUE(std::signbit(results.back())) << isa;
  }
}

// One plus erf is a separate function: within an f32 rounding of the exact sum near 2, and with
// digits that the f32 sum would lose near 0.
TEST(MathFunctions, OnePlusErf) {
  std::vector<float> values = sampledValues();
  auto all = resultsOf("  %one = arith.constant 1.0 : f32\n  %e = math.erf %x : f32\n"
                       "  %y = arith.addf %e, %one : f32\n",
                       values);
  for (const auto &[isa, results] : all) {
    double worst = 0;
    for (size_t i = 0; i < values.size(); ++i) {
      // A NaN does not affect the maximum of the other numbers.
      EXPECT_EQ(std::isnan(results[i]), std::isnan(values[i])) << isa << " of " << values[i];
      worst = std::max(worst, std::abs(results[i] - std::erfc(-double(values[i]))));
    }
    EXPECT_LE(worst, 1.5e-7) << isa;
  }
}

} // namespace
} // namespace heddle
