// SPDX-License-Identifier: Apache-2.0
///
/// Finds the files of a model (weights and tokenizers in any supported format) in a model's folder
/// or beside a program in text, and hashes them.
#ifndef HEDDLE_FRONTEND_IMPORT_MODELFILES_H
#define HEDDLE_FRONTEND_IMPORT_MODELFILES_H

#include "formats/CTranslate2/CTranslate2.h"
#include "formats/Checkpoint/Checkpoint.h"
#include "formats/Config/SentenceTransformers.h"
#include "formats/Gguf/GgufModel.h"
#include "formats/Tokenizer/TokenizerFile.h"
#include "heddle/Status.h"

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

struct XXH3_state_s;

namespace heddle {

/// Whether a path exists. A path that cannot be looked up counts as missing.
bool isThere(const std::filesystem::path &path);

/// An opened CTranslate2 folder.
struct CTranslate2Folder {
  /// The tensors under their names in the project's own format.
  Checkpoint checkpoint;
  CTranslate2Model description;
};

/// Whether a folder is a CTranslate2 model: it has model.bin and no weights of other formats.
bool isCTranslate2Folder(const std::string &folder);
Result<CTranslate2Folder> openCTranslate2Folder(const std::string &folder);
/// The word lists of a CTranslate2 folder, with the tokens that the model puts around a source.
Result<FolderTokenizers> readWordLists(const CTranslate2Model &model);

/// An opened GGUF file.
struct GgufModelFile {
  /// The tensors under the names of the family.
  Checkpoint checkpoint;
  GgufModel description;
};

/// Opens a GGUF file of a supported architecture.
Result<GgufModelFile> openGgufModel(const std::string &path);

/// The weights of an encoder with those of the modules that follow it.
Result<Checkpoint> withModules(Checkpoint encoder, const SentenceTransformers &sentence);

/// The files beside a program in text.
struct ProgramFiles {
  /// Nothing if there are no weights.
  std::optional<Checkpoint> checkpoint;
  FolderTokenizers tokenizers;
};

/// The weights of a file, or the weights and tokenizers of a model's folder or GGUF file.
Result<ProgramFiles> openGivenFiles(const std::string &path);

/// Finds the weights and tokenizers of PROGRAM.mlir: PROGRAM.safetensors and
/// PROGRAM.tokenizer.json, or else those of the model's folder that contains it. `given`, if not
/// empty, is a file of weights, a GGUF file or a model's folder. It takes precedence over the
/// program's own folder. NotFound if the program `needsWeights` and has none.
Result<ProgramFiles> findProgramFiles(const std::string &program, const std::string &given,
                                      bool needsWeights);

/// One number for all files a model was read from: XXH3-128 over roles, lengths and contents, in
/// the order of adding. It does not depend on where the files are.
class SourceHash {
public:
  SourceHash();

  /// Adds a file piece by piece, so that memory does not grow with it. `role` stands for its name.
  Status add(std::string_view role, const std::string &path);
  /// Adds text derived from files that are not hashed themselves.
  void addText(std::string_view role, std::string_view text);
  /// 32 hexadecimal digits.
  std::string digits() const;
  /// The files that were added, by their paths.
  const std::vector<std::string> &files() const { return paths; }

private:
  struct Free {
    void operator()(XXH3_state_s *state) const;
  };
  std::unique_ptr<XXH3_state_s, Free> state;
  std::vector<std::string> paths;
};

} // namespace heddle

#endif // HEDDLE_FRONTEND_IMPORT_MODELFILES_H
