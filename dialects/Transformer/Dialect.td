// SPDX-License-Identifier: Apache-2.0
/// The model level: a Transformer variant as plain mathematics.
#ifndef HEDDLE_TRANSFORMER_DIALECT
#define HEDDLE_TRANSFORMER_DIALECT

include "mlir/IR/OpBase.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"

def Transformer_Dialect : Dialect {
  let name = "transformer";
  let cppNamespace = "::heddle::transformer";
  let summary = "Transformer variants as mathematics on ragged rows";
  let description = [{
    Activations are `tensor<?xWxf32>`: the rows of all sequences of a batch laid end to end, never
    padded. A value of type `!transformer.segments` says which rows belong together. Layouts, tiles,
    buffers and batch padding do not exist here.

    Frontends write primitive operations; only passes create fused ones.
    Weights are symbols (`transformer.parameter`), never constants in the program.

    The module of a program may have these attributes, and no others of this dialect:

    - `transformer.model_type`: the kind of model, a string.
    - `transformer.max_length`: the length at which texts are cut, in tokens, special ones included;
      an i64 of at least 1. Without it, the model's positions and the tokenizer set the limit.
    - `transformer.lower_case`: the tokenizer must convert texts to lower case.
    - `transformer.tokenizer`: the names of the files the tokenizer was read from. They are never
      opened; they tell a reader of the text which files belong to it.
    - `transformer.generation`: the defaults for generating text, a dictionary of
      `start`, `end`, `suppressed` (array<i32>, token ids), `pad`, `forced_first`, `forced_last` (i32,
      -1 for none), `rules` (a string), `max_length`, `min_length`, `num_beams`, `no_repeat_ngram`,
      `top_k`, `context_length` (i32), `length_penalty`, `repetition_penalty`, `temperature`, `top_p`,
      `min_p` (f32), `early_stopping`, `never_stop_early`, `sample` (true or false). All of them are
      required.
    - `transformer.languages`: the languages that the model translates between, a dictionary of
      `names` (a list of strings, ascending) and `tokens` (array<i32>), the token of each;
      `ends_source`, whether the token of a source's language is its last, not its first;
      `starts_target`, whether the token of a target's language is what targets start with, not the
      forced first token of an answer (true or false); `source` and `target`, the names of the
      languages of texts of which nothing is said, or empty strings.
    - `transformer.classification`: what the columns of the output `logits` of the entry `classify`
      mean: a dictionary of `labels` (a list of strings) and `problem` (`regression`,
      `single_label` or `multi_label`).
    - `transformer.chat`: how conversations become prompts: a dictionary of `templates`, at least one,
      and `tokens`, lists of dictionaries of `name` and `text` (strings). The template called
      `default` is used if none is asked for; tokens are variables of templates.
    - `transformer.sharing`: the attention that layers share on the user's request, a string.
    - `transformer.precision`: how weights are stored, once they are: a dictionary of `name`, the
      precision of all that nothing else is said of (a string), and `kept`, a list of dictionaries of
      `layers` (the pattern), `precision` (strings), `tensors` and `bytes` (i64): the matrices of
      the checkpoint that were kept in another, and the bytes that they take.
    - `transformer.phase`: the phase of compilation after which a text was printed; `model` if
      absent.
  }];
  let hasOperationAttrVerify = 1;
  let useDefaultTypePrinterParser = 1;
  let useDefaultAttributePrinterParser = 1;
}

#endif
