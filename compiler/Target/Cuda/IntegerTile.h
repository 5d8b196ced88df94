// SPDX-License-Identifier: Apache-2.0
///
/// A tile of a product of integers whose sums are computed by tensor cores (docs/decisions/0072). A
/// word is four codes (WordTile.h), so panels of 8-bit weights are read as they are stored. Those
/// of 4 bits have two words of a column in one, eight steps of k, and the words of rows are stored
/// in the order in which these are split.
///
/// Rows are f32 in memory. Before a row can be quantised, its extent must be known:
///   - If all elements of a row share a scale, the block reads its rows twice: warps compute their
///     extents first.
///   - Otherwise a slab has whole groups of elements that share a scale, each padded to whole
///     instructions, and the lanes that have loaded a group exchange their extents.
/// Codes of steps that do not exist are zero in rows, and anything in weights.
///
///   rows 0, rows 1    as in all tiles of words
///   stage 0           lines of codes; with groups, then the factors of columns of each
///   stage 1           ...
///   if rows have one scale: the factors of columns, and the factors of rows
///   otherwise: the factors of rows 0 and of rows 1
#ifndef HEDDLE_COMPILER_TARGET_CUDA_INTEGERTILE_H
#define HEDDLE_COMPILER_TARGET_CUDA_INTEGERTILE_H

#include "compiler/Target/Cuda/WordTile.h"
#include "compiler/Target/Emitters/RowQuantizer.h"

#include <climits>

namespace heddle {

/// The shape of a tile, and its use of shared memory.
struct IntegerTile {
  WordTile words;
  transformer::QuantizedType type;
  int64_t k;
  /// Elements that share a scale, and groups of these in a slab; 0 groups: a row has one scale.
  int64_t shared, groups;

  /// Returns the shape for weights of a type [n, k], in so many groups of columns.
  static IntegerTile of(transformer::QuantizedType type, int64_t k, int64_t groupsOfColumns,
                        bool isFew);

  bool isWhole() const { return groups == 0; }
  /// The words of a group in a slab, and those of them that instructions multiply.
  int64_t groupWords() const { return isWhole() ? words.slab : words.slab / groups; }
  int64_t usedWords() const {
    return isWhole() ? words.slab
                     : llvm::divideCeilSigned(shared, kMatrixWords * codesTogether) * kMatrixWords;
  }
  int64_t slabs() const {
    return isWhole() ? llvm::divideCeilSigned(k, words.slab * codesTogether)
                     : type.getScalesOf(k) / groups;
  }
  /// Whether all slabs, or groups, are complete.
  bool isEven() const { return k % (isWhole() ? words.slab * codesTogether : shared) == 0; }
  /// Whether slabs have steps of rows that do not exist, and whether they copy such steps of
  /// weights.
  bool hasGaps() const {
    return !isEven() || (!isWhole() && groupWords() * codesTogether != shared);
  }
  bool copiesGaps() const {
    return !isEven() || (!isWhole() && usedWords() * codesTogether != shared);
  }

  // --- weights: a line has the words of four steps of k, or of eight with 4-bit codes
  int64_t linesOf(int64_t wordsOfRow) const {
    return wordsOfRow * codesTogether / type.getRowsTogether(codesTogether);
  }
  int64_t headBytes() const { return type.getHeadBytes(sharedPanelColumns, codesTogether); }
  int64_t groupBytes() const {
    return headBytes() +
           shared * sharedPanelColumns * type.getCodes().getIntOrFloatBitWidth() / CHAR_BIT;
  }
  int64_t panelBytes() const { return type.getPanelBytes(k, sharedPanelColumns, codesTogether); }

  // --- shared memory
  int64_t linesBytes() const { return linesOf(words.slab) * words.linePitch(); }
  int64_t headsBytes() const { return std::max<int64_t>(groups, 1) * words.panels * headBytes(); }
  int64_t stageBytes() const { return linesBytes() + (isWhole() ? 0 : headsBytes()); }
  /// Bytes of the factors of rows, and of a row's: its inverse scale, code of zero, scale and code
  /// of zero; or, for each group of a slab, scale and code of zero.
  int64_t rowFactorBytes() const { return isWhole() ? 4 * kWordBytes : groups * 2 * kWordBytes; }
  int64_t factorsBytes() const { return words.rows * rowFactorBytes(); }
  int64_t keptBytes() const {
    return isWhole() ? headsBytes() + factorsBytes() : 2 * factorsBytes();
  }
  int64_t stages() const;
  int64_t headsBegin() const {
    return std::max(words.stagesBegin() + stages() * stageBytes(), words.sumsBytes());
  }
  int64_t factorsBegin() const { return headsBegin() + (isWhole() ? headsBytes() : 0); }
  int64_t bytes() const { return headsBegin() + keptBytes(); }
};

/// The lane's factors of columns, in the order of its sums: scales, and sums of codes in i32 or
/// negated codes of zero in f32.
struct ColumnFactors {
  llvm::SmallVector<mlir::Value> scales, others;
};

/// A tile whose code is being emitted.
class IntegerTileCode final : public WordTileCode {
public:
  IntegerTileCode(BlockCode &block, const IntegerTile &tile, const TiledProduct &product);

  void emit();

private:
  bool isSigned() const { return shape.type.hasZeros(); }
  mlir::Value constant(int64_t value);
  mlir::Value toFloat(mlir::Value integer);
  mlir::Value bitsOf(mlir::Value number);
  mlir::Value numberOf(mlir::Value bits);
  mlir::Value laneOf(mlir::Value vector);

  // --- weights
  void copySlab(mlir::Value stage, mlir::Value number) override;
  void copyHeads(mlir::Value to, mlir::Value firstGroup);

  // --- rows
  mlir::Value firstStep(mlir::Value number) override;
  void prepare() override;
  void measureRow(mlir::Value row);
  /// Return the group of the thread's elements in a slab, and their place in it.
  mlir::Value ownGroup() { return code.divide(ownFour, groupSteps); }
  mlir::Value ownInGroup() { return code.remainder(ownFour, groupSteps); }
  RowQuantizer quantizerOf(mlir::Value below, mlir::Value largest, mlir::Value finite);
  mlir::Value isThere(mlir::Value k);
  Values existing(mlir::Value four, mlir::Value k);
  RowQuantizer quantizerOfGroup(mlir::ValueRange elements, int64_t load, mlir::Value factors);
  RowQuantizer storedQuantizer(int64_t load);
  mlir::Value wordOf(mlir::ValueRange elements, const RowQuantizer &quantizer);
  mlir::Value placeOfWord();
  void storeRows(mlir::ValueRange loaded, const Slab &slab) override;

  // --- sums
  Columns loadColumns(const ColumnRun &run, mlir::Value columns);
  void multiplyWords(const Slab &slab, int64_t first, int64_t count,
                     llvm::MutableArrayRef<mlir::Value> sums);
  void multiply(const Slab &slab, llvm::MutableArrayRef<mlir::Value> sums) override;
  /// Returns zeros: the sums of a lane and, of signed rows, the sums of codes.
  Values integers();
  mlir::Value factorsOf(mlir::Value rows);
  ColumnFactors loadFactors(mlir::Value heads);
  Values scaled(int64_t part, mlir::ValueRange integers, const ColumnFactors &columns,
                mlir::Value factors, mlir::ValueRange before);

  const IntegerTile &shape;
  /// The steps of a group in a slab.
  const int64_t groupSteps;
};

} // namespace heddle

#endif // HEDDLE_COMPILER_TARGET_CUDA_INTEGERTILE_H
