// SPDX-License-Identifier: Apache-2.0
///
/// Converts the user's input (a model's folder, a GGUF or ONNX file, or a program in text and its
/// weights) to a verified program and an open checkpoint that match. It reads no weights.
#ifndef HEDDLE_FRONTEND_IMPORT_IMPORT_H
#define HEDDLE_FRONTEND_IMPORT_IMPORT_H

#include "base/MappedFile.h"
#include "formats/Checkpoint/Checkpoint.h"
#include "formats/Tokenizer/TokenizerFile.h"
#include "frontend/Builder/DiagnosticText.h"
#include "heddle/Status.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace heddle {

/// The tokenizers beside a model. Errors inside them are reported when they are packed.
struct TokenizerSource {
  TokenizerFile file;
  /// The tokenizer of the generated text; nothing if it is the same.
  std::optional<TokenizerFile> target;
  /// The most ids of a text: max_seq_length of the model's folder, but no more than the model has
  /// positions.
  std::optional<int64_t> maxLength;
};

/// A program and where its weights are.
struct ImportedModel {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  /// The text that the module was read from, for messages; empty for a folder.
  SourceText source;
  /// Keeps the text of a file alive; null if the caller owns it.
  std::shared_ptr<const MappedFile> file;
  /// Holds every parameter that has a source, with its shape and a floating type. Null for a
  /// program without such parameters.
  std::shared_ptr<const Checkpoint> checkpoint;
  /// The program's transformer.model_type; empty if it has none.
  std::string modelType;
  /// XXH3-128 of everything the model was read from, 32 hexadecimal digits.
  std::string sourceHash;
  /// The files that it covers, by their paths; without the file of a program.
  std::vector<std::string> sourceFiles;
  std::optional<TokenizerSource> tokenizer;
  /// The longest sequence that has a position in every table; nothing if positions are not looked
  /// up.
  std::optional<int64_t> positions;
  /// Whether `textLength` of importModel() changed the program.
  bool dependsOnLength = false;
  /// Whether `isStatic` changed the program.
  bool hasFixedSizes = false;
  /// Notes for the user, one line each: unused tensors, defaults that were applied.
  std::vector<std::string> notes;
  /// Warnings that the binary may not be the model the user wants, one line each.
  std::vector<std::string> warnings;
};

/// Reads `path`: a folder as Hugging Face transformers or sentence-transformers save one
/// (config.json, model.safetensors, optionally generation_config.json, a tokenizer and
/// modules.json), a CTranslate2 folder (model.bin and vocabularies), a GGUF file of a supported
/// architecture, which contains all of these, or FILE.mlir, whose weights and optional tokenizer
/// are beside it (ModelFiles.h) or in `weights`, if that is not empty. Calls in a program are
/// inlined.
///
/// A tensor that is missing, has another shape or has no floating type is an error. A tensor that
/// the model does not use is an error in a folder, unless the family expects it, and a note for a
/// program. `textLength` is that of ModelSource, `isStatic` that of readOnnxProgram(). Dialects of
/// later phases must be in the context's registry; `func`, `transformer` and `dataflow` are always
/// loaded.
Result<ImportedModel> importModel(mlir::MLIRContext &context, const std::string &path,
                                  const std::string &weights = {}, int64_t textLength = 0,
                                  bool isStatic = false);

/// The same for a program in memory that outlives the result; `source.path` is its file name in
/// messages. Its weights are `tensors`, which must outlive the result too, or if there are none
/// those of `weights`: a file, or a model's folder, whose tokenizer is then used.
Result<ImportedModel> importText(mlir::MLIRContext &context, SourceText source,
                                 std::span<const SafetensorsTensor> tensors,
                                 const std::string &weights = {});

} // namespace heddle

#endif // HEDDLE_FRONTEND_IMPORT_IMPORT_H
