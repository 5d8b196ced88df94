// SPDX-License-Identifier: Apache-2.0
///
/// bf16 products: --precision bf16. Every processor gives the bits that the description of
/// #dataflow.contract defines: rows rounded to bf16, f32 sums over pairs of k, or over 32 of k with
/// AMX. Tables are stored in bf16: a row is the sum of two of them, which needs more bits.
#include "formats/Binary/ElfFile.h"
#include "formats/Binary/Layout.h"
#include "formats/Binary/Manifest_generated.h"
#include "heddle/Abi.h"
#include "tests/EndToEnd/CompiledModel.h"
#include "tests/EndToEnd/KernelProgram.h"
#include "tests/base/TemporaryFolder.h"
#include "tests/runtime/Device/Cuda/EmulatedGpu.h"
#include "tests/runtime/Session/TestDevice.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <fstream>
#include <limits>
#include <optional>
#include <span>

namespace heddle {
namespace {

/// Groups of columns and the widths of one.
struct Bf16Case {
  int64_t groups, n, k;
};

void PrintTo(const Bf16Case &c, std::ostream *stream) {
  *stream << c.groups << " groups of " << c.n << "x" << c.k;
}

/// Returns the nearest bf16 number, ties to even.
float nearestBf16(float value) {
  if (std::isnan(value)) {
    return value;
  }
  uint32_t bits = std::bit_cast<uint32_t>(value);
  bits += 0x7FFF + ((bits >> 16) & 1);
  return std::bit_cast<float>(bits & 0xFFFF0000U);
}

/// Returns half of a bf16 number's last bit: adding it gives the midpoint of two bf16 numbers.
float halfOfLastBit(float value) {
  return value == 0 ? 0 : std::ldexp(std::copysign(1.0F, value), std::ilogb(value) - 8);
}

class Bf16Products : public testing::TestWithParam<Bf16Case> {
protected:
  Bf16Products()
      : c(GetParam()), random(c.n * 1000 + c.k),
        x(randomMatrix("x", vocabulary, c.groups * c.k, random)),
        y(randomMatrix("y", vocabulary, c.groups * c.k, random)),
        w(randomMatrix("w", c.groups * c.n, c.k, random)) {
    for (Matrix *matrix : {&x, &y, &w}) {
      std::ranges::transform(matrix->values, matrix->values.begin(), nearestBf16);
    }
    for (size_t i = 0; i < y.values.size(); i += 3) {
      y.values[i] = halfOfLastBit(x.values[i]);
    }
  }

  /// Adds step k of an element of the product of a row to a sum. A zero is added after an odd last
  /// k: it converts a sum of 0 to -0, and has no other effect.
  float add(int32_t id, int64_t column, int64_t k, float sum) const {
    const int64_t place = id * x.columns + column / c.n * c.k + k;
    return k < c.k ? std::fma(nearestBf16(x.values[place] + y.values[place]),
                              w.values[column * c.k + k], sum)
                   : sum + 0.0F;
  }

  /// Returns an element of the product of a row.
  float elementOf(int32_t id, int64_t column) const {
    float sum = 0;
    for (int64_t k = 0; k < c.k; k += 2) {
      sum = add(id, column, k, add(id, column, k + 1, sum));
    }
    return sum;
  }

  /// Returns the same as instructions for 32 steps of k sum it: the even steps and the odd steps
  /// first.
  float elementOnAmx(int32_t id, int64_t column) const {
    constexpr int64_t steps = 32;
    float sum = 0;
    for (int64_t begin = 0; begin < c.k; begin += steps) {
      float even = 0, odd = 0;
      for (int64_t k = begin; k < std::min(begin + steps, c.k); k += 2) {
        even = add(id, column, k, even);
        odd = add(id, column, k + 1, odd);
      }
      sum += even + odd;
    }
    return sum;
  }

  float elementOn(const std::string &isa, int32_t id, int64_t column) const {
    return isa == "x86-64-v4-amx" ? elementOnAmx(id, column) : elementOf(id, column);
  }

  std::string compile() const {
    const Matrix zeros = filled("b", c.groups * c.n, 0, 0);
    const std::string rows = rowsType(c.groups * c.k), result = rowsType(c.groups * c.n);
    return compileProgram(
        {x, y, w, zeros}, c.groups * c.n,
        gatherText("x", "x", c.groups * c.k) + gatherText("y", "y", c.groups * c.k) +
            "  %row = transformer.add %x, %y : " + rows + ", " + rows + "\n" +
            "  %out = transformer.grouped_linear %row, @w, @b {groups = " +
            std::to_string(c.groups) + " : i64} : " + rows + " -> " + result + "\n",
        {"--precision=bf16", presentTargets()});
  }

  Bf16Case c;
  std::mt19937 random;
  Matrix x, y, w;
};

// Every number of rows up to more than two tiles, then several blocks of rows.
constexpr int rowCounts[] = {1, 2, 3, 5, 6, 7, 8, 9, 13, 16, 17, 19, 700};

Ragged batchOf(int rows) {
  std::vector<int32_t> ids(rows);
  for (int i = 0; i < rows; ++i) {
    ids[i] = (i * 7 + 3) % vocabulary;
  }
  Ragged batch;
  batch.append(ids);
  return batch;
}

TEST_P(Bf16Products, HaveTheBitsOfTheirDescription) {
  const std::string binary = compile();
  ASSERT_FALSE(binary.empty());
  const int64_t width = c.groups * c.n;
  for (const std::string &isa : runnableTargets(binary)) {
    std::vector<float> expected;
    for (int32_t id = 0; id < vocabulary; ++id) {
      for (int64_t column = 0; column < width; ++column) {
        expected.push_back(elementOn(isa, id, column));
      }
    }
    for (const int threads : {1, 2}) {
      for (const int rows : rowCounts) {
        const Ragged batch = batchOf(rows);
        const std::vector<float> out = runBinary(binary, batch, isa, threads)["out"];
        ASSERT_EQ(out.size(), size_t(rows * width));
        for (int64_t i = 0; i < rows * width; ++i) {
          ASSERT_EQ(out[i], expected[batch.ids[i / width] * width + i % width])
              << isa << " row " << i / width << " of " << rows << " column " << i % width;
        }
      }
    }
  }
}

// Infinities, NaN, and numbers that round to infinity are preserved; subnormal numbers may count as
// zero.
TEST_P(Bf16Products, OfRowsAtTheEdges) {
  const float infinity = std::numeric_limits<float>::infinity();
  const auto row = [&](int32_t id) { return x.values.begin() + id * x.columns; };
  std::ranges::transform(w.values, w.values.begin(),
                         [](float value) { return nearestBf16(std::fabs(value) + 0.5F); });
  for (int32_t id = 0; id < 6; ++id) {
    std::fill_n(row(id), x.columns, 0.0F);
    std::fill_n(y.values.begin() + id * y.columns, y.columns, 0.0F);
  }
  std::fill_n(row(1), x.columns, std::numeric_limits<float>::min() / 2);
  *row(2) = infinity;
  *row(3) = -infinity;
  *row(4) = std::numeric_limits<float>::quiet_NaN();
  // The largest bf16 number plus half of its last bit: the next even number is infinite.
  *row(5) = std::bit_cast<float>(0x7F7F0000U);
  y.values[5 * y.columns] = halfOfLastBit(*row(5));
  const std::string binary = compile();
  ASSERT_FALSE(binary.empty());
  Ragged batch;
  batch.append(std::vector<int32_t>{0, 1, 2, 3, 4, 5, 6});
  for (const std::string &isa : runnableTargets(binary)) {
    const std::vector<float> out = runBinary(binary, batch, isa)["out"];
    const int64_t width = c.groups * c.n;
    ASSERT_EQ(out.size(), size_t(7 * width));
    for (int64_t column = 0; column < width; ++column) {
      const bool isFirstGroup = column < c.n;
      EXPECT_EQ(out[column], 0) << isa;
      EXPECT_NEAR(out[width + column], 0, static_cast<float>(c.k) * 1e-37F) << isa;
      EXPECT_EQ(out[2 * width + column], isFirstGroup ? infinity : 0) << isa;
      EXPECT_EQ(out[3 * width + column], isFirstGroup ? -infinity : 0) << isa;
      EXPECT_EQ(std::isnan(out[4 * width + column]), isFirstGroup) << isa;
      EXPECT_EQ(out[5 * width + column], isFirstGroup ? infinity : 0) << isa;
      EXPECT_EQ(out[6 * width + column], elementOn(isa, 6, column)) << isa;
    }
  }
}

// --- rows that a separate kernel rounds ----------------------------------------------------------

/// Three products for Hopper, of which the first and the last are so wide that a separate kernel
/// rounds the rows of large launches. As the emulated GPU is slow, "large" is changed in the
/// binary.
class ManyRows : public testing::Test {
protected:
  static constexpr int64_t n = 2304, k = 16, inner = 32;
  static constexpr int rows = 140;

  void SetUp() override {
    if (testsCpu()) {
      GTEST_SKIP() << "runs on the emulated GPU";
    }
    const std::string binary = folder.write("many-rows.so", readBytes(compile()));
    roundFrom(binary, rows);
    Result<Model> loaded = Model::load(binary, {.device = "cuda"});
    ASSERT_TRUE(loaded.ok()) << loaded.status().message();
    model = *std::move(loaded);
    open();
  }
  void open() {
    session.reset();
    Result<Session> created = Session::create(*model);
    ASSERT_TRUE(created.ok()) << created.status().message();
    session = *std::move(created);
  }
  std::vector<float> run(int count) { return runModel(*session, "encode", batchOf(count))["out"]; }
  /// Expects rows of a batch to have the bits of the rows of each id, which `few` has in its order.
  static void expectRowsOf(const std::vector<float> &few, const std::vector<float> &many) {
    ASSERT_EQ(few.size(), size_t(vocabulary * n));
    for (size_t i = 0; i < many.size(); ++i) {
      ASSERT_EQ(many[i], few[i % few.size()]) << "row " << i / n;
    }
  }
  /// Returns how many kernels that round rows have been launched since record(), outside graphs.
  static int64_t countRounds() {
    const std::vector<std::string> launches = EmulatedGpu::get().calls("cuLaunchKernel");
    return std::ranges::count_if(launches, [](const std::string &launch) {
      return launch.find("$$round,") != std::string::npos;
    });
  }

private:
  static std::string compile() {
    std::mt19937 random(5);
    const auto layer = [](const char *to, const char *from, int64_t width, int64_t ofFrom) {
      const std::string sum = std::string("%") + to + ".sum";
      return "  " + sum + " = transformer.linear %" + from + ", @" + to + " : " + rowsType(ofFrom) +
             " -> " + rowsType(width) + "\n  %" + to + " = transformer.activate relu " + sum +
             " : " + rowsType(width) + "\n";
    };
    return compileProgram(
        {randomMatrix("x", vocabulary, k, random), randomMatrix("wide", n, k, random),
         randomMatrix("back", inner, n, random), randomMatrix("out", n, inner, random)},
        n,
        gatherText("x", "x", k) + layer("wide", "x", n, k) + layer("back", "wide", inner, n) +
            layer("out", "back", n, inner),
        {"--precision=bf16", "--target=x86-64-v3,sm_90a"});
  }
  /// Sets from how many rows on a separate kernel rounds those of both wide products.
  static void roundFrom(const std::string &path, uint32_t count) {
    std::string file = readBytes(path);
    const auto all = std::as_bytes(std::span(file));
    const Result<ElfFile> elf = ElfFile::parse(all);
    ASSERT_TRUE(elf.ok()) << elf.status().message();
    const Result<ElfSection> section = elf->findSection(HEDDLE_MANIFEST_SECTION);
    const Result<ElfSection> weights = elf->findSection(HEDDLE_WEIGHTS_SECTION);
    ASSERT_TRUE(section.ok() && weights.ok());
    char *const begin = file.data() + (elf->contents(*section).data() - all.data());
    ManifestTrailer trailer{};
    char *const last = begin + elf->contents(*section).size() - sizeof trailer;
    std::memcpy(&trailer, last, sizeof trailer);
    auto &model = *flatbuffers::GetMutableRoot<manifest::Manifest>(begin);
    int changed = 0;
    for (const manifest::Kernel *const kernel : *model.kernels()) {
      for (const manifest::LaunchShape *const launch : *kernel->launches()) {
        if (launch->rounded_from() != 0) {
          const manifest::LaunchShape sooner(launch->unit(), launch->threads(), launch->shared(), 0,
                                             0, count, launch->rounded_bytes(), 0, 0);
          std::memcpy(const_cast<manifest::LaunchShape *>(launch), &sooner, sizeof sooner);
          ++changed;
        }
      }
    }
    EXPECT_EQ(changed, 2);
    trailer.checksum = manifestChecksum(std::as_bytes(std::span(begin, trailer.manifestSize)),
                                        weights->header.sh_offset, weights->header.sh_size);
    std::memcpy(last, &trailer, sizeof trailer);
    std::ofstream(path, std::ios::binary) << file;
  }

  TemporaryFolder folder;
  std::optional<Model> model;
  std::optional<Session> session;
};

TEST_F(ManyRows, HaveTheSameBitsIfASeparateKernelRoundsThem) {
  EmulatedGpu &gpu = EmulatedGpu::get();
  gpu.record();
  const std::vector<float> few = run(vocabulary);
  EXPECT_EQ(countRounds(), 0);
  // The last product needs more memory than the first one, whose launch is still recorded.
  gpu.record();
  expectRowsOf(few, run(rows));
  EXPECT_EQ(countRounds(), 2);
  // The same sequence of launches becomes a graph.
  run(rows);
  run(rows);
  gpu.record();
  expectRowsOf(few, run(rows));
  EXPECT_EQ(gpu.calls("cuGraphLaunch").size(), 1U);
  EXPECT_NE(gpu.journal().find("cuGraphLaunch(6 launches)"), std::string::npos) << gpu.journal();
  // A grid of as many blocks, but another sequence.
  gpu.record();
  expectRowsOf(few, run(rows - 1));
  EXPECT_EQ(countRounds(), 0);
  EXPECT_EQ(gpu.journal().find("cuGraphLaunch(6 launches)"), std::string::npos);
}

TEST_F(ManyRows, AreRoundedByProductsWithoutMemoryForThem) {
  EmulatedGpu &gpu = EmulatedGpu::get();
  const std::vector<float> few = run(vocabulary);
  open();
  gpu.record();
  run(rows);
  // The last allocation is that for the last product.
  const auto allocations = static_cast<long>(gpu.calls("cuMemAlloc_v2").size());
  open();
  gpu.record();
  constexpr int outOfMemory = 2;
  gpu.fail("cuMemAlloc_v2", allocations, outOfMemory);
  expectRowsOf(few, run(rows));
  EXPECT_NE(gpu.hasFailed(), 0);
  gpu.fail(nullptr, 0, 0);
  EXPECT_EQ(countRounds(), 1);
  // The session does not ask for it again. The first product asks for less, which was released.
  gpu.record();
  expectRowsOf(few, run(rows));
  EXPECT_EQ(countRounds(), 1);
  gpu.record();
  expectRowsOf(few, run(rows));
  EXPECT_EQ(gpu.calls("cuMemAlloc_v2").size(), 0U);
}

INSTANTIATE_TEST_SUITE_P(Sizes, Bf16Products,
                         testing::Values(Bf16Case{1, 48, 64}, Bf16Case{1, 50, 7}, Bf16Case{1, 1, 1},
                                         Bf16Case{1, 97, 333}, Bf16Case{3, 20, 18},
                                         Bf16Case{2, 33, 129}, Bf16Case{1, 24, 9000},
                                         // Rows that would map to the same cache sets.
                                         Bf16Case{1, 33, 512}));

} // namespace
} // namespace heddle
