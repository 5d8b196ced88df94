// SPDX-License-Identifier: Apache-2.0
///
/// What a tokenizer.json puts around the ids of a text ("post_processor").
#ifndef HEDDLE_FORMATS_TOKENIZER_TEMPLATEIMPORT_H
#define HEDDLE_FORMATS_TOKENIZER_TEMPLATEIMPORT_H

#include "formats/Binary/Tokenizer_generated.h"
#include "formats/Tokenizer/AddedTokenImport.h"
#include "formats/Tokenizer/VocabularyTable.h"
#include "heddle/Status.h"

#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

namespace heddle {

/// Reads the template for one text: TemplateProcessing, BertProcessing, RobertaProcessing, a
/// Sequence with one of them, or none.
Result<std::vector<manifest::TemplatePiece>>
readTemplate(const nlohmann::json &tokenizer, const VocabularyTable &vocabulary,
             const std::vector<ImportedToken> &addedTokens, std::string_view where);

} // namespace heddle

#endif // HEDDLE_FORMATS_TOKENIZER_TEMPLATEIMPORT_H
