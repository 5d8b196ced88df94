// SPDX-License-Identifier: Apache-2.0
///
/// The kinds of attention and their spellings: in programs and analyses, in the policies of
/// `heddlec --share-attention`, and in output for readers. They are defined only here.
#ifndef HEDDLE_ATTENTIONKIND_H
#define HEDDLE_ATTENTIONKIND_H

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace heddle {

/// Where the keys of an attention come from. The values are stored in compiled models.
enum class AttentionKind : uint8_t {
  /// No attention, or an attention whose keys are unknown.
  No,
  /// The rows themselves.
  Encoder,
  /// The history of the rows.
  Decoder,
  /// A memory.
  Cross,
};

struct AttentionSpelling {
  AttentionKind kind;
  /// The name in `transformer.observed`, `dataflow.observed`, "kind" of analyses and `heddle info`.
  std::string_view name;
  /// The name in policies, for example `self` in "self:1,5,cross:4,2".
  std::string_view policyName;
  std::string_view title;
};

inline constexpr std::array<AttentionSpelling, 3> attentionSpellings = {{
    {AttentionKind::Encoder, "encoder", "encoder", "Encoder self-attention"},
    {AttentionKind::Decoder, "decoder", "self", "Decoder self-attention"},
    {AttentionKind::Cross, "cross", "cross", "Cross-attention"},
}};

/// Returns the spelling of a kind; null for `No`.
constexpr const AttentionSpelling *spellingOf(AttentionKind kind) {
  for (const AttentionSpelling &spelling : attentionSpellings) {
    if (spelling.kind == kind) {
      return &spelling;
    }
  }
  return nullptr;
}

/// Returns the entry whose `member` is `text`; null if there is none.
constexpr const AttentionSpelling *
findAttentionKind(std::string_view text,
                  std::string_view AttentionSpelling::*member = &AttentionSpelling::name) {
  for (const AttentionSpelling &spelling : attentionSpellings) {
    if (spelling.*member == text) {
      return &spelling;
    }
  }
  return nullptr;
}

/// Lists all kinds for a message, each in `quote`s: "encoder", "decoder" or "cross".
inline std::string
attentionKindChoices(std::string_view quote = "\"",
                     std::string_view AttentionSpelling::*member = &AttentionSpelling::name) {
  std::string text;
  for (const AttentionSpelling &spelling : attentionSpellings) {
    if (!text.empty()) {
      text += &spelling == &attentionSpellings.back() ? " or " : ", ";
    }
    text += quote;
    text += spelling.*member;
    text += quote;
  }
  return text;
}

} // namespace heddle

#endif // HEDDLE_ATTENTIONKIND_H
