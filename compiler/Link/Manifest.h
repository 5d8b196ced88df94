// SPDX-License-Identifier: Apache-2.0
///
/// From a planned dataflow graph to the FlatBuffer that the runtime reads
/// (formats/Binary/Manifest.fbs). What only the linking of the binary knows is given as input.
#ifndef HEDDLE_COMPILER_LINK_MANIFEST_H
#define HEDDLE_COMPILER_LINK_MANIFEST_H

#include "dialects/Dataflow/Dataflow.h"
#include "dialects/Transformer/Transformer.h"
#include "formats/Checkpoint/QuantizedTensor.h"

#include "mlir/IR/BuiltinOps.h"

#include "formats/Binary/Manifest_generated.h"

#include "llvm/ADT/StringMap.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace heddle {

/// Where a parameter lies in the weights section; bytes.
struct ParameterPlace {
  uint64_t offset = 0;
  uint64_t size = 0;
  /// XXH3 64 of its bytes.
  uint64_t checksum = 0;
};

/// Scratch memory of one caller of a kernel; bytes.
struct ScratchSize {
  uint64_t fixed = 0;
  uint64_t perLongest = 0;
};

/// Writes a tokenizer into a manifest.
using TokenizerWriter =
    std::function<flatbuffers::Offset<manifest::Tokenizer>(flatbuffers::FlatBufferBuilder &)>;

/// A target that the binary has code for.
struct ManifestTarget {
  std::string name;
  /// Columns of the result that one column of work is, where the target cuts elements.
  int64_t panelColumns;
  /// Rows that most kernels whose rows share work compute together.
  uint32_t tileRows;
  /// How norms are launched that run by themselves: all zero on CPUs.
  manifest::LaunchShape launch = {};
};

/// An image of the section .heddle.device, without its bytes.
struct ManifestImage {
  /// Which of the targets.
  uint32_t target;
  manifest::ImageKind kind;
  uint64_t offset;
  uint64_t size;
  uint64_t checksum;
  std::string compiler;
};

/// The texts by which codes of weights were chosen.
struct CalibrationFacts {
  /// XXH3 128 of the file, in hexadecimal, and its texts.
  std::string hash;
  uint64_t texts = 0;
  /// Matrices whose codes were chosen so.
  uint64_t matrices = 0;
};

/// What the graph does not know.
struct ManifestInputs {
  /// In the order in which parameters have their encodings.
  std::vector<ManifestTarget> targets;
  /// The name of the function of a kernel, or of its finish, for a target.
  std::function<std::string(llvm::StringRef kernel, llvm::StringRef target)> functionName;
  /// How a kernel is launched on a target.
  std::function<manifest::LaunchShape(dataflow::KernelOp kernel, const ManifestTarget &target)>
      launchShape;
  /// Rows that a kernel whose rows share work computes together on a target.
  std::function<uint32_t(dataflow::KernelOp kernel, const ManifestTarget &target)> tileRows =
      [](dataflow::KernelOp, const ManifestTarget &target) { return target.tileRows; };
  /// The name of the norm of a contract kernel as a kernel of its own.
  std::function<std::string(llvm::StringRef kernel)> finishName;
  std::function<ScratchSize(dataflow::KernelOp kernel)> scratch;
  /// Every parameter of usedParameters(), by its symbol.
  llvm::StringMap<ParameterPlace> parameters;
  /// Bytes of the weights section.
  uint64_t weightsSize = 0;
  /// The images, and the section that they are in.
  std::vector<ManifestImage> images;
  std::string imageSection;
  /// The checksum of the linked code, as the runtime computes it.
  uint64_t codeChecksum = 0;
  /// XXH3 128 of the model's files, in hexadecimal.
  std::string sourceHash;
  /// The program and its version.
  std::string producer;
  std::string precision;
  /// The codes of the model's files, where the binary has them.
  std::optional<Quantization> codes;
  /// Writes the tokenizer; may be empty, for a model without one.
  TokenizerWriter tokenizer;
  /// Writes that of what the model generates; empty where it is the same.
  TokenizerWriter targetTokenizer;
  /// Report::summary().
  std::vector<std::string> reportSummary;
  std::optional<CalibrationFacts> calibration;
};

/// The parameters that the binary stores: what graphs read on the first target, in the order in
/// which they first do, then what the next one reads instead, and so on. So what one target reads
/// lies together.
llvm::SmallVector<transformer::ParameterOp> usedParameters(mlir::ModuleOp module);

/// Writes the manifest of a module whose memory is planned, and finishes `builder`. Fails with an
/// error at the operation that a manifest cannot describe, or when the runtime would refuse it.
mlir::LogicalResult buildManifest(mlir::ModuleOp module, const ManifestInputs &inputs,
                                  flatbuffers::FlatBufferBuilder &builder);

} // namespace heddle

#endif // HEDDLE_COMPILER_LINK_MANIFEST_H
