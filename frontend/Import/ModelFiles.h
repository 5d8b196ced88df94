// SPDX-License-Identifier: Apache-2.0
///
/// The files of a model beside its description: weights and tokenizers, of whatever format, in a
/// model's folder or beside a program in text.
#ifndef HEDDLE_FRONTEND_IMPORT_MODELFILES_H
#define HEDDLE_FRONTEND_IMPORT_MODELFILES_H

#include "formats/CTranslate2/CTranslate2.h"
#include "formats/Checkpoint/Checkpoint.h"
#include "formats/Tokenizer/TokenizerFile.h"
#include "heddle/Status.h"

#include <filesystem>
#include <optional>
#include <string>

namespace heddle {

/// Whether something lies at a path; where that cannot be looked up, nothing does.
bool isThere(const std::filesystem::path &path);

/// A folder of CTranslate2, read.
struct CTranslate2Folder {
  /// The tensors by the names of the project's own format.
  Checkpoint checkpoint;
  CTranslate2Model description;
};

/// Whether a folder is one of CTranslate2: weights of that name and none by those of other formats.
bool isCTranslate2Folder(const std::string &folder);
Result<CTranslate2Folder> openCTranslate2Folder(const std::string &folder);
/// The lists of words of a CTranslate2 folder, with what the model wants around a source.
Result<FolderTokenizers> readWordLists(const CTranslate2Model &model);

/// What a program in text has beside it.
struct ProgramFiles {
  /// None if there are no weights.
  std::optional<Checkpoint> checkpoint;
  FolderTokenizers tokenizers;
};

/// The weights of a file, or the weights and tokenizers of a model's folder.
Result<ProgramFiles> openGivenFiles(const std::string &path);

/// Finds the weights of PROGRAM.mlir: PROGRAM.safetensors, or those of the model's folder that it
/// lies in; and its tokenizers: PROGRAM.tokenizer.json, or those of that folder. `given`, if not
/// empty, is a file of weights, or the folder of a model, whose weights and tokenizers go before
/// those of the program's own folder. A program that `needsWeights` and has none is NotFound.
Result<ProgramFiles> findProgramFiles(const std::string &program, const std::string &given,
                                      bool needsWeights);

} // namespace heddle

#endif // HEDDLE_FRONTEND_IMPORT_MODELFILES_H
