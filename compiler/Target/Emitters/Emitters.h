// SPDX-License-Identifier: Apache-2.0
///
/// The kernel families: each emitter writes the body of one kernel function for one target.
/// Emitters are selected by the attribute of the kernel's computation, never by its name.
#ifndef HEDDLE_COMPILER_TARGET_EMITTERS_EMITTERS_H
#define HEDDLE_COMPILER_TARGET_EMITTERS_EMITTERS_H

#include "compiler/Target/Emitters/VectorCode.h"
#include "dialects/Dataflow/Dataflow.h"

#include <functional>

namespace heddle {

/// A kernel being written: its specification, its function, its arguments.
struct KernelBody {
  // Mutable because accessors of operation handles are not const.
  mutable dataflow::KernelOp kernel;
  mutable mlir::func::FuncOp function;
  KernelArguments arguments;

  /// Returns an operand of the dispatch: the address of its elements, or a HeddleCache.
  mlir::Value operand(VectorCode &code, unsigned index) const {
    return arguments.operand(code, kernel.getCallOperand(index));
  }
  /// Returns the rows that the kernel computes.
  RowFields rows(VectorCode &code) const { return arguments.rows(code, kernel.getRows()); }
};

/// The element-wise operands of a kernel and its region of scalar operations, applied to vectors.
class Epilogue {
public:
  /// Loads the operands' base pointers at the insertion point.
  Epilogue(VectorCode &code, const KernelBody &body);

  /// Applies the epilogue to `value`, the vector at `row` and `column`, of which `valid` lanes are
  /// used. The result may alias an operand: every element is read once, before the only store of
  /// its result, and the norm does not read it again.
  mlir::Value apply(VectorCode &code, mlir::Value value, mlir::Value row, mlir::Value column,
                    int64_t valid) const;

  /// Prefetches the data that apply() reads for `width` columns of a row.
  void prefetch(VectorCode &code, mlir::Value row, mlir::Value column, int64_t width) const;

private:
  struct Operand {
    mlir::Value base;
    bool everyRow;       // a vector [width] or a number, the same for every row
    bool everyColumn;    // one number, for a row or for all of them
    int64_t rowElements; // elements between rows otherwise
  };
  mutable dataflow::KernelOp kernel; // a handle, as in KernelBody
  llvm::SmallVector<Operand> operands;
};

/// Clones a block of scalar operations on f32 with `arguments` in place of its arguments: scalars,
/// or vectors of one type. Returns the value that it yields.
mlir::Value cloneScalarMaths(VectorCode &code, mlir::Block &block, mlir::ValueRange arguments,
                             mlir::Type type);

/// Applies the epilogue to `element(column, valid)`, which `elementsOf` returns for a row, in every
/// row of a kernel, followed by the norm.
void emitRows(VectorCode &code, const KernelBody &body, int64_t width,
              llvm::function_ref<
                  std::function<mlir::Value(mlir::Value column, int64_t valid)>(mlir::Value row)>
                  elementsOf);

/// Sums `term(vector)` over the `width` elements at `row`. Only `valid` lanes of a vector are used:
/// the others add the term of zero. Four accumulators overlap additions; the order depends only on
/// the width.
mlir::Value sumOverRow(VectorCode &code, mlir::Value row, int64_t width,
                       llvm::function_ref<mlir::Value(mlir::Value vector, int64_t valid)> term);

/// Selects the largest of `term(vector)` over the same elements: NaN if one is NaN, or ignoring
/// NaN.
enum class Largest : uint8_t { OrNan, OfNumbers };
mlir::Value largestOverRow(VectorCode &code, mlir::Value row, int64_t width, Largest largest,
                           llvm::function_ref<mlir::Value(mlir::Value vector)> term);

/// Return number `row` of a list of integers that another kernel wrote, clamped to at most `last`,
/// or `limit` - 1, whatever the list contains.
mlir::Value chosenNumber(VectorCode &code, mlir::Value numbers, mlir::Value row, mlir::Value last);
mlir::Value chosenNumber(VectorCode &code, mlir::Value numbers, mlir::Value row, int64_t limit);
/// Stores an integer of such a list.
void storeIndex(VectorCode &code, mlir::Value index, mlir::Value address);
/// Returns how many rows of the result read each row of the input of a product whose rows choose
/// groups: its choices, if the input has none of its own.
int64_t rowsOfInput(dataflow::KernelOp kernel);

/// Returns the bytes of scratch that a product needs to unpack weights, in addition to its
/// family's.
uint64_t unpackedPanelBytes(dataflow::KernelOp kernel);

/// Applies the kernel's norm, in place, to the finished row at `row` of `width` elements.
void emitRowNorm(VectorCode &code, const KernelBody &body, mlir::Value row, int64_t width);

/// Writes the computation of a kernel family. Each emitter is a specialisation in a separate file;
/// a family of the dialect without one is a link error.
template <typename Family> void emit(VectorCode &code, const KernelBody &body, Family computes);

/// Writes the computation of a kernel with the emitter of its family.
void emitFamily(VectorCode &code, const KernelBody &body);

/// Emits the norm of a kernel's rows, in place, for kernels that run it after all columns are
/// complete.
void emitRowNorms(VectorCode &code, const KernelBody &body);

/// Returns the scratch that the code of a family needs on any target; specialised next to emit().
template <typename Family> KernelScratch scratchOf(Family computes);

/// Returns the scratch of a kernel: that of its family, and that to unpack weights.
KernelScratch kernelScratch(dataflow::KernelOp kernel);

} // namespace heddle

#endif // HEDDLE_COMPILER_TARGET_EMITTERS_EMITTERS_H
