// SPDX-License-Identifier: Apache-2.0
///
/// What a manifest numbers in the order in which it is met: the row spaces of an entry, the kernels
/// of all graphs and the parameters.
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

/// A text, or nothing for an empty one.
inline flatbuffers::Offset<flatbuffers::String>
optionalText(flatbuffers::FlatBufferBuilder &builder, llvm::StringRef string) {
  return string.empty() ? flatbuffers::Offset<flatbuffers::String>() : text(builder, string);
}

/// The element type of memory, or of a type itself, as manifests store it.
uint8_t elementNumber(mlir::Type type);

/// The row spaces of an entry, numbered as they are met after tokens and sequences.
class SpaceTable {
public:
  /// Adds the spaces of all types and sizes that the graph has; reports if there are too many.
  mlir::LogicalResult addAll(dataflow::GraphOp graph);
  /// The number of a space that the graph has.
  uint8_t operator[](RowSpace space) const;
  std::vector<manifest::RowSpace> write() const;

private:
  /// Adds the space of a dimension, if it is about one. Fails, without a message, if there are too
  /// many.
  mlir::LogicalResult add(int64_t dimension);

  llvm::SmallVector<RowSpace> spaces = {RowSpace::tokens(), RowSpace::sequences()};
};

/// The dimensions of a buffer, of a position of a cache or of a state.
std::vector<manifest::Dimension> shapeOf(mlir::Type type, const SpaceTable &spaces);
/// A sum of sizes as manifests store it.
std::vector<manifest::SizeTerm> toSize(dataflow::SizeAttr size, const SpaceTable &spaces);

/// Columns of work: heads, or panels of each group of elements.
uint64_t columnsOf(const dataflow::Division &division, int64_t panelColumns);
/// The elements of a row that a column of work computes, and those after which columns begin anew;
/// zeros where they are no constants.
std::pair<uint64_t, uint64_t> columnElements(const dataflow::Division &division,
                                             int64_t panelColumns);

/// How many groups of weights a kernel has of which each row reads one, and the operand of a call
/// that says which; 0 groups: every row reads all weights.
struct ChosenGroups {
  uint32_t groups = 0;
  uint32_t by = 0;
};
ChosenGroups chosenGroups(dataflow::KernelOp kernel);

/// The kernels that graphs run, and their finishes, numbered as they are met.
class KernelTable {
public:
  /// The number of a kernel; its finish, if it has one, is the next.
  uint32_t numberOf(dataflow::KernelOp kernel);
  Table<manifest::Kernel> write(flatbuffers::FlatBufferBuilder &builder,
                                const ManifestInputs &inputs) const;

private:
  llvm::StringMap<uint32_t> numbers;
  llvm::SmallVector<dataflow::KernelOp> kernels;
  uint32_t count = 0;
};

/// The images of devices; null if there are none.
flatbuffers::Offset<flatbuffers::Vector<flatbuffers::Offset<manifest::Image>>>
writeImages(flatbuffers::FlatBufferBuilder &builder, const ManifestInputs &inputs);

/// The parameters of usedParameters(), with their places in the weights.
mlir::FailureOr<Table<manifest::Parameter>>
writeParameters(mlir::ModuleOp module, const ManifestInputs &inputs,
                flatbuffers::FlatBufferBuilder &builder);

/// The names of targets.
Table<flatbuffers::String> writeTargets(flatbuffers::FlatBufferBuilder &builder,
                                        llvm::ArrayRef<ManifestTarget> targets);

} // namespace heddle

#endif // HEDDLE_COMPILER_LINK_MANIFESTTABLES_H
