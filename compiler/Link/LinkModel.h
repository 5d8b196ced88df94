// SPDX-License-Identifier: Apache-2.0
///
/// The last phase: turns a module of the llvm dialect, with its graphs and parameters, into a
/// binary.
#ifndef HEDDLE_COMPILER_LINK_LINKMODEL_H
#define HEDDLE_COMPILER_LINK_LINKMODEL_H

#include "compiler/Link/CodeCache.h"
#include "compiler/Link/Manifest.h"
#include "compiler/Link/Parameters.h"
#include "compiler/Target/Target.h"

namespace heddle {

/// What a binary says of its origin and carries beside its code.
struct ModelFacts {
  std::string sourceHash;
  std::string producer;
  std::string precision;
  /// The codes of the model's files, where the binary has them.
  std::optional<Quantization> codes;
  std::vector<std::string> reportSummary;
  std::optional<CalibrationFacts> calibration;
  /// The manifest, begun with the tokenizers: they are packed once, before anything is compiled.
  flatbuffers::FlatBufferBuilder builder;
  /// Null for a model without one.
  flatbuffers::Offset<manifest::Tokenizer> tokenizer;
  /// The tokenizer of what the model generates; null where it is the same.
  flatbuffers::Offset<manifest::Tokenizer> targetTokenizer;
};

/// The code of kernels.
struct CompiledKernels {
  /// Those of the program, in the order of modules and functions.
  std::vector<Code> objects;
  /// Those of devices, each with the number of its target.
  std::vector<std::pair<uint32_t, DeviceImage>> images;
};

/// Compiles the module of every target, function by function, by as many threads as the machine
/// has. What is in the cache is not compiled again; null means no cache.
Result<CompiledKernels> compileKernels(mlir::ModuleOp module, const CodeCache *cache,
                                       const DeviceTools &tools);

/// The assembly of the module of every target, in their order: that of the same code.
Result<std::vector<Code>> assemblyOfKernels(mlir::ModuleOp module);

/// Code as it is written to a file.
struct LinkedKernels {
  /// A shared library.
  std::string library;
  std::vector<std::pair<uint32_t, DeviceImage>> images;
};

/// Writes a binary of code that is linked already, that of the module's kernels for every target,
/// with its weights and manifest, which ends the builder of `facts`. Nothing is left at `path`
/// unless all of it succeeds.
Status writeModel(mlir::ModuleOp module, const LinkedKernels &code, const ParameterSource &source,
                  ModelFacts &facts, const std::string &path);

/// Compiles the kernels of every target, links them, and writes the binary as writeModel() does.
Status linkModel(mlir::ModuleOp module, const ParameterSource &source, ModelFacts &facts,
                 const std::string &path, const CodeCache *cache, const DeviceTools &tools);

} // namespace heddle

#endif // HEDDLE_COMPILER_LINK_LINKMODEL_H
