/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The C interface: load a compiled model, make a session per thread, run its entries.
 *
 * Shapes. A batch is ragged: the rows of its sequences lie end to end, without padding. `tokens` is
 * the number of rows of the whole batch, `sequences` the number of its sentences. All tensors are
 * dense and row major.
 *
 * Errors. A function that can fail returns NULL on success, else an error that the caller frees
 * with heddle_error_free. Results are written only on success, unless a comment says otherwise.
 * Nothing throws, exits or aborts. A required pointer that is NULL is
 * HEDDLE_STATUS_InvalidArgument.
 *
 * Threads. A model is immutable and may be used by any number of threads at once. A session belongs
 * to one thread at a time. An error belongs to whoever received it. After fork() the child may go
 * on with sessions and generators that no call was using; their threads are started again.
 *
 * Ownership. Returned strings belong to the object that returned them and live as long as it does.
 * A model may be freed before its sessions: they keep what they need.
 *
 * Loading a model maps it as a program: trust it as you would any shared library.
 */
#ifndef HEDDLE_HEDDLE_H
#define HEDDLE_HEDDLE_H

#include "heddle/Export.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* HEDDLE_STATUS_Ok, HEDDLE_STATUS_InvalidArgument, ...: the list of Status.def. */
enum heddle_status_code {
#define HEDDLE_STATUS(Name, value, text) HEDDLE_STATUS_##Name = value,
#include "heddle/Status.def"
};

typedef struct heddle_error heddle_error;
typedef struct heddle_model heddle_model;
typedef struct heddle_session heddle_session;
typedef struct heddle_generator heddle_generator;
typedef struct heddle_generation heddle_generation;
typedef struct heddle_event heddle_event;

/* --- Errors ---------------------------------------------------------------------------------- */

/* One of heddle_status_code; HEDDLE_STATUS_Ok for NULL. */
HEDDLE_API int32_t heddle_error_code(const heddle_error *error);
/* What was found and what was expected, zero-terminated; "" for NULL. */
HEDDLE_API const char *heddle_error_message(const heddle_error *error);
/* NULL is fine. */
HEDDLE_API void heddle_error_free(heddle_error *error);

/* --- Models ---------------------------------------------------------------------------------- */

/* Start from HEDDLE_MODEL_OPTIONS_INIT, so that fields added later have their defaults. */
typedef struct heddle_model_options {
  size_t struct_size;
  /* The target to run, for example "x86-64-v3"; NULL: the best that the device can run. */
  const char *isa;
  /* Not 0: compare every parameter with its checksum, which reads the whole file. */
  int32_t verify_weights;
  /* Where it runs: "cpu" or NULL; "cuda", the first GPU; "cuda:1", the second one; "auto", the
   * first GPU if there is one and the model has a target that it runs, else the CPU. */
  const char *device;
} heddle_model_options;
#define HEDDLE_MODEL_OPTIONS_INIT {sizeof(heddle_model_options), NULL, 0, NULL}

/* Maps and checks a compiled model. `options` may be NULL. If the file is refused, none of its code
 * has run. The caller frees *model. */
HEDDLE_API heddle_error *heddle_model_load(const char *path, const heddle_model_options *options,
                                           heddle_model **model);
/* NULL is fine. */
HEDDLE_API void heddle_model_free(heddle_model *model);

/* The target that runs, the device that runs it ("cpu", "cuda:0"), and the precision of all
 * weights, and products with them, but those of kept layers. */
HEDDLE_API const char *heddle_model_isa(const heddle_model *model);
HEDDLE_API const char *heddle_model_device(const heddle_model *model);
HEDDLE_API const char *heddle_model_precision(const heddle_model *model);
/* What caches keep of earlier rows, for example "bf16"; "none" of a model without caches. */
HEDDLE_API const char *heddle_model_cache_precision(const heddle_model *model);

/* Layers that were compiled in another precision; the pointers belong to the model. */
typedef struct heddle_kept_layers {
  /* The pattern that the names of their tensors match, and the precision. */
  const char *layers;
  const char *precision;
  /* The matrices and tables of the checkpoint among them, and the bytes that these take. */
  int64_t tensors;
  int64_t bytes;
} heddle_kept_layers;

/* How many patterns of such layers there are, and one of them, counted from 0;
 * HEDDLE_STATUS_OutOfRange if it does not exist. */
HEDDLE_API int64_t heddle_model_kept_count(const heddle_model *model);
HEDDLE_API heddle_error *heddle_model_kept(const heddle_model *model, int64_t index,
                                           heddle_kept_layers *kept);

/* The number of entries, and their names, counted from 0; NULL past the last. */
HEDDLE_API int64_t heddle_model_entry_count(const heddle_model *model);
HEDDLE_API const char *heddle_model_entry_name(const heddle_model *model, int64_t entry);
/* The longest sequence of an entry, in tokens; 0: any. */
HEDDLE_API int64_t heddle_model_entry_max_length(const heddle_model *model, int64_t entry);
/* The pixels in a row of the images that an entry reads: 1 if its sequences are no images, 0 if
 * each has a width of its own, which heddle_session_run_images and heddle_generator_add_image take.
 */
HEDDLE_API int64_t heddle_model_entry_image_width(const heddle_model *model, int64_t entry);

/* HEDDLE_F32, HEDDLE_I32, ...: the list of ElementTypes.def. */
enum heddle_element_type {
#define HEDDLE_ELEMENT_TYPE(Name, name, bits, Kind, safetensors, numpy, ctranslate2) HEDDLE_##Name,
#include "heddle/ElementTypes.def"
};
enum heddle_port_direction { HEDDLE_INPUT = 0, HEDDLE_OUTPUT = 1 };
/* Dimensions of a shape that depend on the batch. There are others, for rows that derive from
 * tokens: heddle_dimension_rows says how many rows a sequence has in any of them. */
enum heddle_dimension { HEDDLE_TOKENS = -1, HEDDLE_SEQUENCES = -2, HEDDLE_LONGEST = -3 };

/* The rows that a sequence of `tokens` > 0 tokens has in the first dimension of a shape: as many,
 * one, or for example half as many where rows are blocks of two tokens. 0 for a dimension that does
 * not count rows. Of images of any width it is the most that any width gives. */
HEDDLE_API int64_t heddle_dimension_rows(int64_t dimension, int64_t tokens);
/* The same of an image of `tokens` pixels, `width` > 0 in a row, for an entry that reads images of
 * any width. */
HEDDLE_API int64_t heddle_dimension_rows_of_image(int64_t dimension, int64_t tokens, int64_t width);

/* One input or output of an entry; the pointers belong to the model. */
typedef struct heddle_port {
  const char *name;
  /* One of heddle_element_type. */
  int32_t element;
  /* Inputs: not 0 if it may be left out, which means all zeros. */
  int32_t optional;
  /* [rank]: constants, or dimensions that depend on the batch, such as those of heddle_dimension.
   */
  const int64_t *shape;
  int64_t rank;
  /* Inputs of ids: they lie in [0, limit). Inputs of floats and outputs: 0. */
  int64_t limit;
} heddle_port;

/* The number of inputs or outputs of an entry; 0 for an entry that does not exist. */
HEDDLE_API int64_t heddle_model_port_count(const heddle_model *model, int64_t entry,
                                           int32_t direction);
/* Describes one of them; HEDDLE_STATUS_OutOfRange if it does not exist. */
HEDDLE_API heddle_error *heddle_model_port(const heddle_model *model, int64_t entry,
                                           int32_t direction, int64_t index, heddle_port *port);

/* Not 0 if the model carries a tokenizer. */
HEDDLE_API int32_t heddle_model_has_tokenizer(const heddle_model *model);
/* Writes the ids of a text of `length` bytes of UTF-8 to ids[0 .. *count). If `capacity` is too
 * small, returns HEDDLE_STATUS_OutOfRange and sets *count to the number needed. */
HEDDLE_API heddle_error *heddle_model_tokenize(const heddle_model *model, const char *text,
                                               size_t length, int32_t *ids, int64_t capacity,
                                               int64_t *count);

/* --- Classifiers ----------------------------------------------------------------------------- */

/* What a classifier was trained for, and what its scores are. */
enum heddle_problem {
  /* Each score is a number. */
  HEDDLE_REGRESSION = 0,
  /* One of the labels: a softmax of the scores is their probabilities. */
  HEDDLE_SINGLE_LABEL = 1,
  /* Any of the labels: a sigmoid of each score is its probability. */
  HEDDLE_MULTI_LABEL = 2
};

/* The number of labels of the model's classifier, 0 if it has none, and their names, counted from
 * 0; NULL past the last. They are in the order of the scores. */
HEDDLE_API int64_t heddle_model_label_count(const heddle_model *model);
HEDDLE_API const char *heddle_model_label(const heddle_model *model, int64_t index);
/* One of heddle_problem. */
HEDDLE_API int32_t heddle_model_problem(const heddle_model *model);
/* The same as heddle_model_tokenize for two texts as one sequence, of which the longer one is cut
 * first; type_ids[0 .. *count) says which of the texts a token is from. */
HEDDLE_API heddle_error *heddle_model_tokenize_pair(const heddle_model *model, const char *first,
                                                    size_t first_length, const char *second,
                                                    size_t second_length, int32_t *ids,
                                                    int32_t *type_ids, int64_t capacity,
                                                    int64_t *count);

/* --- Sessions -------------------------------------------------------------------------------- */

/* Start from HEDDLE_SESSION_OPTIONS_INIT, so that fields added later have their defaults. */
typedef struct heddle_session_options {
  size_t struct_size;
  /* Threads that compute, including the calling one; 1 starts none. */
  int32_t threads;
} heddle_session_options;
#define HEDDLE_SESSION_OPTIONS_INIT {sizeof(heddle_session_options), 1}

/* `options` may be NULL. The caller frees *session. */
HEDDLE_API heddle_error *heddle_session_create(const heddle_model *model,
                                               const heddle_session_options *options,
                                               heddle_session **session);
/* NULL is fine. */
HEDDLE_API void heddle_session_free(heddle_session *session);

/* The values of one input for all sequences, end to end. An input of ids, HEDDLE_I32 [tokens], has
 * `values`, and count is the number of tokens of the batch. An input of rows of floats, HEDDLE_F32
 * [tokens, width], has `floats`, and count is tokens times width; NaN and infinity are values like
 * any other. The pointer that is not needed is NULL. */
typedef struct heddle_input {
  const char *name;
  const int32_t *values;
  int64_t count;
  const float *floats;
} heddle_input;

/* The memory for one output; count is rows times width, according to its shape. */
typedef struct heddle_output {
  const char *name;
  float *values;
  int64_t count;
} heddle_output;

/* Runs an entry over `sequences` sequences with lengths[i] > 0 tokens each; 0 sequences do nothing.
 * Every input that is not optional must be given. Only the named outputs are computed. After a
 * failure, outputs may be partly written. */
HEDDLE_API heddle_error *heddle_session_run(heddle_session *session, const char *entry,
                                            const int32_t *lengths, int64_t sequences,
                                            const heddle_input *inputs, int64_t input_count,
                                            const heddle_output *outputs, int64_t output_count);

/* The same over images: sequence i is lengths[i] pixels, row by row, widths[i] in a row. */
HEDDLE_API heddle_error *
heddle_session_run_images(heddle_session *session, const char *entry, const int32_t *lengths,
                          const int32_t *widths, int64_t sequences, const heddle_input *inputs,
                          int64_t input_count, const heddle_output *outputs, int64_t output_count);

/* The number of floats in one embedding. */
HEDDLE_API heddle_error *heddle_session_embedding_width(const heddle_session *session,
                                                        int64_t *width);
/* Tokenises `count` texts in UTF-8 and writes their embeddings, [count, embedding width].
 * `capacity` is the size of `embeddings` in floats. text_lengths holds bytes; if it is NULL, the
 * texts are zero-terminated. */
HEDDLE_API heddle_error *heddle_session_embed(heddle_session *session, const char *const *texts,
                                              const size_t *text_lengths, int64_t count,
                                              float *embeddings, int64_t capacity);

/* Scores texts, or pairs of texts if `seconds` is not NULL, with the model's classifier: writes
 * scores[0 .. count * labels). Lengths are in bytes of UTF-8; NULL where texts are zero-terminated.
 * HEDDLE_STATUS_NotFound if the model has no classifier, HEDDLE_STATUS_Unsupported for one that
 * scores tokens. */
HEDDLE_API heddle_error *heddle_session_classify(heddle_session *session, const char *const *texts,
                                                 const size_t *text_lengths,
                                                 const char *const *seconds,
                                                 const size_t *second_lengths, int64_t count,
                                                 float *scores, int64_t capacity);
/* Scores how well each text answers a query: the more, the better. Writes scores[0 .. count).
 * HEDDLE_STATUS_Unsupported unless the model gives a pair of texts one score. */
HEDDLE_API heddle_error *heddle_session_rerank(heddle_session *session, const char *query,
                                               size_t query_length, const char *const *texts,
                                               const size_t *text_lengths, int64_t count,
                                               float *scores, int64_t capacity);

/* --- Generation ------------------------------------------------------------------------------ */

/* Start from HEDDLE_GENERATOR_OPTIONS_INIT. */
typedef struct heddle_generator_options {
  size_t struct_size;
  int32_t threads;
  /* The most source tokens, or tokens of prompts that are not shared, in the running batch, counted
   * once for each hypothesis. */
  int64_t batch_tokens;
  /* The most bytes of keys, values and states. */
  uint64_t cache_bytes;
  /* The most tokens of prompts and prefixes that a step computes, and those of a step that has
   * running answers to extend: how long these wait for prompts. */
  int64_t prompt_tokens;
  int64_t prompt_tokens_beside;
  /* Not 0: where the model allows it, what caches have of tokens that prompts begin with is
   * computed once, and kept in memory that nothing else needs. */
  int64_t share_prefixes;
} heddle_generator_options;
#define HEDDLE_GENERATOR_OPTIONS_INIT                                                              \
  {sizeof(heddle_generator_options), 1, 4096, (uint64_t)1 << 30, 512, 16, 1}

/* Mark numbers of heddle_generation_options as unset. */
#define HEDDLE_UNSET INT32_MIN
#define HEDDLE_UNSET_NUMBER (-3.4e38F)

/* How to search. Unset options take the model's defaults or, if the model was made for other rules,
 * those of the rules: docs/generation.md. Start from HEDDLE_GENERATION_OPTIONS_INIT. */
typedef struct heddle_generation_options {
  size_t struct_size;
  /* "paper", "transformers" or "ctranslate2"; NULL: the model's. */
  const char *rules;
  int32_t beam;
  int32_t nbest;
  float length_penalty;
  float coverage_penalty;
  int32_t no_repeat_ngram;
  float repetition_penalty;
  int32_t min_length;
  int32_t max_length;
  /* 0, 1, or HEDDLE_UNSET. */
  int32_t early_stopping;
  /* Not 0: draw every token; unset: as the model does, unless beam or alternatives is given. A
   * top_k of 0 means all tokens. Numbers of sampling are not read by a search that draws nothing.
   */
  int32_t sample;
  float temperature;
  int32_t top_k;
  float top_p;
  uint64_t seed;
  /* Not 0: the nbest best first tokens after the prefix, each with its best continuation. */
  int32_t alternatives;
  /* Which task, from 0 on, of a model of several; unset: the first. */
  int64_t command;
  /* Samples are drawn from tokens with at least so many times the probability of the best. */
  float min_p;
  /* Not 0: heddle_generation_scores and heddle_event_scores have the log-probabilities of tokens.
   */
  int32_t token_scores;
  /* How many of the best tokens heddle_generation_top_scores and heddle_event_top_scores have for
   * each place, at most 100. */
  int32_t top_scores;
  /* Not 0: heddle_generator_take_event tells of the sentence. */
  int32_t events;
  /* Texts in UTF-8, zero-terminated, that end an answer of a greedy search or a sample: its text
   * ends before the first of them. They need a tokenizer, and are copied. */
  const char *const *stop;
  int64_t stop_count;
  /* A JSON schema in UTF-8, zero-terminated, that the answer follows: docs/json-schema.md. NULL:
   * any answer. It is copied. */
  const char *json_schema;
  /* The languages of the source, which has the token of a language where the tokenizer puts one,
   * and of the answer, by the names that `heddle info` lists; NULL: the model's defaults. */
  const char *source_language;
  const char *target_language;
} heddle_generation_options;
#define HEDDLE_GENERATION_OPTIONS_INIT                                                             \
  {sizeof(heddle_generation_options),                                                              \
   NULL,                                                                                           \
   HEDDLE_UNSET,                                                                                   \
   1,                                                                                              \
   HEDDLE_UNSET_NUMBER,                                                                            \
   0.0F,                                                                                           \
   HEDDLE_UNSET,                                                                                   \
   HEDDLE_UNSET_NUMBER,                                                                            \
   HEDDLE_UNSET,                                                                                   \
   HEDDLE_UNSET,                                                                                   \
   HEDDLE_UNSET,                                                                                   \
   HEDDLE_UNSET,                                                                                   \
   HEDDLE_UNSET_NUMBER,                                                                            \
   HEDDLE_UNSET,                                                                                   \
   HEDDLE_UNSET_NUMBER,                                                                            \
   0,                                                                                              \
   0,                                                                                              \
   HEDDLE_UNSET,                                                                                   \
   HEDDLE_UNSET_NUMBER,                                                                            \
   0,                                                                                              \
   0,                                                                                              \
   0,                                                                                              \
   NULL,                                                                                           \
   0,                                                                                              \
   NULL,                                                                                           \
   NULL,                                                                                           \
   NULL}

/* Why an answer has ended. */
enum heddle_finish_reason {
  /* It goes on. */
  HEDDLE_FINISH_NO = 0,
  /* A token that ends answers. */
  HEDDLE_FINISH_END = 1,
  /* As many tokens as it may have, or none that may follow. */
  HEDDLE_FINISH_LENGTH = 2,
  /* A stop string. */
  HEDDLE_FINISH_STOP = 3,
  /* It was removed. */
  HEDDLE_FINISH_REMOVED = 4,
  /* It failed. */
  HEDDLE_FINISH_FAILED = 5
};

/* A token and its log-probability. */
typedef struct heddle_token_score {
  int32_t token;
  float score;
} heddle_token_score;

/* `options` may be NULL. The caller frees *generator, which belongs to one thread at a time. */
HEDDLE_API heddle_error *heddle_generator_create(const heddle_model *model,
                                                 const heddle_generator_options *options,
                                                 heddle_generator **generator);
/* NULL is fine. */
HEDDLE_API void heddle_generator_free(heddle_generator *generator);

/* Queues a sentence of source_count > 0 ids, which joins the running batch as soon as there is
 * room. Its results begin with the ids of the prefix. *id is its id, which is never reused.
 * `options` may be NULL. For a model without an encoder the source is NULL and source_count 0, and
 * the prefix is the prompt that is continued, at least one id. */
HEDDLE_API heddle_error *heddle_generator_add(heddle_generator *generator, const int32_t *source,
                                              int64_t source_count, const int32_t *prefix,
                                              int64_t prefix_count,
                                              const heddle_generation_options *options,
                                              int64_t *id);
/* The same for a model whose entry "encode" reads rows of floats, such as the pixels of an image:
 * its `count` floats are these rows, end to end. */
HEDDLE_API heddle_error *heddle_generator_add_rows(heddle_generator *generator, const float *rows,
                                                   int64_t count, const int32_t *prefix,
                                                   int64_t prefix_count,
                                                   const heddle_generation_options *options,
                                                   int64_t *id);
/* The same for an image whose rows have `width` pixels. */
HEDDLE_API heddle_error *heddle_generator_add_image(heddle_generator *generator, const float *rows,
                                                    int64_t count, int32_t width,
                                                    const int32_t *prefix, int64_t prefix_count,
                                                    const heddle_generation_options *options,
                                                    int64_t *id);
/* Generates one token for every sentence of the batch whose prompt is computed, and computes pieces
 * of other prompts. */
HEDDLE_API heddle_error *heddle_generator_step(heddle_generator *generator);
/* Removes a waiting or running sentence; HEDDLE_STATUS_NotFound for any other id. */
HEDDLE_API heddle_error *heddle_generator_remove(heddle_generator *generator, int64_t id);
/* The tokens of prompts that were taken over from other sentences so far, not computed. */
HEDDLE_API int64_t heddle_generator_shared_tokens(const heddle_generator *generator);
/* Bytes of keys, values and states: of running sentences, kept for prompts that begin alike until
 * running ones need the memory, and the limit of both together. */
HEDDLE_API heddle_error *heddle_generator_cache_use(const heddle_generator *generator,
                                                    uint64_t *used, uint64_t *kept,
                                                    uint64_t *limit);
/* Not 0 if no sentence waits or runs; there may still be results to take. */
HEDDLE_API int32_t heddle_generator_idle(const heddle_generator *generator);

/* The next finished sentence, or NULL if there is none yet. The caller frees it. */
HEDDLE_API heddle_generation *heddle_generator_take(heddle_generator *generator);
/* NULL is fine. */
HEDDLE_API void heddle_generation_free(heddle_generation *generation);
/* Its id from heddle_generator_add. */
HEDDLE_API int64_t heddle_generation_id(const heddle_generation *generation);
/* The error of this sentence alone, or NULL. The caller frees it. */
HEDDLE_API heddle_error *heddle_generation_error(const heddle_generation *generation);
/* The number of its hypotheses, which are ordered best first. */
HEDDLE_API int64_t heddle_generation_count(const heddle_generation *generation);
/* The tokens of one hypothesis, which belong to the generation, and its score; NULL if it does not
 * exist. `count` and `score` may be NULL. */
HEDDLE_API const int32_t *heddle_generation_tokens(const heddle_generation *generation,
                                                   int64_t index, int64_t *count, double *score);

/* Of one hypothesis: why it ended, and which of the samples it is; 0 if it does not exist. */
HEDDLE_API int32_t heddle_generation_finish(const heddle_generation *generation, int64_t index);
HEDDLE_API int32_t heddle_generation_sample(const heddle_generation *generation, int64_t index);
/* The log-probabilities of its generated tokens, and the best tokens at the place of the one with
 * the number `place`, from 0 on, best first. They belong to the generation; NULL where there are
 * none. `count` may be NULL. */
HEDDLE_API const float *heddle_generation_scores(const heddle_generation *generation, int64_t index,
                                                 int64_t *count);
HEDDLE_API const heddle_token_score *
heddle_generation_top_scores(const heddle_generation *generation, int64_t index, int64_t place,
                             int64_t *count);
/* With stop strings, the text of its generated tokens, before the string that ended it:
 * zero-terminated, of `length` bytes, which may be NULL. It belongs to the generation; NULL if the
 * hypothesis does not exist. */
HEDDLE_API const char *heddle_generation_text(const heddle_generation *generation, int64_t index,
                                              size_t *length);
/* How many tokens of its beginning were taken over from other sentences, not computed. */
HEDDLE_API int64_t heddle_generation_shared(const heddle_generation *generation);

/* The next thing that has happened to an answer of a sentence with `events`, or NULL if there is
 * none yet: tokens that a step has added, or its end. Tokens come once each. Of greedy searches and
 * samples they come as they are found; of beams and alternatives, whose best answer is told, once
 * they are certain. The caller frees it. */
HEDDLE_API heddle_event *heddle_generator_take_event(heddle_generator *generator);
/* NULL is fine. */
HEDDLE_API void heddle_event_free(heddle_event *event);
/* The sentence, and which of its samples. */
HEDDLE_API int64_t heddle_event_id(const heddle_event *event);
HEDDLE_API int32_t heddle_event_sample(const heddle_event *event);
/* The new tokens and, if requested, their log-probabilities and the best tokens at the place of
 * each; NULL where there are none. They belong to the event. `count` may be NULL. */
HEDDLE_API const int32_t *heddle_event_tokens(const heddle_event *event, int64_t *count);
HEDDLE_API const float *heddle_event_scores(const heddle_event *event, int64_t *count);
HEDDLE_API const heddle_token_score *heddle_event_top_scores(const heddle_event *event,
                                                             int64_t place, int64_t *count);
/* What the text of the answer goes on with, in UTF-8 and zero-terminated: whole characters, and
 * nothing that a stop string may begin with. "" without a tokenizer. */
HEDDLE_API const char *heddle_event_text(const heddle_event *event, size_t *length);
/* One of heddle_finish_reason: not HEDDLE_FINISH_NO in the last event of an answer. */
HEDDLE_API int32_t heddle_event_finish(const heddle_event *event);
/* The error of a sentence that failed, or of a new token that has no text and is left out of it; or
 * NULL. The caller frees it. */
HEDDLE_API heddle_error *heddle_event_error(const heddle_event *event);

/* Writes the text of ids, in UTF-8 and zero-terminated, to text[0 .. *length]. Returns
 * HEDDLE_STATUS_OutOfRange if `capacity` is not above *length. */
HEDDLE_API heddle_error *heddle_generator_decode(const heddle_generator *generator,
                                                 const int32_t *tokens, int64_t count, char *text,
                                                 size_t capacity, size_t *length);

/* --- Conversations --------------------------------------------------------------------------- */

/* Writes the prompt that the model's chat template makes of a conversation, in UTF-8 and
 * zero-terminated, to text[0 .. *length]. `conversation` is a JSON object with "messages" and
 * perhaps "tools", "add_generation_prompt" (true without it) and other variables of the template;
 * `template_name` NULL means "tool_use" for one with tools where there is one, else "default".
 * Returns HEDDLE_STATUS_OutOfRange if `capacity` is not above *length, HEDDLE_STATUS_Unsupported if
 * the model has no template. */
HEDDLE_API heddle_error *heddle_model_chat_prompt(const heddle_model *model,
                                                  const char *conversation,
                                                  const char *template_name, char *text,
                                                  size_t capacity, size_t *length);
/* Writes the ids of that prompt to ids[0 .. *count - 1]: the prefix of a request. Returns
 * HEDDLE_STATUS_OutOfRange if `capacity` is below *count. */
HEDDLE_API heddle_error *heddle_generator_encode_chat(const heddle_generator *generator,
                                                      const char *conversation,
                                                      const char *template_name, int32_t *ids,
                                                      int64_t capacity, int64_t *count);

#ifdef __cplusplus
}
#endif

#endif /* HEDDLE_HEDDLE_H */
