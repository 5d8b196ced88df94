// SPDX-License-Identifier: Apache-2.0
///
/// Runs one kernel of a compiled program on random operands, launched as sessions launch it, and
/// compares it with the naive twin of its family, its epilogue and its norm in double precision.
#ifndef HEDDLE_TESTS_ENDTOEND_KERNELTRIAL_H
#define HEDDLE_TESTS_ENDTOEND_KERNELTRIAL_H

#include "compiler/Link/ParameterValues.h"
#include "dialects/Dataflow/Dataflow.h"
#include "heddle/Abi.h"
#include "runtime/Artifact/Artifact.h"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace heddle {

/// Encodes a random matrix as the kernels of a binary read it; the number is that of the operand.
using MatrixEncoder =
    std::function<Result<StoredValues>(unsigned input, const std::vector<float> &values)>;

/// Scalar f32 maths in double precision: every operation folds itself.
class RegionMaths {
public:
  explicit RegionMaths(mlir::Block &region);
  double apply(llvm::ArrayRef<double> arguments) const;
  unsigned numArguments() const { return block->getNumArguments(); }

private:
  mlir::OwningOpRef<mlir::ModuleOp> holder;
  mlir::Block *block;
};

/// Returns the elements of a position of a cache, or of a sequence of a state.
int64_t keptWidth(mlir::Type type);

/// The operands of a kernel, and the expected results.
class KernelTrial final : public dataflow::KernelRun {
public:
  /// Draws operands and rows from the seed.
  static Result<std::unique_ptr<KernelTrial>> create(dataflow::KernelOp kernel,
                                                     const MatrixEncoder &encoder, uint64_t seed);

  /// Runs the kernel of a dispatch in two parts; returns an empty string if the result agrees with
  /// the twin, otherwise the first difference.
  std::string run(const Artifact &artifact, const manifest::Dispatch &dispatch);

  double at(unsigned input, int64_t row, int64_t column) const override;
  int64_t cachedPositions(unsigned input, int64_t row) const override;
  double atPosition(unsigned input, int64_t row, int64_t position, int64_t column) const override;
  double applyRegion(llvm::ArrayRef<double> arguments) const override {
    return region.apply(arguments);
  }
  unsigned regionArguments() const override { return region.numArguments(); }
  double applyPairs(double query, double key) const override { return pairs->apply({query, key}); }

private:
  /// A buffer, or the blocks of a cache or state.
  struct Operand {
    mlir::Type type;
    std::vector<double> values;
    /// The values drawn for a buffer, before they were encoded.
    std::vector<float> drawn;
    /// The layout in memory, including the padding that kernels may read; for a bf16 cache, pairs
    /// of halves.
    std::vector<float> memory;
    /// The same, for weights that are encoded or stored in fewer bits.
    std::vector<std::byte> weights;
    std::vector<int32_t> blocks, lengths;
    HeddleCache view = {};
  };

  /// The pattern of memory that must not be written.
  static constexpr uint32_t untouched = 0xFF812345;
  /// The number of elements that may be read past an end.
  static constexpr size_t slack = 64;

  /// The place of an element of a cache or a state: its index in memory, or the bytes of its code
  /// and of its scale.
  struct Place {
    int64_t element, scale;
  };

  KernelTrial(dataflow::KernelOp kernel, uint64_t seed);
  void drawRows();
  void drawBuffer(unsigned index);
  void drawIntegers(unsigned index, const dataflow::KernelInput &input);
  void drawCache(unsigned index);
  void draw(std::vector<double> &values, double scale);
  static void lay(Operand &operand);
  void drawKept(Operand &operand);
  /// Computes alternatives to `values`, in which every element is perturbed by some roundings of
  /// f32.
  void perturb();

  int64_t extent(int64_t dimension) const;
  int64_t rowElements(dataflow::BufferType type) const;
  static Place placeInBlock(const Operand &operand, int64_t block, int64_t position,
                            int64_t column);
  Place placeInCache(const Operand &operand, int64_t sequence, int64_t position,
                     int64_t column) const;
  /// Returns the value of a cache or state at a place, bit by bit the same as in a copy of its
  /// memory.
  static float keptAt(const Operand &operand, const Place &place);
  static void takeOver(const Operand &operand, const Place &place, std::vector<float> &memory);
  void launch(const Artifact &artifact, const manifest::Dispatch &dispatch,
              std::vector<void *> results);
  /// Returns a row of a result, with epilogue and norm if it is mapped; elements that are not
  /// written are empty.
  std::vector<std::optional<double>> rowOf(unsigned result, int64_t row) const;
  void normalize(std::vector<std::optional<double>> &row) const;
  std::string compareBuffer(unsigned number, const std::vector<float> &result);
  std::string compareKept(unsigned number, unsigned changed, std::vector<float> before);
  std::string compareRow(unsigned number, int64_t row,
                         llvm::function_ref<float(int64_t column)> result);

  const dataflow::RunRows &tokens() const { return rowsOf(RowSpace::tokens()); }

  mutable dataflow::KernelOp kernel; // a handle, its accessors are not const
  RegionMaths region;
  /// Set if the family sums pairs.
  std::optional<RegionMaths> pairs;
  std::mt19937_64 random;
  std::vector<Operand> operands;
  /// KernelRun::spaces as kernels read them.
  std::vector<HeddleRows> views;
  /// For ordered spaces: ranks and lengths of the sequences, and where they begin.
  std::vector<int32_t> ranks, lengths, starts;
  /// The expected rows of the results, computed on first use.
  std::map<std::pair<unsigned, int64_t>, std::vector<std::optional<double>>> twins;
};

} // namespace heddle

#endif // HEDDLE_TESTS_ENDTOEND_KERNELTRIAL_H
