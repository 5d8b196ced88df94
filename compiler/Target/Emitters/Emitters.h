// SPDX-License-Identifier: Apache-2.0
///
/// The kernel families: each emitter writes the body of one kernel function for one target. An
/// emitter is chosen by the attribute that says what the kernel computes, never by its name.
#ifndef HEDDLE_COMPILER_TARGET_EMITTERS_EMITTERS_H
#define HEDDLE_COMPILER_TARGET_EMITTERS_EMITTERS_H

#include "compiler/Target/Emitters/VectorCode.h"
#include "dialects/Dataflow/Dataflow.h"

#include <functional>

namespace heddle {

/// A kernel being written: its specification, its function, its arguments.
struct KernelBody {
  // Operations are handles whose accessors are not const.
  mutable dataflow::KernelOp kernel;
  mutable mlir::func::FuncOp function;
  KernelArguments arguments;

  /// An operand of the dispatch: the address of its elements, or a HeddleCache.
  mlir::Value operand(VectorCode &code, unsigned index) const {
    return arguments.operand(code, kernel.getCallOperand(index));
  }
  /// The rows that it computes.
  RowFields rows(VectorCode &code) const { return arguments.rows(code, kernel.getRows()); }
};

/// The element-wise operands of a kernel and its region of scalar maths, applied to vectors.
class Epilogue {
public:
  /// Loads the operands' base pointers at the current place.
  Epilogue(VectorCode &code, const KernelBody &body);

  /// The epilogue of `value`, the vector at `row` and `column` of which `valid` lanes count. The
  /// result may be the memory of an operand: every element is read once, before the only store of
  /// what is made of it, and never again for the norm.
  mlir::Value apply(VectorCode &code, mlir::Value value, mlir::Value row, mlir::Value column,
                    int64_t valid) const;

  /// Asks for what apply() will read at `width` columns of a row.
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

/// Clones scalar maths on f32 values with other values for the block's arguments: scalars, or
/// vectors of one type. Returns the value it yields.
mlir::Value cloneScalarMaths(VectorCode &code, mlir::Block &block, mlir::ValueRange arguments,
                             mlir::Type type);

/// Runs `element(column, valid)`, which `elementsOf` gives for a row, through the epilogue into
/// every row of a kernel, and the norm after it.
void emitRows(VectorCode &code, const KernelBody &body, int64_t width,
              llvm::function_ref<
                  std::function<mlir::Value(mlir::Value column, int64_t valid)>(mlir::Value row)>
                  elementsOf);

/// The sum over the `width` elements at `row` of `term(vector)`, of which `valid` lanes count: the
/// others add what the term makes of zero. Four accumulators let additions overlap; the order
/// depends on the width alone.
mlir::Value sumOverRow(VectorCode &code, mlir::Value row, int64_t width,
                       llvm::function_ref<mlir::Value(mlir::Value vector, int64_t valid)> term);

/// The largest of `term(vector)` over the same elements: NaN if one is, or as if there were none.
enum class Largest : uint8_t { OrNan, OfNumbers };
mlir::Value largestOverRow(VectorCode &code, mlir::Value row, int64_t width, Largest largest,
                           llvm::function_ref<mlir::Value(mlir::Value vector)> term);

/// Number `row` of a list of integers that another kernel wrote, at most `limit` - 1 whatever is
/// there.
mlir::Value chosenNumber(VectorCode &code, mlir::Value numbers, mlir::Value row, int64_t limit);

/// Bytes of scratch that a product takes beside that of its family, to unpack weights.
uint64_t unpackedPanelBytes(dataflow::KernelOp kernel);

/// Applies the kernel's norm, in place, to the finished row at `row` of `width` elements.
void emitRowNorm(VectorCode &code, const KernelBody &body, mlir::Value row, int64_t width);

/// Writes what a kernel of a family computes. Each emitter is a specialization in a file of its
/// own: without one for every family of the dialect the target does not link.
template <typename Family> void emit(VectorCode &code, const KernelBody &body, Family computes);

/// Writes what a kernel computes by the emitter of its family.
void emitFamily(VectorCode &code, const KernelBody &body);

/// Writes the norm of a kernel's rows, in place, where it runs when all columns are done.
void emitRowNorms(VectorCode &code, const KernelBody &body);

/// The scratch that the code of a family needs, enough for every target: specialized beside emit().
template <typename Family> KernelScratch scratchOf(Family computes);

/// The scratch of a kernel: that of its family, and what unpacks weights.
KernelScratch kernelScratch(dataflow::KernelOp kernel);

} // namespace heddle

#endif // HEDDLE_COMPILER_TARGET_EMITTERS_EMITTERS_H
