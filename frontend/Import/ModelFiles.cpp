// SPDX-License-Identifier: Apache-2.0
///
/// Finds files by their usual names, and hashes them.
#include "frontend/Import/ModelFiles.h"

#include "base/MappedFile.h"
#include "formats/Quantized/OpenQuantized.h"
#include "frontend/Families/Family.h"
#include "frontend/Import/ForeignFormat.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <system_error>
#include <xxhash.h>

namespace heddle {

namespace fs = std::filesystem;

bool isThere(const fs::path &path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

bool isCTranslate2Folder(const std::string &folder) {
  return isThere(fs::path(folder) / "model.bin") &&
         !isThere(fs::path(folder) / "model.safetensors") &&
         !isThere(fs::path(folder) / "model.safetensors.index.json");
}

Result<CTranslate2Folder> openCTranslate2Folder(const std::string &folder) {
  HEDDLE_ASSIGN(Checkpoint stored, Checkpoint::open((fs::path(folder) / "model.bin").string()));
  HEDDLE_ASSIGN(CTranslate2Model description, readCTranslate2Model(folder, *stored.ctranslate2()));
  HEDDLE_ASSIGN(Checkpoint checkpoint, std::move(stored).withViews(description.tensors));
  return CTranslate2Folder{std::move(checkpoint), std::move(description)};
}

Result<GgufModelFile> openGgufModel(const std::string &path) {
  HEDDLE_ASSIGN(Checkpoint stored, Checkpoint::open(path));
  HEDDLE_ASSIGN(GgufModel description, readGgufModel(*stored.gguf()));
  HEDDLE_ASSIGN(Checkpoint checkpoint, std::move(stored).withViews(description.tensors));
  return GgufModelFile{std::move(checkpoint), std::move(description)};
}

Result<Checkpoint> withModules(Checkpoint encoder, const SentenceTransformers &sentence) {
  for (const SentenceModule &module : sentence.modules) {
    if (!module.hasWeights()) {
      continue;
    }
    HEDDLE_TRY(checkNoPointers(module.folder));
    HEDDLE_TRY(checkWeights(module.folder));
    HEDDLE_ASSIGN(Checkpoint part, Checkpoint::open(module.folder));
    HEDDLE_ASSIGN(encoder, std::move(encoder).withPart(module.name, std::move(part)));
  }
  return encoder;
}

Result<FolderTokenizers> readWordLists(const CTranslate2Model &model) {
  const CTranslate2Vocabularies &lists = model.vocabularies;
  HEDDLE_ASSIGN(const int64_t unknown, model.config.integer("unk_token_id", 0, tableLimit));
  WordListSettings target;
  target.unknown = lists.target.tokens[static_cast<size_t>(unknown)];
  HEDDLE_ASSIGN(const int64_t sourceUnknown,
                model.config.integer("source_unk_token_id", 0, tableLimit));
  WordListSettings source;
  source.unknown = lists.source.tokens[static_cast<size_t>(sourceUnknown)];
  const auto surround = [&](std::string_view flag, std::string_view id,
                            std::vector<std::string> &place) -> Status {
    HEDDLE_ASSIGN(const bool isWanted, model.config.boolean(flag));
    if (isWanted) {
      HEDDLE_ASSIGN(const int64_t token, model.config.integer(id, 0, tableLimit));
      place.push_back(lists.source.tokens[static_cast<size_t>(token)]);
    }
    return {};
  };
  HEDDLE_TRY(surround("add_source_bos", "source_bos_token_id", source.before));
  HEDDLE_TRY(surround("add_source_eos", "source_eos_token_id", source.after));
  // A shared vocabulary without tokens around the source serves both sides.
  FolderTokenizers tokenizers;
  if (!lists.isShared() || !source.before.empty() || !source.after.empty()) {
    tokenizers.target = TokenizerFile::fromWords(lists.target.tokens, target, lists.target.path);
  }
  tokenizers.source = TokenizerFile::fromWords(lists.source.tokens, source, lists.source.path);
  return tokenizers;
}

// --- beside a program ------------------------------------------------------------------------

static bool hasWeights(const fs::path &folder) {
  for (const char *const name :
       {"model.safetensors", "model.safetensors.index.json", "model.bin"}) {
    if (isThere(folder / name)) {
      return true;
    }
  }
  return false;
}

/// Adds everything that `files` still lacks from a model's folder; `sentence` describes the modules
/// after the model.
static Status addFolder(ProgramFiles &files, const std::string &path,
                        const std::optional<SentenceTransformers> &sentence) {
  if (!files.checkpoint && isCTranslate2Folder(path)) {
    HEDDLE_ASSIGN(CTranslate2Folder folder, openCTranslate2Folder(path));
    if (!files.tokenizers.source) {
      HEDDLE_ASSIGN(files.tokenizers, readWordLists(folder.description));
    }
    files.checkpoint = std::move(folder.checkpoint);
    return {};
  }
  if (!files.checkpoint && hasWeights(path)) {
    HEDDLE_ASSIGN(Checkpoint encoder, openFolderWeights(path));
    HEDDLE_ASSIGN(files.checkpoint,
                  withModules(std::move(encoder), sentence.value_or(SentenceTransformers())));
  }
  if (!files.tokenizers.source) {
    HEDDLE_ASSIGN(files.tokenizers, findTokenizers(path));
  }
  return {};
}

/// Adds a model's folder as the folder importer reads it: the encoder may be in a subfolder.
static Status addModel(ProgramFiles &files, const std::string &path) {
  HEDDLE_ASSIGN(const std::optional<SentenceTransformers> sentence, readSentenceTransformers(path));
  const std::string folder = sentence ? sentence->encoderFolder : path;
  HEDDLE_TRY(checkNoPointers(folder));
  HEDDLE_TRY(checkWeights(folder));
  HEDDLE_TRY(addFolder(files, folder, sentence));
  if (!files.checkpoint) {
    return HEDDLE_ERROR(NotFound, fmt::format("{}: no weights in it, expected model.safetensors, "
                                              "model.safetensors.index.json or model.bin",
                                              folder));
  }
  return {};
}

/// Adds the weights of a single file; a GGUF file has a tokenizer too.
static Status addFile(ProgramFiles &files, const std::string &path) {
  if (!isGgufFile(path)) {
    HEDDLE_ASSIGN(files.checkpoint, Checkpoint::open(path));
    return {};
  }
  HEDDLE_ASSIGN(GgufModelFile model, openGgufModel(path));
  files.checkpoint = std::move(model.checkpoint);
  if (!files.tokenizers.source) {
    files.tokenizers.source = std::move(model.description.tokenizer);
  }
  return {};
}

Result<ProgramFiles> openGivenFiles(const std::string &path) {
  ProgramFiles files;
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) {
    HEDDLE_TRY(addModel(files, path));
  } else {
    HEDDLE_TRY(addFile(files, path));
  }
  return files;
}

Result<ProgramFiles> findProgramFiles(const std::string &program, const std::string &given,
                                      bool needsWeights) {
  ProgramFiles files;
  const std::string weights = fs::path(program).replace_extension(".safetensors").string();
  const std::string tokenizer = fs::path(program).replace_extension(".tokenizer.json").string();
  if (isThere(tokenizer)) {
    HEDDLE_ASSIGN(files.tokenizers.source, TokenizerFile::open(tokenizer));
  }
  std::error_code ignored;
  if (fs::is_directory(given, ignored)) {
    HEDDLE_TRY(addModel(files, given));
    return files;
  }
  const std::string &file = given.empty() ? weights : given;
  if (!given.empty() || isThere(weights)) {
    HEDDLE_TRY(addFile(files, file));
  }
  const fs::path parent = fs::path(program).parent_path();
  const std::string folder = parent.empty() ? "." : parent.string();
  // The folder of a program may contain unsupported modules that the program does not need.
  const Result<std::optional<SentenceTransformers>> sentence = readSentenceTransformers(folder);
  HEDDLE_TRY(addFolder(files, folder, sentence.ok() ? *sentence : std::nullopt));
  if (needsWeights && !files.checkpoint) {
    return HEDDLE_ERROR(
        NotFound, fmt::format("{}: has no weights, expected \"{}\" or a model's weights "
                              "(model.safetensors) beside it, or its folder by --weights FOLDER",
                              program, fs::path(weights).filename().string()));
  }
  return files;
}

// --- the hash of all files --------------------------------------------------------------------

/// Pages are released after this many bytes.
static constexpr size_t pieceSize = size_t(4) << 20;

void SourceHash::Free::operator()(XXH3_state_s *state) const { XXH3_freeState(state); }

SourceHash::SourceHash() : state(XXH3_createState()) { XXH3_128bits_reset(state.get()); }

Status SourceHash::add(std::string_view role, const std::string &path) {
  HEDDLE_ASSIGN(const MappedFile file, MappedFile::open(path));
  paths.push_back(path);
  const std::span<const std::byte> bytes = file.bytes();
  // Lengths keep two different lists of files from hashing the same text.
  const std::string head = fmt::format("{} {}\n", role, bytes.size());
  XXH3_128bits_update(state.get(), head.data(), head.size());
  for (size_t begin = 0; begin < bytes.size(); begin += pieceSize) {
    const auto piece = bytes.subspan(begin, std::min(pieceSize, bytes.size() - begin));
    XXH3_128bits_update(state.get(), piece.data(), piece.size());
    file.releasePages(piece);
  }
  return {};
}

void SourceHash::addText(std::string_view role, std::string_view text) {
  const std::string head = fmt::format("{} {}\n", role, text.size());
  XXH3_128bits_update(state.get(), head.data(), head.size());
  XXH3_128bits_update(state.get(), text.data(), text.size());
}

std::string SourceHash::digits() const {
  const XXH128_hash_t hash = XXH3_128bits_digest(state.get());
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

} // namespace heddle
