// SPDX-License-Identifier: Apache-2.0
///
/// Tables of a manifest that are numbered in order of first use: the row spaces of an entry, the
/// kernels of all graphs and the parameters.
#ifndef HEDDLE_COMPILER_LINK_MANIFESTTABLES_H
#define HEDDLE_COMPILER_LINK_MANIFESTTABLES_H

#include "compiler/Link/Manifest.h"
#include "formats/Binary/SymbolicSize.h"
#include "heddle/RowSpace.h"

#include <vector>

namespace heddle {

template <typename T> using Table = std::vector<flatbuffers::Offset<T>>;

inline flatbuffers::Offset<flatbuffers::String> text(flatbuffers::FlatBufferBuilder &builder,
                                                     llvm::StringRef string) {
  return builder.CreateString(string.data(), string.size());
}

/// Returns a string, or null for an empty one.
inline flatbuffers::Offset<flatbuffers::String>
optionalText(flatbuffers::FlatBufferBuilder &builder, llvm::StringRef string) {
  return string.empty() ? flatbuffers::Offset<flatbuffers::String>() : text(builder, string);
}

/// Returns the number of the element type of memory, or of a type itself, in manifests.
uint8_t elementNumber(mlir::Type type);

/// The row spaces of an entry, numbered in order of first use after tokens and sequences.
class SpaceTable {
public:
  /// Adds the spaces of all types and sizes of the graph; reports an error if there are too many.
  mlir::LogicalResult addAll(dataflow::GraphOp graph);
  /// Returns the number of a space of the graph.
  uint8_t operator[](RowSpace space) const;
  std::vector<manifest::RowSpace> write() const;

private:
  /// Adds the space of a dimension, if it has one. Fails, without a message, if there are too many.
  mlir::LogicalResult add(int64_t dimension);

  llvm::SmallVector<RowSpace> spaces = {RowSpace::tokens(), RowSpace::sequences()};
};

/// Returns the dimensions of a buffer, of a position of a cache or of a state.
std::vector<manifest::Dimension> shapeOf(mlir::Type type, const SpaceTable &spaces);
/// Returns a sum of sizes as in manifests.
std::vector<manifest::SizeTerm> toSize(dataflow::SizeAttr size, const SpaceTable &spaces);

/// Returns the number of columns of work: heads, or panels of each group of elements.
uint64_t columnsOf(const dataflow::Division &division, int64_t panelColumns);
/// Returns the elements of a row that a column of work computes, and the period after which columns
/// start again; zeros if they are not constant.
std::pair<uint64_t, uint64_t> columnElements(const dataflow::Division &division,
                                             int64_t panelColumns);

/// Return the type in which a kernel's products are computed, and what its note says of f32
/// products on devices with matrix units.
manifest::Arithmetic arithmeticOf(dataflow::KernelOp kernel);
manifest::FloatProducts writtenProductsOf(dataflow::KernelOp kernel);

/// The number of weight groups of a kernel whose rows each read one group, and the call operand
/// with the choices; 0 groups: every row reads all weights.
struct ChosenGroups {
  uint32_t groups = 0;
  uint32_t by = 0;
};
ChosenGroups chosenGroups(dataflow::KernelOp kernel);

/// The kernels that graphs run, and their finishes, numbered in order of first use.
class KernelTable {
public:
  /// Returns the number of a kernel; its finish, if it has one, is the next.
  uint32_t numberOf(dataflow::KernelOp kernel);
  Table<manifest::Kernel> write(flatbuffers::FlatBufferBuilder &builder,
                                const ManifestInputs &inputs) const;

private:
  llvm::StringMap<uint32_t> numbers;
  llvm::SmallVector<dataflow::KernelOp> kernels;
  uint32_t count = 0;
};

/// Returns the text of an attribute of a module; empty if the module does not have it.
llvm::StringRef textOf(mlir::ModuleOp module, llvm::StringRef attribute);

/// Writes a tokenizer; null if the model has none.
flatbuffers::Offset<manifest::Tokenizer> writeTokenizer(const TokenizerWriter &write,
                                                        flatbuffers::FlatBufferBuilder &builder);

/// Adds the checksum of the code. The field is present even if it is zero, because linking fills it
/// in.
void addCodeChecksum(const ManifestInputs &inputs, flatbuffers::FlatBufferBuilder &builder,
                     manifest::ManifestBuilder &root);

/// Checks a finished manifest as the runtime does.
mlir::LogicalResult checkWritten(mlir::ModuleOp module, const ManifestInputs &inputs,
                                 const flatbuffers::FlatBufferBuilder &builder);

/// Writes the device images; null if there are none.
flatbuffers::Offset<flatbuffers::Vector<flatbuffers::Offset<manifest::Image>>>
writeImages(flatbuffers::FlatBufferBuilder &builder, const ManifestInputs &inputs);

/// Writes the parameters of usedParameters(), with their places in the weights.
mlir::FailureOr<Table<manifest::Parameter>>
writeParameters(mlir::ModuleOp module, const ManifestInputs &inputs,
                flatbuffers::FlatBufferBuilder &builder);

/// Writes the names of targets.
Table<flatbuffers::String> writeTargets(flatbuffers::FlatBufferBuilder &builder,
                                        llvm::ArrayRef<ManifestTarget> targets);

} // namespace heddle

#endif // HEDDLE_COMPILER_LINK_MANIFESTTABLES_H
