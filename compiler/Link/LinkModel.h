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

/// The origin of a binary, and its contents besides code.
struct ModelFacts {
  std::string sourceHash;
  std::string producer;
  std::string precision;
  /// The quantisation of the model's files, if the binary uses it.
  std::optional<Quantization> codes;
  std::vector<std::string> reportSummary;
  std::optional<CalibrationFacts> calibration;
  /// The manifest, which already contains the tokenizers: they are packed once, before anything is
  /// compiled.
  flatbuffers::FlatBufferBuilder builder;
  /// Null for a model without one.
  flatbuffers::Offset<manifest::Tokenizer> tokenizer;
  /// The tokenizer of the model's output; null if it is the same.
  flatbuffers::Offset<manifest::Tokenizer> targetTokenizer;
  /// CompiledKernels::kept, which linkModel() sets.
  Status kept;
};

/// The code of kernels.
struct CompiledKernels {
  /// CPU code, in the order of modules and functions.
  std::vector<Code> objects;
  /// Device images, each with the index of its target.
  std::vector<std::pair<uint32_t, DeviceImage>> images;
  /// The first reason why code could not be kept in the cache: no error of what was compiled.
  Status kept;
};

/// Compiles the module of every target, function by function, using all hardware threads. Cached
/// code is not compiled again; null means no cache.
Result<CompiledKernels> compileKernels(mlir::ModuleOp module, const CodeCache *cache,
                                       const DeviceTools &tools);

/// Returns the assembly of the module of every target, in order: that of the same code.
Result<std::vector<Code>> assemblyOfKernels(mlir::ModuleOp module);

/// Code in the form in which it is written to a file.
struct LinkedKernels {
  /// A shared library.
  std::string library;
  std::vector<std::pair<uint32_t, DeviceImage>> images;
};

/// Writes a binary from linked code for every target, with weights and the manifest, which finishes
/// the builder of `facts`. A failure leaves no file at `path`.
Status writeModel(mlir::ModuleOp module, const LinkedKernels &code, const ParameterSource &source,
                  ModelFacts &facts, const std::string &path);

/// Compiles the kernels of every target, links them, and writes the binary as writeModel() does.
Status linkModel(mlir::ModuleOp module, const ParameterSource &source, ModelFacts &facts,
                 const std::string &path, const CodeCache *cache, const DeviceTools &tools);

} // namespace heddle

#endif // HEDDLE_COMPILER_LINK_LINKMODEL_H
