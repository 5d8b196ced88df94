// SPDX-License-Identifier: Apache-2.0
///
/// The kernels that measure a GPU compute what their rates assume: on the emulated GPU, every
/// thread has the result of so many multiply-adds, products or loads.
#include "heddle/RoofKernels.h"

#include "tests/EmulatedCompiler/LaunchedKernel.h"

#include <bit>
#include <cmath>
#include <gtest/gtest.h>
#include <map>
#include <numeric>

namespace heddle {
namespace {

/// Any kernel: those that measure do not depend on it.
constexpr llvm::StringLiteral kProgram = R"(
dataflow.kernel @copy : (!dataflow.buffer<[tokens, 8], f32>) -> !dataflow.buffer<[tokens, 8], f32>
    computes #dataflow.rows<width = 8> {
^bb0(%x: f32):
  dataflow.yield %x
}
)";

const Code &imageFor(const std::string &target) {
  static std::map<std::string, Code> images;
  Code &image = images[target];
  if (image.empty()) {
    image = compileImage(kProgram.str(), target);
  }
  return image;
}

constexpr unsigned kBlocks = 2;

struct Launched {
  Roof roof;
  int64_t rounds;
  HeddleRoofNumbers numbers = {};
  std::vector<uint32_t> words = {};

  size_t threads() const { return size_t(kBlocks) * size_t(infoOf(roof).threads); }
  /// Launches a kernel and returns the results of all threads.
  std::vector<float> results(const std::string &target) const;
};

std::vector<float> Launched::results(const std::string &target) const {
  const RoofKernel &info = infoOf(roof);
  EmulatedGpu gpu;
  gpu.load(imageFor(target));
  void *const function = gpu.entry(info.entry);
  const std::vector<float> nothing(threads(), std::nanf(""));
  const uint64_t memory = gpu.send(nothing);
  const uint64_t read = words.empty() ? 0 : gpu.send(words);
  const KernelLaunch launch = {
      0, 1, 3, 3 + rounds, kBlocks, unsigned(info.threads), unsigned(info.shared)};
  const uint64_t record =
      gpu.sendLaunch({memory, gpu.send(&numbers, sizeof numbers), read}, {memory}, launch);
  EXPECT_EQ(gpu.run(function, record, launch), "");
  return gpu.fetch(memory, threads());
}

uint32_t bitsOf(float value) { return std::bit_cast<uint32_t>(value); }

/// The operations of a launch, as the runtime counts them.
double operationsOf(const Launched &launched) {
  return double(infoOf(launched.roof).work) * kBlocks * double(launched.rounds);
}

TEST(RoofKernels, MultiplyF32IsSoManyMultiplyAdds) {
  const float factor = 0.75F, term = 0.5F;
  constexpr int chains = 8, links = 16;
  for (const int64_t rounds : {0, 1, 3}) {
    const Launched launched{Roof::MultiplyF32, rounds, {bitsOf(factor), bitsOf(term), 0}};
    const std::vector<float> results = launched.results("sm_80");
    double operations = 0;
    for (size_t thread = 0; thread < results.size(); ++thread) {
      std::vector<float> sums;
      for (int chain = 0; chain < chains; ++chain) {
        float sum = float(int(thread % size_t(infoOf(Roof::MultiplyF32).threads)) + chain);
        for (int64_t link = 0; link < rounds * links; ++link) {
          sum = std::fma(sum, factor, term);
          operations += 2;
        }
        sums.push_back(sum);
      }
      ASSERT_EQ(results[thread], std::accumulate(sums.begin() + 1, sums.end(), sums.front()))
          << "thread " << thread << " after " << rounds << " rounds";
    }
    EXPECT_EQ(operations, operationsOf(launched));
  }
}

/// Checks products of matrices whose elements are `first` and `second`: each of a thread's sums, of
/// which `products` groups of `sums` begin with the number of their group, has `steps` products
/// more in each round. `shared` threads share a matrix of `sums` numbers each.
struct Products {
  Roof roof;
  std::string target;
  HeddleRoofNumbers numbers;
  float product;
  int64_t groups, sums, steps;

  void check(int64_t rounds) const {
    const Launched launched{roof, rounds, numbers};
    const std::vector<float> results = launched.results(target);
    const double added = double(rounds * steps) * double(product);
    const double begin = double(sums) * double(groups * (groups - 1) / 2);
    const auto expected = float(begin + double(groups * sums) * added);
    for (size_t thread = 0; thread < results.size(); ++thread) {
      ASSERT_EQ(results[thread], expected)
          << target << ", thread " << thread << " after " << rounds << " rounds";
    }
    EXPECT_EQ(2.0 * double(rounds * steps * groups * sums) * double(launched.threads()),
              operationsOf(launched));
  }
};

constexpr uint32_t kHalves = 0x3F003F00, kQuarters = 0x3E803E80;

TEST(RoofKernels, MultiplyBf16IsSoManyProducts) {
  const Products products{Roof::MultiplyBf16, "sm_80", {kHalves, kQuarters, 0}, 0.125F, 8, 4, 16};
  products.check(1);
  products.check(5);
}

TEST(RoofKernels, MultiplyTf32IsSoManyProducts) {
  for (const char *const target : {"sm_80", "sm_90a"}) {
    const Products products{
        Roof::MultiplyTf32, target, {bitsOf(0.5F), bitsOf(0.25F), 0}, 0.125F, 8, 4, 8};
    products.check(1);
    products.check(5);
  }
}

// Codes of rows have no sign, those of weights have one: 200 times -3.
TEST(RoofKernels, MultiplyIntegersIsSoManyProducts) {
  for (const char *const target : {"sm_80", "sm_90a"}) {
    const Products products{
        Roof::MultiplyIntegers, target, {0xC8C8C8C8, 0xFDFDFDFD, 0}, -600, 8, 4, 32};
    products.check(1);
    products.check(5);
  }
}

// Four products in a round, of 16 steps each, are added to one group of sums.
TEST(RoofKernels, WarpgroupsMultiplyBf16IsSoManyProducts) {
  const Products products{
      Roof::WarpgroupsMultiplyBf16, "sm_90a", {kHalves, kQuarters, 0}, 0.125F, 1, 96, 64};
  products.check(0);
  products.check(1);
  products.check(3);
}

TEST(RoofKernels, ReadGoesOverAllPartsAgainAndAgain) {
  constexpr int64_t loads = 8;
  // Fewer parts than threads, as many, and more than all rounds read.
  for (const int64_t parts : {1, 7, 128, 1000, 5000}) {
    std::vector<uint32_t> words(size_t(parts) * 4);
    for (size_t i = 0; i < words.size(); ++i) {
      words[i] = uint32_t(i) * 2654435761U;
    }
    const Launched launched{Roof::Read, 3, {0, 0, parts}, words};
    const std::vector<float> results = launched.results("sm_80");
    const auto callers = int64_t(launched.threads());
    double bytes = 0;
    for (int64_t caller = 0; caller < callers; ++caller) {
      uint32_t all = 0;
      for (int64_t load = 0; load < launched.rounds * loads; ++load) {
        const size_t part = size_t((caller + load * callers) % parts);
        for (size_t word = 0; word < 4; ++word) {
          all ^= words[part * 4 + word];
        }
        bytes += roofPartBytes;
      }
      ASSERT_EQ(bitsOf(results[size_t(caller)]), all) << parts << " parts, caller " << caller;
    }
    EXPECT_EQ(bytes, operationsOf(launched));
  }
}

TEST(RoofKernels, ATargetHasThoseOfItsProducts) {
  const auto text = [](const std::string &target) {
    const Code &image = imageFor(target);
    return std::string(image.begin(), image.end());
  };
  // As names of entries, which a zero ends.
  const auto has = [&](const std::string &target, Roof roof) {
    return text(target).find(std::string(infoOf(roof).entry) + '\0') != std::string::npos;
  };
  for (const char *const target : {"sm_80", "sm_90a"}) {
    const bool isHopper = target == std::string("sm_90a");
    EXPECT_TRUE(has(target, Roof::MultiplyF32));
    EXPECT_TRUE(has(target, Roof::MultiplyTf32));
    EXPECT_TRUE(has(target, Roof::MultiplyIntegers));
    EXPECT_TRUE(has(target, Roof::Read));
    EXPECT_EQ(has(target, Roof::MultiplyBf16), !isHopper);
    EXPECT_EQ(has(target, Roof::WarpgroupsMultiplyBf16), isHopper);
  }
}

} // namespace
} // namespace heddle
