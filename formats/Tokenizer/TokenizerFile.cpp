// SPDX-License-Identifier: Apache-2.0
///
/// Finds the files of a tokenizer, and the tokens that each kind of model puts around its texts.
#include "formats/Tokenizer/TokenizerFile.h"

#include "base/MappedFile.h"
#include "base/Utf8.h"
#include "formats/CTranslate2/CTranslate2Vocabulary.h"
#include "formats/Config/Json.h"
#include "formats/Tokenizer/TokenizerImport.h"
#include "formats/Tokenizer/WordPieces.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>

namespace heddle {

namespace fs = std::filesystem;
using flatbuffers::FlatBufferBuilder;

Result<TokenizerFile> TokenizerFile::openSentencePiece(const std::string &path,
                                                       SentencePieceSettings settings) {
  HEDDLE_ASSIGN(MappedFile opened, MappedFile::open(path));
  auto file = std::make_shared<const MappedFile>(std::move(opened));
  return TokenizerFile(path,
                       [file, settings = std::move(settings),
                        path](flatbuffers::FlatBufferBuilder &builder, const LengthLimits &limits) {
                         return packSentencePiece(builder, file->text(), settings, limits, path);
                       });
}

/// Packs a tokenizer whose ids are positions in the list, the lowest one for a repeated token;
/// `where` begins every message.
static Result<flatbuffers::Offset<manifest::Tokenizer>>
packWordList(FlatBufferBuilder &builder, std::vector<std::string> tokens,
             const WordListSettings &settings, const LengthLimits &limits, std::string_view where) {
  if (std::find(tokens.begin(), tokens.end(), settings.unknown) == tokens.end()) {
    tokens.push_back(settings.unknown);
  }
  HEDDLE_ASSIGN(const VocabularyTable vocabulary,
                VocabularyTable::fromTokens(std::move(tokens), false, where));
  TokenizerParts parts;
  HEDDLE_ASSIGN(parts.pieces, packTemplate(settings.before, settings.after, vocabulary, where));
  parts.added = specialTokens(settings.special, vocabulary);
  const auto packed = manifest::CreateWordList(builder, vocabulary.pack(builder),
                                               *vocabulary.idOf(settings.unknown));
  parts.model = {manifest::TokenizerModel::WordList, packed.Union()};
  return finishTokenizer(builder, parts, limits, where);
}

TokenizerFile TokenizerFile::fromWords(std::vector<std::string> tokens, WordListSettings settings,
                                       const std::string &path) {
  return TokenizerFile(path,
                       [tokens = std::move(tokens), settings = std::move(settings),
                        path](flatbuffers::FlatBufferBuilder &builder, const LengthLimits &limits) {
                         return packWordList(builder, tokens, settings, limits, path);
                       });
}

Result<TokenizerFile> TokenizerFile::open(const std::string &path) {
  if (path.ends_with(".spm") || path.ends_with(".model")) {
    return openSentencePiece(path, {});
  }
  HEDDLE_ASSIGN(nlohmann::json json, readJsonFile(path));
  return fromJson(std::move(json), path);
}

TokenizerFile TokenizerFile::fromJson(nlohmann::json json, const std::string &path) {
  const nlohmann::json::json_pointer place("/normalizer/lowercase");
  const bool lowers = json.contains(place) && json[place].is_boolean() && json[place];
  auto shared = std::make_shared<const nlohmann::json>(std::move(json));
  TokenizerFile file(
      path, [shared, path](flatbuffers::FlatBufferBuilder &builder, const LengthLimits &limits) {
        return packTokenizer(builder, *shared, path, limits.maxLength, limits.modelLength);
      });
  file.lowers = lowers;
  return file;
}

Result<std::vector<uint8_t>> TokenizerFile::packAlone(const LengthLimits &limits) const {
  flatbuffers::FlatBufferBuilder builder;
  HEDDLE_ASSIGN(const auto root, pack(builder, limits));
  builder.Finish(root);
  return std::vector<uint8_t>(builder.GetBufferPointer(),
                              builder.GetBufferPointer() + builder.GetSize());
}

/// Searches one folder.
class TokenizerFolder {
public:
  explicit TokenizerFolder(std::string folder) : folder(std::move(folder)) {}

  bool has(const char *name) const {
    std::error_code error;
    return fs::exists(fs::path(folder) / name, error);
  }
  std::string pathOf(const char *name) const { return (fs::path(folder) / name).string(); }

  Result<FolderTokenizers> openMarian() const;
  Result<FolderTokenizers> openPieces(const char *name) const;
  Result<FolderTokenizers> openRoberta() const;
  Result<FolderTokenizers> openM2M100(const LanguageScheme &scheme) const;
  Result<FolderTokenizers> openJson(const std::optional<LanguageScheme> &scheme) const;
  Result<FolderTokenizers> openWordPieces() const;
  Result<FolderTokenizers> openWordLists() const;

private:
  Result<TokenizerFile> openWithVocabulary(const char *model, const char *vocabulary) const;
  Result<std::vector<ImportedToken>> extraTokens(size_t pieces) const;

  std::string folder;
};

/// Returns the tokens of Marian models that choose the target language, such as ">>fra<<". They are
/// searched for in texts.
static std::vector<ImportedToken> languageTokens(const VocabularyTable &vocabulary) {
  std::vector<ImportedToken> result;
  for (size_t i = 0; i < vocabulary.size(); ++i) {
    const std::string_view token = vocabulary.tokenAt(i);
    if (token.size() > 4 && token.starts_with(">>") && token.ends_with("<<")) {
      ImportedToken language{};
      language.content = token;
      language.id = vocabulary.idAt(i);
      result.push_back(std::move(language));
    }
  }
  return result;
}

/// Opens a model whose ids are in another file, with </s> after every text.
Result<TokenizerFile> TokenizerFolder::openWithVocabulary(const char *model,
                                                          const char *vocabulary) const {
  const std::string ids = pathOf(vocabulary);
  HEDDLE_ASSIGN(nlohmann::json json, readJsonFile(ids));
  const auto shared = std::make_shared<const nlohmann::json>(std::move(json));
  SentencePieceSettings settings;
  HEDDLE_ASSIGN(settings.vocabulary, VocabularyTable::fromObject(*shared, "the vocabulary", ids));
  settings.after = {"</s>"};
  settings.special = {"</s>", "<pad>", "<unk>"};
  settings.added = languageTokens(*settings.vocabulary);
  HEDDLE_ASSIGN(TokenizerFile file, TokenizerFile::openSentencePiece(pathOf(model), settings));
  file.all.push_back(ids);
  // Keeps the JSON alive, because the vocabulary refers to it.
  file.write = [shared, write = std::move(file.write)](flatbuffers::FlatBufferBuilder &builder,
                                                       const LengthLimits &limits) {
    return write(builder, limits);
  };
  return file;
}

Result<FolderTokenizers> TokenizerFolder::openMarian() const {
  FolderTokenizers result;
  const bool separate = has("target_vocab.json");
  HEDDLE_ASSIGN(result.source, openWithVocabulary("source.spm", "vocab.json"));
  HEDDLE_ASSIGN(result.target,
                openWithVocabulary("target.spm", separate ? "target_vocab.json" : "vocab.json"));
  return result;
}

/// Opens M2M-100: the ids of vocab.json, followed by those of languages.
Result<FolderTokenizers> TokenizerFolder::openM2M100(const LanguageScheme &scheme) const {
  const std::string ids = pathOf("vocab.json");
  HEDDLE_ASSIGN(nlohmann::json json, readJsonFile(ids));
  if (!json.is_object()) {
    return HEDDLE_ERROR(
        InvalidArgument,
        fmt::format("{}: is {}, expected an object of ids by token", ids, describeJson(json)));
  }
  SentencePieceSettings settings;
  FolderTokenizers result;
  HEDDLE_ASSIGN(result.languages, scheme.apply(json.size(), settings.added));
  for (const ImportedToken &token : settings.added) {
    json[token.content] = token.id;
  }
  const auto shared = std::make_shared<const nlohmann::json>(std::move(json));
  HEDDLE_ASSIGN(settings.vocabulary, VocabularyTable::fromObject(*shared, "the vocabulary", ids));
  settings.before = {scheme.tokenOf(result.languages->source)};
  settings.after = {scheme.end()};
  settings.special = {"<s>", "<pad>", "</s>", "<unk>"};
  HEDDLE_ASSIGN(TokenizerFile file,
                TokenizerFile::openSentencePiece(pathOf("sentencepiece.bpe.model"), settings));
  file.all.insert(file.all.end(), {ids, pathOf("tokenizer_config.json")});
  // Keeps the JSON alive, because the vocabulary refers to it.
  file.write = [shared, write = std::move(file.write)](flatbuffers::FlatBufferBuilder &builder,
                                                       const LengthLimits &limits) {
    return write(builder, limits);
  };
  result.source = std::move(file);
  return result;
}

/// Opens tokenizer.json, with the template of the language scheme if there is one.
Result<FolderTokenizers>
TokenizerFolder::openJson(const std::optional<LanguageScheme> &scheme) const {
  const std::string path = pathOf("tokenizer.json");
  FolderTokenizers result;
  if (!scheme) {
    HEDDLE_ASSIGN(result.source, TokenizerFile::open(path));
    return result;
  }
  HEDDLE_ASSIGN(nlohmann::json json, readJsonFile(path));
  HEDDLE_ASSIGN(result.languages, scheme->apply(json, path));
  result.source = TokenizerFile::fromJson(std::move(json), path);
  result.source->all.push_back(pathOf("tokenizer_config.json"));
  return result;
}

/// Returns T5's tokens <extra_id_0>, <extra_id_1> ..., counting down from the last id.
Result<std::vector<ImportedToken>> TokenizerFolder::extraTokens(size_t pieces) const {
  constexpr int64_t extraLimit = 10'000;
  // The default number.
  int64_t count = 100;
  if (has("tokenizer_config.json")) {
    HEDDLE_ASSIGN(const Config config, Config::open(pathOf("tokenizer_config.json")));
    HEDDLE_ASSIGN(count, config.integerOr("extra_ids", 0, extraLimit, count));
  }
  std::vector<ImportedToken> result;
  for (int64_t i = 0; i < count; ++i) {
    ImportedToken extra{};
    extra.content = fmt::format("<extra_id_{}>", i);
    extra.id = static_cast<uint32_t>(static_cast<int64_t>(pieces) + count - 1 - i);
    extra.special = true;
    result.push_back(std::move(extra));
  }
  return result;
}

/// Opens T5: the model file's ids, with </s> after every text.
Result<FolderTokenizers> TokenizerFolder::openPieces(const char *name) const {
  const std::string path = pathOf(name);
  HEDDLE_ASSIGN(const MappedFile model, MappedFile::open(path));
  HEDDLE_ASSIGN(const std::vector<std::string> pieces, readPieces(model.text(), path));
  SentencePieceSettings settings;
  settings.after = {"</s>"};
  settings.special = {"<unk>"};
  HEDDLE_ASSIGN(settings.added, extraTokens(pieces.size()));
  FolderTokenizers result;
  HEDDLE_ASSIGN(result.source, TokenizerFile::openSentencePiece(path, settings));
  return result;
}

/// Opens XLM-RoBERTa: fairseq's four tokens, then the pieces except the first three, then <mask>.
Result<FolderTokenizers> TokenizerFolder::openRoberta() const {
  constexpr size_t ownPieces = 3;
  const std::string path = pathOf("sentencepiece.bpe.model");
  HEDDLE_ASSIGN(const MappedFile model, MappedFile::open(path));
  HEDDLE_ASSIGN(const std::vector<std::string> pieces, readPieces(model.text(), path));
  std::vector<std::string> tokens = {"<s>", "<pad>", "</s>", "<unk>"};
  tokens.insert(tokens.end(),
                pieces.begin() + static_cast<ptrdiff_t>(std::min(ownPieces, pieces.size())),
                pieces.end());
  tokens.emplace_back("<mask>");
  SentencePieceSettings settings;
  HEDDLE_ASSIGN(settings.vocabulary, VocabularyTable::fromTokens(std::move(tokens), false, path));
  settings.before = {"<s>"};
  settings.after = {"</s>"};
  settings.special = {"<s>", "<pad>", "</s>", "<unk>", "<mask>"};
  FolderTokenizers result;
  HEDDLE_ASSIGN(result.source, TokenizerFile::openSentencePiece(path, settings));
  return result;
}

/// Reads the text of a token in tokenizer_config.json, which is a string or an object that contains
/// it.
static Result<std::string> readTokenText(const Config &config, std::string_view key,
                                         std::string_view absent) {
  const Result<Config> object = config.object(key);
  return object.ok() ? object->string("content") : config.stringOr(key, absent);
}

/// Reads the special token of a key, or the usual one.
static Result<std::string> readSpecial(const Config &config, std::string_view key,
                                       std::string_view usual,
                                       const std::vector<std::string> &pieces,
                                       const std::string &path) {
  HEDDLE_ASSIGN(std::string text, readTokenText(config, key, usual));
  if (std::find(pieces.begin(), pieces.end(), text) == pieces.end()) {
    return HEDDLE_ERROR(InvalidArgument, fmt::format("{}: has no piece {}, which is its {}", path,
                                                     quote(text), quote(key)));
  }
  return text;
}

/// Reads the normalizer that the configuration describes.
static Status readNormalizer(const Config &config, WordPieces &words) {
  HEDDLE_ASSIGN(const bool isBasic, config.booleanOr("do_basic_tokenize", true));
  if (!isBasic) {
    return HEDDLE_ERROR(Unsupported,
                        fmt::format("{}: \"do_basic_tokenize\" is false, expected true, or a "
                                    "tokenizer.json in the folder",
                                    config.where()));
  }
  HEDDLE_ASSIGN(words.lowerCase, config.booleanOr("do_lower_case", true));
  HEDDLE_ASSIGN(words.splitsChinese, config.booleanOr("tokenize_chinese_chars", true));
  if (config.has("strip_accents")) {
    HEDDLE_ASSIGN(words.stripAccents, config.boolean("strip_accents"));
  }
  return {};
}

/// Rejects other tokenizers that also use vocab.txt but split texts differently.
static Status checkWordPieces(const Config &config) {
  HEDDLE_TRY(config
                 .oneOfOr("tokenizer_class",
                          {"BertTokenizer", "BertTokenizerFast", "DistilBertTokenizer",
                           "DistilBertTokenizerFast"},
                          "BertTokenizer")
                 .status());
  HEDDLE_TRY(config.oneOfOr("word_tokenizer_type", {"basic"}, "basic").status());
  HEDDLE_TRY(config.oneOfOr("subword_tokenizer_type", {"wordpiece"}, "wordpiece").status());
  if (config.has("never_split") && config.json("never_split") != "[]") {
    return HEDDLE_ERROR(Unsupported, fmt::format("{}: \"never_split\" is {}, expected none, or a "
                                                 "tokenizer.json in the folder",
                                                 config.where(), config.describe("never_split")));
  }
  return {};
}

/// Opens BERT's tokenizer in the format that preceded tokenizer.json: vocab.txt, one piece per
/// line, and tokenizer_config.json. It is translated into the equivalent tokenizer.json.
Result<FolderTokenizers> TokenizerFolder::openWordPieces() const {
  const std::string path = pathOf("vocab.txt");
  HEDDLE_ASSIGN(const std::vector<std::string> lines, readTokenLines(path));
  const bool isConfigured = has("tokenizer_config.json");
  HEDDLE_ASSIGN(const Config config, isConfigured ? Config::open(pathOf("tokenizer_config.json"))
                                                  : Config::parse("{}", path));
  HEDDLE_TRY(checkWordPieces(config));
  WordPieces words;
  words.pieces = lines;
  HEDDLE_TRY(readNormalizer(config, words));
  // Padding and mask tokens are optional: an encoder needs neither.
  for (const auto &[key, usual] :
       {std::pair("pad_token", "[PAD]"), std::pair("mask_token", "[MASK]")}) {
    if (config.has(key) || std::find(lines.begin(), lines.end(), usual) != lines.end()) {
      HEDDLE_ASSIGN(std::string token, readSpecial(config, key, usual, lines, path));
      words.special.push_back(std::move(token));
    }
  }
  HEDDLE_ASSIGN(words.unknown, readSpecial(config, "unk_token", "[UNK]", lines, path));
  HEDDLE_ASSIGN(words.begin, readSpecial(config, "cls_token", "[CLS]", lines, path));
  HEDDLE_ASSIGN(words.end, readSpecial(config, "sep_token", "[SEP]", lines, path));
  FolderTokenizers result;
  result.source = TokenizerFile::fromJson(wordPieceTokenizer(words), path);
  if (isConfigured) {
    result.source->all.push_back(pathOf("tokenizer_config.json"));
  }
  return result;
}

Result<FolderTokenizers> TokenizerFolder::openWordLists() const {
  const WordListSettings settings;
  HEDDLE_ASSIGN(CTranslate2Vocabularies lists,
                readCTranslate2Vocabularies(folder, settings.unknown));
  FolderTokenizers result;
  if (!lists.isShared()) {
    result.target =
        TokenizerFile::fromWords(std::move(lists.target.tokens), settings, lists.target.path);
  }
  result.source =
      TokenizerFile::fromWords(std::move(lists.source.tokens), settings, lists.source.path);
  return result;
}

Result<FolderTokenizers> findTokenizers(const std::string &folder) {
  const TokenizerFolder files(folder);
  HEDDLE_ASSIGN(const std::optional<LanguageScheme> scheme, LanguageScheme::read(folder));
  if (files.has("tokenizer.json")) {
    return files.openJson(scheme);
  }
  if (scheme && scheme->hasVocabulary() && files.has("vocab.json") &&
      files.has("sentencepiece.bpe.model")) {
    return files.openM2M100(*scheme);
  }
  if (scheme && files.has("sentencepiece.bpe.model")) {
    return HEDDLE_ERROR(Unsupported,
                        fmt::format("{}: has a {} without {}, expected that file", folder,
                                    scheme->tokenizerClass(),
                                    scheme->hasVocabulary() ? "vocab.json" : "tokenizer.json"));
  }
  if (files.has("source.spm")) {
    return files.openMarian();
  }
  if (files.has("spiece.model")) {
    return files.openPieces("spiece.model");
  }
  if (files.has("sentencepiece.bpe.model")) {
    return files.openRoberta();
  }
  if (files.has("vocab.txt")) {
    return files.openWordPieces();
  }
  for (const char *const name : {"shared_vocabulary.json", "shared_vocabulary.txt",
                                 "source_vocabulary.json", "source_vocabulary.txt"}) {
    if (files.has(name)) {
      return files.openWordLists();
    }
  }
  return FolderTokenizers();
}

} // namespace heddle
