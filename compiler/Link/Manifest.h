// SPDX-License-Identifier: Apache-2.0
///
/// Converts a planned dataflow graph to the FlatBuffer that the runtime reads
/// (formats/Binary/Manifest.fbs). Data that is only known when the binary is linked is an input.
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

/// The place of a parameter in the weights section; bytes.
struct ParameterPlace {
  uint64_t offset = 0;
  uint64_t size = 0;
  /// XXH3 64 of its bytes.
  uint64_t checksum = 0;
};

/// Scratch memory per caller of a kernel; bytes.
struct ScratchSize {
  uint64_t fixed = 0;
  uint64_t perLongest = 0;
};

/// Writes a tokenizer into a manifest.
using TokenizerWriter =
    std::function<flatbuffers::Offset<manifest::Tokenizer>(flatbuffers::FlatBufferBuilder &)>;

/// A target for which the binary has code.
struct ManifestTarget {
  std::string name;
  /// The result columns of one column of work, if the target divides elements.
  int64_t panelColumns;
  /// Rows that most kernels whose rows share work compute together.
  uint32_t tileRows;
  /// How norms are launched that run by themselves: all zero on CPUs.
  manifest::LaunchShape launch = {};
};

/// An image in the section .heddle.device, without its bytes.
struct ManifestImage {
  /// The index of its target.
  uint32_t target;
  manifest::ImageKind kind;
  uint64_t offset;
  uint64_t size;
  uint64_t checksum;
  std::string compiler;
};

/// The texts that the codes of weights were calibrated with.
struct CalibrationFacts {
  /// XXH3 128 of the file, in hexadecimal, and the number of its texts.
  std::string hash;
  uint64_t texts = 0;
  /// The number of calibrated matrices.
  uint64_t matrices = 0;
};

/// Data that is not part of the graph.
struct ManifestInputs {
  /// In the order of the parameters' encodings.
  std::vector<ManifestTarget> targets;
  /// Returns the name of the function of a kernel, or of its finish, for a target.
  std::function<std::string(llvm::StringRef kernel, llvm::StringRef target)> functionName;
  /// Returns how a kernel is launched on a target.
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
  /// The size of the weights section in bytes.
  uint64_t weightsSize = 0;
  /// The images, and the section that contains them.
  std::vector<ManifestImage> images;
  std::string imageSection;
  /// The checksum of the linked code, as the runtime computes it.
  uint64_t codeChecksum = 0;
  /// XXH3 128 of the model's files, in hexadecimal.
  std::string sourceHash;
  /// The producing program and its version.
  std::string producer;
  std::string precision;
  /// The quantisation of the model's files, if the binary uses it.
  std::optional<Quantization> codes;
  /// Writes the tokenizer; may be empty, for a model without one.
  TokenizerWriter tokenizer;
  /// Writes the tokenizer of the model's output; empty if it is the same.
  TokenizerWriter targetTokenizer;
  /// Report::summary().
  std::vector<std::string> reportSummary;
  std::optional<CalibrationFacts> calibration;
};

/// Returns the parameters that the binary stores: those that graphs read on the first target, in
/// the order of their first use, then the additional ones of the next target, and so on, so that
/// the parameters of a target are adjacent.
llvm::SmallVector<transformer::ParameterOp> usedParameters(mlir::ModuleOp module);

/// Writes the manifest of a module whose memory is planned, and finishes `builder`. Emits an error
/// at an operation that a manifest cannot describe, or if the runtime would reject the manifest.
mlir::LogicalResult buildManifest(mlir::ModuleOp module, const ManifestInputs &inputs,
                                  flatbuffers::FlatBufferBuilder &builder);

} // namespace heddle

#endif // HEDDLE_COMPILER_LINK_MANIFEST_H
