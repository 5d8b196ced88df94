// SPDX-License-Identifier: Apache-2.0
///
/// Packs, verifies and loads a tokenizer.json, like compiler and runtime.
#ifndef HEDDLE_TESTS_FORMATS_TOKENIZER_IMPORTEDTOKENIZER_H
#define HEDDLE_TESTS_FORMATS_TOKENIZER_IMPORTEDTOKENIZER_H

#include "formats/Tokenizer/TokenizerImport.h"
#include "runtime/Tokenizer/Tokenizer.h"

namespace heddle {

/// A packed tokenizer and the table that it refers to.
struct ImportedTokenizer {
  /// Packs and loads a tokenizer; returns the failure of either.
  Status import(const nlohmann::json &json, std::optional<int64_t> maxLength = std::nullopt,
                std::optional<int64_t> modelLength = std::nullopt) {
    builder.Clear();
    HEDDLE_ASSIGN(const auto root,
                  packTokenizer(builder, json, "tokenizer.json", maxLength, modelLength));
    builder.Finish(root);
    flatbuffers::Verifier verifier(builder.GetBufferPointer(), builder.GetSize());
    if (!verifier.VerifyBuffer<manifest::Tokenizer>(nullptr)) {
      return HEDDLE_ERROR(Internal, "the table does not verify");
    }
    HEDDLE_ASSIGN(Tokenizer loaded, Tokenizer::load(flatbuffers::GetRoot<manifest::Tokenizer>(
                                        builder.GetBufferPointer())));
    tokenizer.emplace(std::move(loaded));
    return {};
  }

  flatbuffers::FlatBufferBuilder builder;
  std::optional<Tokenizer> tokenizer;
};

} // namespace heddle

#endif // HEDDLE_TESTS_FORMATS_TOKENIZER_IMPORTEDTOKENIZER_H
