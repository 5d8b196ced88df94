// SPDX-License-Identifier: Apache-2.0
///
/// Reads model folders, GGUF files and programs in text.
#include "frontend/Import/Import.h"

#include "base/MappedFile.h"
#include "base/Utf8.h"
#include "dialects/Dataflow/Dataflow.h"
#include "dialects/Transformer/Transformer.h"
#include "formats/Config/ChatSettings.h"
#include "formats/Config/Config.h"
#include "formats/Config/Generation.h"
#include "formats/Config/Json.h"
#include "formats/Quantized/OpenQuantized.h"
#include "frontend/Builder/DiagnosticText.h"
#include "frontend/Families/Family.h"
#include "frontend/Import/ForeignFormat.h"
#include "frontend/Import/ModelFiles.h"
#include "frontend/Import/ProgramCheck.h"
#include "frontend/Import/SharedFunctions.h"
#include "frontend/Import/TextCheck.h"
#include "frontend/Onnx/OnnxProgram.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"

#include "llvm/ADT/SetVector.h"

#include <filesystem>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <system_error>

using namespace mlir;

namespace heddle {

namespace fs = std::filesystem;

/// Attributes with the folder's text settings: the truncation length, lower-casing, and the names
/// of the tokenizer's files.
static constexpr llvm::StringLiteral maxLengthAttribute = "transformer.max_length";
static constexpr llvm::StringLiteral lowerCaseAttribute = "transformer.lower_case";
static constexpr llvm::StringLiteral tokenizerAttribute = "transformer.tokenizer";
/// The chat templates, and the languages of texts.
static constexpr llvm::StringLiteral chatAttribute = "transformer.chat";
static constexpr llvm::StringLiteral languagesAttribute = "transformer.languages";
static constexpr llvm::StringLiteral generationAttribute = "transformer.generation";

static std::string inFolder(const std::string &folder, std::string_view name) {
  return (fs::path(folder) / name).string();
}

/// Fills in the facts that every program has, whatever its origin.
static void describeProgram(ImportedModel &model) {
  if (auto type = (*model.module)->getAttrOfType<StringAttr>("transformer.model_type")) {
    model.modelType = type.str();
  }
  model.positions = countPositions(*model.module);
}

/// Records what the model was read from.
static void setSource(ImportedModel &model, const SourceHash &hash) {
  model.sourceHash = hash.digits();
  model.sourceFiles = hash.files();
}

static Status addFiles(SourceHash &hash, const Checkpoint &checkpoint) {
  for (const std::string &path : checkpoint.filePaths()) {
    HEDDLE_TRY(hash.add("weights", path));
  }
  return {};
}

/// Hashes a file if it exists.
static Status addIfThere(SourceHash &hash, std::string_view role, const std::string &path) {
  return isThere(path) ? hash.add(role, path) : Status();
}

/// A sentence encoder that lowers case itself needs a tokenizer that does so too, because the
/// runtime lowers case nowhere else. `said` is where the setting was found.
static Status checkLowerCase(const SentenceTransformers &sentence, const TokenizerFile &tokenizer,
                             std::string_view said) {
  if (!sentence.lowerCase || tokenizer.lowersCase()) {
    return {};
  }
  return HEDDLE_ERROR(
      Unsupported,
      fmt::format("{}: the normalizer keeps upper case, but {}, expected \"lowercase\": true",
                  tokenizer.path(), said));
}

/// Copies the folder's settings for texts into the program, so that they survive printing.
static void describeTexts(ModuleOp module, const SentenceTransformers &sentence,
                          const FolderTokenizers &tokenizers) {
  Builder builder(module.getContext());
  if (sentence.maxSequenceLength) {
    module->setAttr(maxLengthAttribute, builder.getI64IntegerAttr(*sentence.maxSequenceLength));
  }
  if (sentence.lowerCase) {
    module->setAttr(lowerCaseAttribute, builder.getUnitAttr());
  }
  llvm::SetVector<Attribute> names;
  for (const std::optional<TokenizerFile> *file : {&tokenizers.source, &tokenizers.target}) {
    for (const std::string &path : *file ? (*file)->files() : std::vector<std::string>()) {
      names.insert(builder.getStringAttr(fs::path(path).filename().string()));
    }
  }
  if (!names.empty()) {
    module->setAttr(tokenizerAttribute, builder.getArrayAttr(names.getArrayRef()));
  }
}

/// Copies the folder's chat templates into the program of a model that generates.
static Status describeChat(ModuleOp module, const std::string &folder, SourceHash &hash) {
  if (!module->hasAttr(generationAttribute)) {
    return {};
  }
  HEDDLE_ASSIGN(const std::optional<ChatSettings> settings, readChatSettings(folder));
  if (!settings) {
    return {};
  }
  Builder builder(module.getContext());
  const auto textsOf = [&](std::string_view role, const std::vector<NamedText> &texts) {
    std::vector<Attribute> list;
    for (const NamedText &each : texts) {
      hash.addText(fmt::format("{} {}", role, each.name), each.text);
      list.push_back(builder.getDictionaryAttr(
          {builder.getNamedAttr("name", builder.getStringAttr(each.name)),
           builder.getNamedAttr("text", builder.getStringAttr(each.text))}));
    }
    return builder.getArrayAttr(list);
  };
  const Attribute templates = textsOf("chat template", settings->templates);
  const Attribute tokens = textsOf("chat token", settings->tokens);
  module->setAttr(chatAttribute,
                  builder.getDictionaryAttr({builder.getNamedAttr("templates", templates),
                                             builder.getNamedAttr("tokens", tokens)}));
  return {};
}

/// Copies the languages of the tokenizer into the program of a model with sources. The start token
/// of targets, or a forced first token, may be a language token.
static void describeLanguages(ModuleOp module, const std::optional<Languages> &found) {
  auto generation = module->getAttrOfType<DictionaryAttr>(generationAttribute);
  if (!found || !generation || module.lookupSymbol("encode") == nullptr) {
    return;
  }
  std::vector<Attribute> names;
  std::vector<int32_t> tokens;
  std::string target = found->target;
  Builder builder(module.getContext());
  const ArrayRef<int32_t> start = generation.getAs<DenseI32ArrayAttr>("start").asArrayRef();
  const int64_t first = found->startsTarget && start.size() == 1
                            ? start.front()
                            : generation.getAs<IntegerAttr>("forced_first").getInt();
  for (const auto &[name, token] : found->tokens) {
    names.push_back(builder.getStringAttr(name));
    tokens.push_back(token);
    target = token == first ? name : target;
  }
  module->setAttr(
      languagesAttribute,
      builder.getDictionaryAttr(
          {builder.getNamedAttr("names", builder.getArrayAttr(names)),
           builder.getNamedAttr("tokens", builder.getDenseI32ArrayAttr(tokens)),
           builder.getNamedAttr("ends_source", builder.getBoolAttr(found->endsSource)),
           builder.getNamedAttr("starts_target", builder.getBoolAttr(found->startsTarget)),
           builder.getNamedAttr("source", builder.getStringAttr(found->source)),
           builder.getNamedAttr("target", builder.getStringAttr(target))}));
}

/// Reads the settings for texts from a program.
static SentenceTransformers textsOf(ModuleOp module) {
  SentenceTransformers sentence;
  if (auto most = module->getAttrOfType<IntegerAttr>(maxLengthAttribute)) {
    sentence.maxSequenceLength = most.getInt();
  }
  sentence.lowerCase = module->hasAttr(lowerCaseAttribute);
  return sentence;
}

/// The note about a missing tokenizer: a program printed from a folder may have lost it.
static std::string tokenizerNote(ModuleOp module) {
  auto names = module->getAttrOfType<ArrayAttr>(tokenizerAttribute);
  if (!names) {
    return "no tokenizer: the model takes ids only";
  }
  std::vector<std::string> files;
  for (auto name : names.getAsRange<StringAttr>()) {
    files.push_back(name.str());
  }
  return fmt::format("no tokenizer beside the program, which names {}: the model takes ids only; "
                     "give its folder by --weights FOLDER",
                     fmt::join(files, ", "));
}

/// Records the tokenizers of a model and how long a text may be.
static Status setTokenizers(ImportedModel &model, FolderTokenizers found,
                            const SentenceTransformers &sentence, bool isProgram = false) {
  if (!found.source) {
    model.notes.push_back(tokenizerNote(*model.module));
    return {};
  }
  HEDDLE_TRY(checkLowerCase(sentence, *found.source,
                            isProgram ? "the program has \"transformer.lower_case\""
                                      : "\"do_lower_case\" of sentence_bert_config.json is true"));
  model.tokenizer = TokenizerSource{std::move(*found.source), std::move(found.target),
                                    sentence.maxSequenceLength};
  std::optional<int64_t> &maxLength = model.tokenizer->maxLength;
  if (maxLength && model.positions && *maxLength > *model.positions) {
    model.notes.push_back(fmt::format(
        "\"{}\" is {}, but the model has {} positions: texts are cut there",
        isProgram ? maxLengthAttribute.str() : "max_seq_length", *maxLength, *model.positions));
    maxLength = model.positions;
  }
  return {};
}

/// Hashes the files of the tokenizers. Their names tell their purpose.
static Status addTokenizers(SourceHash &hash, const ImportedModel &model) {
  if (!model.tokenizer) {
    return {};
  }
  for (const std::string &file : model.tokenizer->file.files()) {
    HEDDLE_TRY(hash.add(fs::path(file).filename().string(), file));
  }
  if (model.tokenizer->target) {
    for (const std::string &file : model.tokenizer->target->files()) {
      HEDDLE_TRY(hash.add("target " + fs::path(file).filename().string(), file));
    }
  }
  return {};
}

/// Warns about requests in the quantised files that are not implemented.
static void addCodeWarnings(const Checkpoint &checkpoint, ImportedModel &model) {
  if (const Quantization *const codes = checkpoint.quantization()) {
    model.warnings.insert(model.warnings.end(), codes->warnings.begin(), codes->warnings.end());
  }
}

/// Whether the configuration was written by the model's authors or, for a CTranslate2 folder or a
/// GGUF file, derived from it.
enum class ConfigOrigin { File, Derived };

/// Builds the family's program and checks that configuration and checkpoint fit it.
static Status buildProgram(MLIRContext &context, const ModelSource &source, ConfigOrigin origin,
                           ImportedModel &model) {
  HEDDLE_ASSIGN(FamilyModel family, buildFamily(context, source));
  model.module = std::move(family.module);
  model.dependsOnLength = family.dependsOnLength;
  if (origin == ConfigOrigin::File) {
    HEDDLE_ASSIGN(ConfigRemarks remarks,
                  checkConfigKeys(source.config, family.keys, source.sentence.has_value()));
    model.notes = std::move(remarks.notes);
    model.warnings = std::move(remarks.warnings);
  }
  model.notes.insert(model.notes.end(), family.notes.begin(), family.notes.end());
  addCodeWarnings(source.checkpoint, model);
  HEDDLE_TRY(checkParameters(*model.module, source.checkpoint));
  HEDDLE_TRY(checkSurplus(*model.module, source.checkpoint, family.unused, model.notes));
  keepStoredTypes(*model.module, source.checkpoint);
  describeProgram(model);
  return {};
}

/// generation_config.json, if there is one.
static Result<std::optional<Config>> readGenerationFile(const std::string &path) {
  if (!isThere(path)) {
    return std::optional<Config>();
  }
  HEDDLE_ASSIGN(Config config, Config::open(path));
  return std::optional<Config>(std::move(config));
}

/// Hashes the files that a folder's program was made from.
static Status hashFolder(SourceHash &hash, const std::string &folder,
                         const std::optional<SentenceTransformers> &sentence) {
  HEDDLE_TRY(hash.add("config.json", inFolder(folder, "config.json")));
  HEDDLE_TRY(
      addIfThere(hash, "generation_config.json", inFolder(folder, "generation_config.json")));
  if (sentence) {
    hash.addText("sentence", fmt::format("{} {}", static_cast<int>(sentence->pooling),
                                         sentence->maxSequenceLength.value_or(0)));
    for (const SentenceModule &module : sentence->modules) {
      hash.addText("module",
                   fmt::format("{} {} {} {} {}", static_cast<int>(module.kind), module.inputs,
                               module.outputs, module.hasBias, module.activation));
    }
  }
  return {};
}

static Result<ImportedModel> importFolder(MLIRContext &context, const std::string &path,
                                          int64_t textLength) {
  HEDDLE_ASSIGN(const std::optional<SentenceTransformers> sentence, readSentenceTransformers(path));
  const std::string folder = sentence ? sentence->encoderFolder : path;
  HEDDLE_TRY(checkNoPointers(folder));
  if (!isThere(inFolder(folder, "config.json"))) {
    // Folders of llama.cpp or of an exporter have no configuration either.
    HEDDLE_TRY(checkWeights(folder));
    return HEDDLE_ERROR(NotFound, fmt::format("{}: no config.json in it, expected the folder of a "
                                              "model: config.json, weights and tokenizer",
                                              folder));
  }
  HEDDLE_ASSIGN(const Config config, Config::open(inFolder(folder, "config.json")));
  // Checked before the weights, because a folder of an unknown family may have weights in another
  // format.
  HEDDLE_TRY(checkFamily(config));
  HEDDLE_TRY(checkWeights(folder));
  HEDDLE_ASSIGN(const std::optional<Config> generation,
                readGenerationFile(inFolder(folder, "generation_config.json")));
  HEDDLE_ASSIGN(Checkpoint stored, Checkpoint::open(folder));
  HEDDLE_ASSIGN(Checkpoint encoder, withQuantization(std::move(stored), config));
  const SentenceTransformers texts = sentence.value_or(SentenceTransformers());
  HEDDLE_ASSIGN(Checkpoint checkpoint, withModules(std::move(encoder), texts));

  ImportedModel model;
  HEDDLE_TRY(buildProgram(context, {config, checkpoint, sentence, generation, textLength},
                          ConfigOrigin::File, model));
  if ((*model.module)->hasAttr(generationAttribute)) {
    const bool continues = model.module->lookupSymbol("encode") == nullptr;
    const std::vector<std::string> notes = generationNotes(config, generation, continues);
    model.notes.insert(model.notes.end(), notes.begin(), notes.end());
  }
  if (!sentence && model.module->lookupSymbol("embed") != nullptr) {
    model.notes.push_back("no modules.json: \"embed\" is the mean of the rows, not normalized");
  }
  HEDDLE_ASSIGN(FolderTokenizers tokenizers, findTokenizers(folder));
  model.warnings.insert(model.warnings.end(), texts.warnings.begin(), texts.warnings.end());
  describeTexts(*model.module, texts, tokenizers);
  describeLanguages(*model.module, tokenizers.languages);
  HEDDLE_TRY(setTokenizers(model, std::move(tokenizers), texts));
  SourceHash hash;
  HEDDLE_TRY(hashFolder(hash, folder, sentence));
  HEDDLE_TRY(describeChat(*model.module, folder, hash));
  HEDDLE_TRY(addTokenizers(hash, model));
  HEDDLE_TRY(addFiles(hash, checkpoint));
  setSource(model, hash);
  model.checkpoint = std::make_shared<const Checkpoint>(std::move(checkpoint));
  return model;
}

static Result<ImportedModel> importCTranslate2(MLIRContext &context, const std::string &folder) {
  HEDDLE_ASSIGN(CTranslate2Folder read, openCTranslate2Folder(folder));
  auto &[checkpoint, description] = read;
  ImportedModel model;
  HEDDLE_TRY(buildProgram(context, {description.config, checkpoint, std::nullopt, std::nullopt},
                          ConfigOrigin::Derived, model));
  model.notes.insert(model.notes.end(), description.notes.begin(), description.notes.end());
  HEDDLE_ASSIGN(FolderTokenizers tokenizers, readWordLists(description));
  describeTexts(*model.module, SentenceTransformers(), tokenizers);
  HEDDLE_TRY(setTokenizers(model, std::move(tokenizers), SentenceTransformers()));
  SourceHash hash;
  for (const std::string &file : description.files) {
    HEDDLE_TRY(hash.add(fs::path(file).filename().string(), file));
  }
  HEDDLE_TRY(addFiles(hash, checkpoint));
  setSource(model, hash);
  model.checkpoint = std::make_shared<const Checkpoint>(std::move(checkpoint));
  return model;
}

static Result<ImportedModel> importGguf(MLIRContext &context, const std::string &path) {
  HEDDLE_ASSIGN(GgufModelFile read, openGgufModel(path));
  auto &[checkpoint, description] = read;
  ImportedModel model;
  HEDDLE_TRY(buildProgram(context,
                          {description.config, checkpoint, description.sentence, std::nullopt},
                          ConfigOrigin::Derived, model));
  model.notes.insert(model.notes.end(), description.notes.begin(), description.notes.end());
  FolderTokenizers tokenizers;
  tokenizers.source = std::move(description.tokenizer);
  describeTexts(*model.module, description.sentence, tokenizers);
  HEDDLE_TRY(setTokenizers(model, std::move(tokenizers), description.sentence));
  // The tokenizer is in the same file.
  SourceHash hash;
  HEDDLE_TRY(addFiles(hash, checkpoint));
  setSource(model, hash);
  model.checkpoint = std::make_shared<const Checkpoint>(std::move(checkpoint));
  return model;
}

/// Imports a graph, with the tokenizer of its folder.
static Result<ImportedModel> importOnnx(MLIRContext &context, const std::string &path,
                                        bool isStatic) {
  HEDDLE_ASSIGN(OnnxProgram read, readOnnxProgram(context, path, isStatic));
  ImportedModel model;
  model.hasFixedSizes = read.hasFixedSizes;
  model.module = std::move(read.module);
  model.notes = std::move(read.notes);
  HEDDLE_TRY(checkParameters(*model.module, read.checkpoint));
  keepStoredTypes(*model.module, read.checkpoint);
  describeProgram(model);
  const std::string folder = fs::path(path).parent_path().string();
  HEDDLE_ASSIGN(FolderTokenizers tokenizers, findTokenizers(folder.empty() ? "." : folder));
  describeTexts(*model.module, SentenceTransformers(), tokenizers);
  HEDDLE_TRY(setTokenizers(model, std::move(tokenizers), SentenceTransformers()));
  SourceHash hash;
  if ((*model.module)->hasAttr(generationAttribute)) {
    for (const char *const name : {"config.json", "generation_config.json"}) {
      HEDDLE_TRY(addIfThere(hash, name, inFolder(folder.empty() ? "." : folder, name)));
    }
  }
  HEDDLE_TRY(addTokenizers(hash, model));
  HEDDLE_TRY(addFiles(hash, read.checkpoint));
  setSource(model, hash);
  model.checkpoint = std::make_shared<const Checkpoint>(std::move(read.checkpoint));
  return model;
}

static bool hasStoredParameters(ModuleOp module) {
  return llvm::any_of(module.getOps<transformer::ParameterOp>(),
                      [](transformer::ParameterOp op) { return op.getSource().has_value(); });
}

/// Parses and verifies a program, and inlines its calls.
static Result<OwningOpRef<ModuleOp>> parseProgram(MLIRContext &context, const SourceText &source) {
  const auto &[path, text] = source;
  HEDDLE_TRY(checkProgramText(text, path));
  context
      .loadDialect<func::FuncDialect, transformer::TransformerDialect, dataflow::DataflowDialect>();
  DiagnosticText diagnostics(&context, source);
  // The parser needs a terminating zero, which a mapped file may lack.
  const std::string terminated(text);
  auto module = parseSourceString<ModuleOp>(terminated, ParserConfig(&context), path);
  if (!module) {
    return diagnostics.status(fmt::format("{}: is not a program", path));
  }
  if (failed(verifyNesting(*module))) {
    return diagnostics.status(fmt::format("{}: has modules inside", path));
  }
  if (failed(inlineCalls(*module))) {
    return diagnostics.status(fmt::format("{}: has calls that cannot be inlined", path));
  }
  if (failed(verifyParameters(*module))) {
    return diagnostics.status(fmt::format("{}: has parameters that cannot be evaluated", path));
  }
  if (failed(verifyNames(*module)) ||
      (hasFunctionEntries(*module) && failed(verifyEntries(*module)))) {
    return diagnostics.status(fmt::format("{}: has no valid entries", path));
  }
  return module;
}

/// Gives a parsed program its weights and tokenizers.
static Status addProgramFiles(ImportedModel &model, ProgramFiles files, SourceHash &hash) {
  if (files.checkpoint) {
    addCodeWarnings(*files.checkpoint, model);
    HEDDLE_TRY(checkParameters(*model.module, *files.checkpoint));
    // In later phases, passes have removed parameters.
    if (isFirstPhase(*model.module)) {
      noteSurplus(*model.module, *files.checkpoint, model.notes);
    }
    keepStoredTypes(*model.module, *files.checkpoint);
    HEDDLE_TRY(addFiles(hash, *files.checkpoint));
    model.checkpoint = std::make_shared<const Checkpoint>(*std::move(files.checkpoint));
  }
  HEDDLE_TRY(setTokenizers(model, std::move(files.tokenizers), textsOf(*model.module),
                           /*isProgram=*/true));
  return addTokenizers(hash, model);
}

static Result<ImportedModel> importProgram(MLIRContext &context, const std::string &path,
                                           const std::string &weights) {
  // A missing or empty file gets the same message as everywhere else.
  HEDDLE_ASSIGN(MappedFile file, MappedFile::open(path));
  ImportedModel model;
  model.file = std::make_shared<const MappedFile>(std::move(file));
  model.source = {path, model.file->text()};
  HEDDLE_ASSIGN(model.module, parseProgram(context, model.source));
  describeProgram(model);
  SourceHash hash;
  hash.addText("program", model.source.text);
  HEDDLE_ASSIGN(ProgramFiles files,
                findProgramFiles(path, weights, hasStoredParameters(*model.module)));
  HEDDLE_TRY(addProgramFiles(model, std::move(files), hash));
  setSource(model, hash);
  return model;
}

Result<ImportedModel> importText(MLIRContext &context, SourceText source,
                                 std::span<const SafetensorsTensor> tensors,
                                 const std::string &weights) {
  ImportedModel model;
  model.source = std::move(source);
  HEDDLE_ASSIGN(model.module, parseProgram(context, model.source));
  describeProgram(model);
  SourceHash hash;
  hash.addText("program", model.source.text);
  ProgramFiles files;
  if (!tensors.empty()) {
    HEDDLE_ASSIGN(files.checkpoint, Checkpoint::ofTensors(tensors, model.source.path));
    for (const SafetensorsTensor &tensor : tensors) {
      hash.addText(fmt::format("{} {} {}", infoOf(tensor.dtype).name, formatShape(tensor.shape),
                               quote(tensor.name)),
                   {reinterpret_cast<const char *>(tensor.bytes.data()), tensor.bytes.size()});
    }
  } else if (!weights.empty()) {
    HEDDLE_ASSIGN(files, openGivenFiles(weights));
  }
  if (!files.checkpoint && hasStoredParameters(*model.module)) {
    return HEDDLE_ERROR(NotFound, fmt::format("{}: has no weights, expected tensors, or a file or "
                                              "folder that has them",
                                              model.source.path));
  }
  HEDDLE_TRY(addProgramFiles(model, std::move(files), hash));
  setSource(model, hash);
  return model;
}

Result<ImportedModel> importModel(MLIRContext &context, const std::string &path,
                                  const std::string &weights, int64_t textLength, bool isStatic) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (status.type() == fs::file_type::not_found) {
    return HEDDLE_ERROR(NotFound, fmt::format("{}: no such file or folder", path));
  }
  if (fs::is_directory(status)) {
    return isCTranslate2Folder(path) ? importCTranslate2(context, path)
                                     : importFolder(context, path, textLength);
  }
  if (fs::path(path).extension() == ".mlir") {
    return importProgram(context, path, weights);
  }
  if (isGgufFile(path)) {
    return importGguf(context, path);
  }
  if (fs::path(path).extension() == ".onnx") {
    HEDDLE_TRY(checkNoPointer(path));
    return importOnnx(context, path, isStatic);
  }
  return refuseFile(path);
}

} // namespace heddle
