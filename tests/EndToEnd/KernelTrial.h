// SPDX-License-Identifier: Apache-2.0
///
/// One kernel of a compiled program on random operands, launched as sessions launch it, and held
/// against the naive twin of its family, its epilogue and its norm in double precision.
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

/// Stores a random matrix as the kernels of a binary read it; the number is that of the operand.
using MatrixEncoder =
    std::function<Result<StoredValues>(unsigned input, const std::vector<float> &values)>;

/// Scalar maths of f32 in double precision: every operation folds itself.
class RegionMaths {
public:
  explicit RegionMaths(mlir::Block &region);
  double apply(llvm::ArrayRef<double> arguments) const;
  unsigned numArguments() const { return block->getNumArguments(); }

private:
  mlir::OwningOpRef<mlir::ModuleOp> holder;
  mlir::Block *block;
};

/// Elements of a position of a cache, or of a sequence of a state.
int64_t keptWidth(mlir::Type type);

/// The operands of a kernel, and what it makes of them.
class KernelTrial final : public dataflow::KernelRun {
public:
  /// Draws operands and rows from the seed.
  static Result<std::unique_ptr<KernelTrial>> create(dataflow::KernelOp kernel,
                                                     const MatrixEncoder &encoder, uint64_t seed);

  /// Runs the kernel of a dispatch in two parts; empty if the result is what the twin says, else
  /// the first difference.
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
    /// What was drawn for a buffer, before codes were made of it.
    std::vector<float> drawn;
    /// As it lies in memory, with room to read on past the end; of a cache in bf16, pairs of
    /// halves.
    std::vector<float> memory;
    /// The same, of weights that are encoded or in fewer bits.
    std::vector<std::byte> weights;
    std::vector<int32_t> blocks, lengths;
    HeddleCache view = {};
  };

  /// What lies where nothing may be written.
  static constexpr uint32_t untouched = 0xFF812345;
  /// Elements that may be read past an end.
  static constexpr size_t slack = 64;

  /// Where an element of a cache or a state is: the number of it in memory, or the bytes of its
  /// code and of its scale.
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
  /// What stands beside `values` when every element changes by some roundings of f32.
  void perturb();

  int64_t extent(int64_t dimension) const;
  int64_t rowElements(dataflow::BufferType type) const;
  static Place placeInBlock(const Operand &operand, int64_t block, int64_t position,
                            int64_t column);
  Place placeInCache(const Operand &operand, int64_t sequence, int64_t position,
                     int64_t column) const;
  /// What a cache or state has at a place; the same, bit by bit, in a copy of its memory.
  static float keptAt(const Operand &operand, const Place &place);
  static void takeOver(const Operand &operand, const Place &place, std::vector<float> &memory);
  void launch(const Artifact &artifact, const manifest::Dispatch &dispatch,
              std::vector<void *> results);
  /// A row of a result, with epilogue and norm if it is mapped; not a number where nothing is
  /// written.
  std::vector<std::optional<double>> rowOf(unsigned result, int64_t row) const;
  void normalize(std::vector<std::optional<double>> &row) const;
  std::string compareBuffer(unsigned number, const std::vector<float> &result);
  std::string compareKept(unsigned number, unsigned changed, std::vector<float> before);
  std::string compareRow(unsigned number, int64_t row,
                         llvm::function_ref<float(int64_t column)> result);

  const dataflow::RunRows &tokens() const { return rowsOf(RowSpace::tokens()); }

  mutable dataflow::KernelOp kernel; // a handle, its accessors are not const
  RegionMaths region;
  /// Where the family sums pairs.
  std::optional<RegionMaths> pairs;
  std::mt19937_64 random;
  std::vector<Operand> operands;
  /// KernelRun::spaces as kernels read them.
  std::vector<HeddleRows> views;
  /// For spaces in the order of time: ranks and lengths of the sequences, and where they begin.
  std::vector<int32_t> ranks, lengths, starts;
  /// Rows of the results as they must be, once they have been asked for.
  std::map<std::pair<unsigned, int64_t>, std::vector<std::optional<double>>> twins;
};

} // namespace heddle

#endif // HEDDLE_TESTS_ENDTOEND_KERNELTRIAL_H
