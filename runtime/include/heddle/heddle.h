/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The C interface: load a compiled model, make a session per thread, run its entries.
 *
 * Shapes. A batch is ragged: the rows of its sequences are stored one after another, without
 * padding. `tokens` is the number of rows of the whole batch, `sequences` the number of its
 * sequences. All tensors are dense and row-major.
 *
 * Errors. A function that can fail returns NULL on success, and otherwise an error that the caller
 * frees with heddle_error_free. Results are written only on success, unless a comment says
 * otherwise. No function throws, exits or aborts. A required pointer that is NULL is reported as
 * HEDDLE_STATUS_InvalidArgument.
 *
 * Threads. A model is immutable and may be used by any number of threads at once. A session belongs
 * to one thread at a time. An error belongs to whoever received it. After fork() the child may go
 * on with sessions and generators that no call was using; their threads are started again.
 *
 * Ownership. A returned string belongs to the object that returned it and lives as long as that
 * object. A model may be freed before its sessions, which keep what they need.
 *
 * Loading a model maps executable code: load a file only if you trust it as a shared library.
 */
#ifndef HEDDLE_HEDDLE_H
#define HEDDLE_HEDDLE_H

#include "heddle/Export.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The status codes HEDDLE_STATUS_Ok, HEDDLE_STATUS_InvalidArgument, ..., as listed in Status.def.
 */
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

/* Returns the error's heddle_status_code; HEDDLE_STATUS_Ok if `error` is NULL. */
HEDDLE_API int32_t heddle_error_code(const heddle_error *error);
/* Returns a zero-terminated message: what was found and what was expected; "" if `error` is NULL.
 */
HEDDLE_API const char *heddle_error_message(const heddle_error *error);
/* Frees an error; does nothing if it is NULL. */
HEDDLE_API void heddle_error_free(heddle_error *error);

/* --- Models ---------------------------------------------------------------------------------- */

/* Options of heddle_model_load. Initialise with HEDDLE_MODEL_OPTIONS_INIT, so that fields added
 * later get their defaults. */
typedef struct heddle_model_options {
  size_t struct_size;
  /* The target to run, for example "x86-64-v3"; NULL selects the best one that the device supports.
   */
  const char *isa;
  /* If not 0, compares every parameter with its checksum, which reads the whole file. */
  int32_t verify_weights;
  /* The device: "cpu" or NULL; "cuda" for the first GPU; "cuda:1" for the second one; "auto" for
   * the first GPU if there is one and the model has a target for it, and otherwise the CPU. */
  const char *device;
} heddle_model_options;
#define HEDDLE_MODEL_OPTIONS_INIT {sizeof(heddle_model_options), NULL, 0, NULL}

/* Maps and validates a compiled model. `options` may be NULL. If the file is rejected, none of its
 * code has run. The caller frees *model. */
HEDDLE_API heddle_error *heddle_model_load(const char *path, const heddle_model_options *options,
                                           heddle_model **model);
/* Frees a model; does nothing if it is NULL. */
HEDDLE_API void heddle_model_free(heddle_model *model);

/* Return the target that runs, the device that it runs on ("cpu", "cuda:0"), and the precision of
 * all weights and of products with them, except those of kept layers. */
HEDDLE_API const char *heddle_model_isa(const heddle_model *model);
HEDDLE_API const char *heddle_model_device(const heddle_model *model);
HEDDLE_API const char *heddle_model_precision(const heddle_model *model);
/* Returns the element type of the caches, for example "bf16"; "none" for a model without caches. */
HEDDLE_API const char *heddle_model_cache_precision(const heddle_model *model);

/* Layers that were compiled in another precision. The model owns the strings. */
typedef struct heddle_kept_layers {
  /* The pattern that the names of their tensors match, and their precision. */
  const char *layers;
  const char *precision;
  /* The number of their matrices and tables in the checkpoint, and the bytes that these take. */
  int64_t tensors;
  int64_t bytes;
} heddle_kept_layers;

/* Return the number of such patterns, and the one at `index`, counted from 0;
 * HEDDLE_STATUS_OutOfRange if there is none at that index. */
HEDDLE_API int64_t heddle_model_kept_count(const heddle_model *model);
HEDDLE_API heddle_error *heddle_model_kept(const heddle_model *model, int64_t index,
                                           heddle_kept_layers *kept);

/* Return the number of entries, and the name of an entry, counted from 0; NULL if out of range. */
HEDDLE_API int64_t heddle_model_entry_count(const heddle_model *model);
HEDDLE_API const char *heddle_model_entry_name(const heddle_model *model, int64_t entry);
/* Returns the maximum length of an entry's sequences, in tokens; 0 means unlimited. */
HEDDLE_API int64_t heddle_model_entry_max_length(const heddle_model *model, int64_t entry);
/* Returns the width in pixels of the images that an entry reads: 1 if its sequences are not images;
 * 0 if every image has its own width, as heddle_session_run_images and heddle_generator_add_image
 * take it. */
HEDDLE_API int64_t heddle_model_entry_image_width(const heddle_model *model, int64_t entry);

/* The element types HEDDLE_F32, HEDDLE_I32, ..., as listed in ElementTypes.def. */
enum heddle_element_type {
#define HEDDLE_ELEMENT_TYPE(Name, name, bits, Kind, safetensors, numpy, ctranslate2) HEDDLE_##Name,
#include "heddle/ElementTypes.def"
};
enum heddle_port_direction { HEDDLE_INPUT = 0, HEDDLE_OUTPUT = 1 };
/* Dimensions of a shape that depend on the batch. There are others, for rows derived from tokens:
 * heddle_dimension_rows returns the number of rows of a sequence in any of them. */
enum heddle_dimension { HEDDLE_TOKENS = -1, HEDDLE_SEQUENCES = -2, HEDDLE_LONGEST = -3 };

/* Returns the number of rows that a sequence of `tokens` > 0 tokens has in the first dimension of a
 * shape: as many, one, or for example half as many where each row is a block of two tokens. Returns
 * 0 for a dimension that does not count rows. For images of any width it returns the maximum over
 * all widths. */
HEDDLE_API int64_t heddle_dimension_rows(int64_t dimension, int64_t tokens);
/* As heddle_dimension_rows, for an image of `tokens` pixels whose width is `width` > 0 pixels and
 * an entry that reads images of any width. */
HEDDLE_API int64_t heddle_dimension_rows_of_image(int64_t dimension, int64_t tokens, int64_t width);

/* One input or output of an entry. The model owns the pointers. */
typedef struct heddle_port {
  const char *name;
  /* A heddle_element_type. */
  int32_t element;
  /* Inputs: not 0 if the input may be omitted, which means all zeros. */
  int32_t optional;
  /* [rank]: constants, or dimensions that depend on the batch, such as those of heddle_dimension.
   */
  const int64_t *shape;
  int64_t rank;
  /* Inputs of ids: the ids lie in [0, limit). Inputs of floats and outputs: 0. */
  int64_t limit;
} heddle_port;

/* Returns the number of inputs or outputs of an entry; 0 if the entry does not exist. */
HEDDLE_API int64_t heddle_model_port_count(const heddle_model *model, int64_t entry,
                                           int32_t direction);
/* Describes one input or output; HEDDLE_STATUS_OutOfRange if it does not exist. */
HEDDLE_API heddle_error *heddle_model_port(const heddle_model *model, int64_t entry,
                                           int32_t direction, int64_t index, heddle_port *port);

/* Returns a value other than 0 if the model has a tokenizer. */
HEDDLE_API int32_t heddle_model_has_tokenizer(const heddle_model *model);
/* Tokenises a text of `length` bytes of UTF-8 and writes its ids to ids[0 .. *count). If `capacity`
 * is too small, returns HEDDLE_STATUS_OutOfRange and sets *count to the number needed. */
HEDDLE_API heddle_error *heddle_model_tokenize(const heddle_model *model, const char *text,
                                               size_t length, int32_t *ids, int64_t capacity,
                                               int64_t *count);

/* --- Classifiers ----------------------------------------------------------------------------- */

/* The task that a classifier was trained for, which defines what its scores mean. */
enum heddle_problem {
  /* Regression: each score is a number. */
  HEDDLE_REGRESSION = 0,
  /* Exactly one label applies: a softmax over the scores gives their probabilities. */
  HEDDLE_SINGLE_LABEL = 1,
  /* Any number of labels applies: a sigmoid of each score gives its probability. */
  HEDDLE_MULTI_LABEL = 2
};

/* Return the number of labels of the model's classifier, 0 if it has none, and the name of a label,
 * counted from 0 in the order of the scores; NULL if out of range. */
HEDDLE_API int64_t heddle_model_label_count(const heddle_model *model);
HEDDLE_API const char *heddle_model_label(const heddle_model *model, int64_t index);
/* Returns the classifier's heddle_problem. */
HEDDLE_API int32_t heddle_model_problem(const heddle_model *model);
/* As heddle_model_tokenize, for two texts as one sequence. The longer text is truncated first;
 * type_ids[0 .. *count) holds the text (0 or 1) that each token is from. */
HEDDLE_API heddle_error *heddle_model_tokenize_pair(const heddle_model *model, const char *first,
                                                    size_t first_length, const char *second,
                                                    size_t second_length, int32_t *ids,
                                                    int32_t *type_ids, int64_t capacity,
                                                    int64_t *count);

/* --- Sessions -------------------------------------------------------------------------------- */

/* Options of heddle_session_create. Initialise with HEDDLE_SESSION_OPTIONS_INIT, so that fields
 * added later get their defaults. */
typedef struct heddle_session_options {
  size_t struct_size;
  /* The number of threads that compute, including the calling one; 1 starts none. */
  int32_t threads;
} heddle_session_options;
#define HEDDLE_SESSION_OPTIONS_INIT {sizeof(heddle_session_options), 1}

/* Creates a session. `options` may be NULL. The caller frees *session. */
HEDDLE_API heddle_error *heddle_session_create(const heddle_model *model,
                                               const heddle_session_options *options,
                                               heddle_session **session);
/* Frees a session; does nothing if it is NULL. */
HEDDLE_API void heddle_session_free(heddle_session *session);

/* The values of one input for all sequences, one after another. An input of ids, HEDDLE_I32
 * [tokens], sets `values`, and count is the number of tokens of the batch. An input of rows of
 * floats, HEDDLE_F32 [tokens, width], sets `floats`, and count is tokens times width; NaN and
 * infinity are allowed. The unused pointer is NULL. */
typedef struct heddle_input {
  const char *name;
  const int32_t *values;
  int64_t count;
  const float *floats;
} heddle_input;

/* The memory for one output; count is rows times width, according to the output's shape. */
typedef struct heddle_output {
  const char *name;
  float *values;
  int64_t count;
} heddle_output;

/* Runs an entry over `sequences` sequences with lengths[i] > 0 tokens each; an empty batch does
 * nothing. Every input that is not optional must be given. Only the named outputs are computed.
 * After a failure, outputs may be partly written. */
HEDDLE_API heddle_error *heddle_session_run(heddle_session *session, const char *entry,
                                            const int32_t *lengths, int64_t sequences,
                                            const heddle_input *inputs, int64_t input_count,
                                            const heddle_output *outputs, int64_t output_count);

/* As heddle_session_run, over images: sequence i has lengths[i] pixels in row-major order and is
 * widths[i] pixels wide. */
HEDDLE_API heddle_error *
heddle_session_run_images(heddle_session *session, const char *entry, const int32_t *lengths,
                          const int32_t *widths, int64_t sequences, const heddle_input *inputs,
                          int64_t input_count, const heddle_output *outputs, int64_t output_count);

/* Writes the number of floats of one embedding to *width. */
HEDDLE_API heddle_error *heddle_session_embedding_width(const heddle_session *session,
                                                        int64_t *width);
/* Tokenises `count` texts in UTF-8 and writes their embeddings, [count, embedding width].
 * `capacity` is the size of `embeddings` in floats. text_lengths holds sizes in bytes; if it is
 * NULL, the texts are zero-terminated. */
HEDDLE_API heddle_error *heddle_session_embed(heddle_session *session, const char *const *texts,
                                              const size_t *text_lengths, int64_t count,
                                              float *embeddings, int64_t capacity);

/* Scores texts, or pairs of texts if `seconds` is not NULL, with the model's classifier and writes
 * scores[0 .. count * labels). Lengths are bytes of UTF-8; they are NULL if the texts are
 * zero-terminated. Returns HEDDLE_STATUS_NotFound if the model has no classifier, and
 * HEDDLE_STATUS_Unsupported if the classifier scores tokens. */
HEDDLE_API heddle_error *heddle_session_classify(heddle_session *session, const char *const *texts,
                                                 const size_t *text_lengths,
                                                 const char *const *seconds,
                                                 const size_t *second_lengths, int64_t count,
                                                 float *scores, int64_t capacity);
/* Scores how well each text answers a query; higher is better. Writes scores[0 .. count). Returns
 * HEDDLE_STATUS_Unsupported unless the model computes one score for a pair of texts. */
HEDDLE_API heddle_error *heddle_session_rerank(heddle_session *session, const char *query,
                                               size_t query_length, const char *const *texts,
                                               const size_t *text_lengths, int64_t count,
                                               float *scores, int64_t capacity);

/* --- Generation ------------------------------------------------------------------------------ */

/* Options of heddle_generator_create. Initialise with HEDDLE_GENERATOR_OPTIONS_INIT. */
typedef struct heddle_generator_options {
  size_t struct_size;
  int32_t threads;
  /* The maximum number of source tokens, or of tokens of prompts that are not shared, in the
   * running batch, counted once for each hypothesis. */
  int64_t batch_tokens;
  /* The limit on the memory for keys, values and states, in bytes. */
  uint64_t cache_bytes;
  /* The maximum number of tokens of prompts and prefixes that a step computes, and that of a step
   * which also extends running answers: it bounds how long these wait for prompts. */
  int64_t prompt_tokens;
  int64_t prompt_tokens_beside;
  /* If not 0, and where the model allows it, the cache entries of a common prefix of prompts are
   * computed once and are kept in memory that is not needed otherwise. */
  int64_t share_prefixes;
} heddle_generator_options;
#define HEDDLE_GENERATOR_OPTIONS_INIT                                                              \
  {sizeof(heddle_generator_options), 1, 4096, (uint64_t)1 << 30, 512, 16, 1}

/* Values that mark numbers of heddle_generation_options as unset. */
#define HEDDLE_UNSET INT32_MIN
#define HEDDLE_UNSET_NUMBER (-3.4e38F)

/* Options of a search. Unset options take the model's defaults or, if the model was made for other
 * rules, the defaults of the rules: docs/generation.md. Initialise with
 * HEDDLE_GENERATION_OPTIONS_INIT. */
typedef struct heddle_generation_options {
  size_t struct_size;
  /* "paper", "transformers" or "ctranslate2"; NULL selects the model's rules. */
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
  /* If not 0, draws every token; unset: as the model's configuration says, unless beam or
   * alternatives is given. A top_k of 0 means all tokens. A search that does not sample ignores the
   * sampling parameters. */
  int32_t sample;
  float temperature;
  int32_t top_k;
  float top_p;
  uint64_t seed;
  /* If not 0, returns the nbest best first tokens after the prefix, each with its best
   * continuation. */
  int32_t alternatives;
  /* The task, counted from 0, of a model with several; unset selects the first. */
  int64_t command;
  /* Samples are drawn from tokens with at least this fraction of the best token's probability. */
  float min_p;
  /* If not 0, heddle_generation_scores and heddle_event_scores return the log-probabilities of
   * tokens. */
  int32_t token_scores;
  /* The number of best tokens that heddle_generation_top_scores and heddle_event_top_scores return
   * for each position, at most 100. */
  int32_t top_scores;
  /* If not 0, heddle_generator_take_event reports events of the sentence. */
  int32_t events;
  /* Zero-terminated texts in UTF-8 that end an answer of a greedy search or a sample: its text ends
   * before the first of them. They require a tokenizer, and are copied. */
  const char *const *stop;
  int64_t stop_count;
  /* A zero-terminated JSON schema in UTF-8 that constrains the answer: docs/json-schema.md. NULL
   * means no constraint. It is copied. */
  const char *json_schema;
  /* The languages of the source, which gets a language token where the tokenizer adds one, and of
   * the answer, by the names that `heddle info` lists; NULL selects the model's defaults. */
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

/* The reason why an answer ended. */
enum heddle_finish_reason {
  /* It has not ended. */
  HEDDLE_FINISH_NO = 0,
  /* An end token was generated. */
  HEDDLE_FINISH_END = 1,
  /* It reached the maximum length, or no token may follow. */
  HEDDLE_FINISH_LENGTH = 2,
  /* A stop string was generated. */
  HEDDLE_FINISH_STOP = 3,
  /* Its sentence was removed. */
  HEDDLE_FINISH_REMOVED = 4,
  /* Its sentence failed. */
  HEDDLE_FINISH_FAILED = 5
};

/* A token and its log-probability. */
typedef struct heddle_token_score {
  int32_t token;
  float score;
} heddle_token_score;

/* Creates a generator, which belongs to one thread at a time. `options` may be NULL. The caller
 * frees *generator. */
HEDDLE_API heddle_error *heddle_generator_create(const heddle_model *model,
                                                 const heddle_generator_options *options,
                                                 heddle_generator **generator);
/* Frees a generator; does nothing if it is NULL. */
HEDDLE_API void heddle_generator_free(heddle_generator *generator);

/* Queues a sentence of source_count > 0 ids, which joins the running batch as soon as there is
 * room. Its results begin with the ids of the prefix. Sets *id to its id, which is never reused.
 * `options` may be NULL. For a model without an encoder, `source` is NULL and source_count is 0,
 * and the prefix is the prompt to continue, of at least one id. */
HEDDLE_API heddle_error *heddle_generator_add(heddle_generator *generator, const int32_t *source,
                                              int64_t source_count, const int32_t *prefix,
                                              int64_t prefix_count,
                                              const heddle_generation_options *options,
                                              int64_t *id);
/* As heddle_generator_add, for a model whose entry "encode" reads rows of floats, such as the
 * pixels of an image: `rows` holds the `count` floats of these rows, one row after another. */
HEDDLE_API heddle_error *heddle_generator_add_rows(heddle_generator *generator, const float *rows,
                                                   int64_t count, const int32_t *prefix,
                                                   int64_t prefix_count,
                                                   const heddle_generation_options *options,
                                                   int64_t *id);
/* As heddle_generator_add_rows, for an image that is `width` pixels wide. */
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
/* Returns the number of prompt tokens so far that were reused from other sentences instead of being
 * computed. */
HEDDLE_API int64_t heddle_generator_shared_tokens(const heddle_generator *generator);
/* Returns the bytes of keys, values and states: those that running sentences use, those kept for
 * later prompts with the same prefix until running sentences need the memory, and the limit on
 * their sum. */
HEDDLE_API heddle_error *heddle_generator_cache_use(const heddle_generator *generator,
                                                    uint64_t *used, uint64_t *kept,
                                                    uint64_t *limit);
/* Returns a value other than 0 if no sentence waits or runs; there may still be results to take. */
HEDDLE_API int32_t heddle_generator_idle(const heddle_generator *generator);

/* Returns the next finished sentence, or NULL if there is none yet. The caller frees it. */
HEDDLE_API heddle_generation *heddle_generator_take(heddle_generator *generator);
/* Frees a finished sentence; does nothing if it is NULL. */
HEDDLE_API void heddle_generation_free(heddle_generation *generation);
/* Returns the id that heddle_generator_add gave the sentence. */
HEDDLE_API int64_t heddle_generation_id(const heddle_generation *generation);
/* Returns the error of this sentence alone, or NULL. The caller frees it. */
HEDDLE_API heddle_error *heddle_generation_error(const heddle_generation *generation);
/* Returns the number of hypotheses, which are ordered from best to worst. */
HEDDLE_API int64_t heddle_generation_count(const heddle_generation *generation);
/* Returns the tokens of one hypothesis, which the generation owns, and its score; NULL if the
 * hypothesis does not exist. `count` and `score` may be NULL. */
HEDDLE_API const int32_t *heddle_generation_tokens(const heddle_generation *generation,
                                                   int64_t index, int64_t *count, double *score);

/* Return why a hypothesis ended (a heddle_finish_reason) and the index of its sample; 0 if it does
 * not exist. */
HEDDLE_API int32_t heddle_generation_finish(const heddle_generation *generation, int64_t index);
HEDDLE_API int32_t heddle_generation_sample(const heddle_generation *generation, int64_t index);
/* Return the log-probabilities of a hypothesis's generated tokens, and the best tokens at position
 * `place` of these, counted from 0, best first. The generation owns them; NULL if there are none.
 * `count` may be NULL. */
HEDDLE_API const float *heddle_generation_scores(const heddle_generation *generation, int64_t index,
                                                 int64_t *count);
HEDDLE_API const heddle_token_score *
heddle_generation_top_scores(const heddle_generation *generation, int64_t index, int64_t place,
                             int64_t *count);
/* Returns, if stop strings were given, the text of the generated tokens before the stop string:
 * zero-terminated, of *length bytes. `length` may be NULL. The generation owns the text; NULL if
 * the hypothesis does not exist. */
HEDDLE_API const char *heddle_generation_text(const heddle_generation *generation, int64_t index,
                                              size_t *length);
/* Returns the number of prefix tokens that were reused from other sentences instead of being
 * computed. */
HEDDLE_API int64_t heddle_generation_shared(const heddle_generation *generation);

/* Returns the next event of a sentence that was added with `events`, or NULL if there is none yet:
 * tokens that a step has added, or the end of an answer. Each token is reported once: in greedy
 * searches and samples as soon as it is found; in beam searches and alternatives, which report the
 * best answer, as soon as it is certain. The caller frees the event. */
HEDDLE_API heddle_event *heddle_generator_take_event(heddle_generator *generator);
/* Frees an event; does nothing if it is NULL. */
HEDDLE_API void heddle_event_free(heddle_event *event);
/* Return the id of the sentence and the index of its sample. */
HEDDLE_API int64_t heddle_event_id(const heddle_event *event);
HEDDLE_API int32_t heddle_event_sample(const heddle_event *event);
/* Return the new tokens and, if requested, their log-probabilities and the best tokens at the
 * position of each; NULL if there are none. The event owns them. `count` may be NULL. */
HEDDLE_API const int32_t *heddle_event_tokens(const heddle_event *event, int64_t *count);
HEDDLE_API const float *heddle_event_scores(const heddle_event *event, int64_t *count);
HEDDLE_API const heddle_token_score *heddle_event_top_scores(const heddle_event *event,
                                                             int64_t place, int64_t *count);
/* Returns the continuation of the answer's text, zero-terminated UTF-8: whole characters only, and
 * no text that may be the beginning of a stop string. "" if the model has no tokenizer. */
HEDDLE_API const char *heddle_event_text(const heddle_event *event, size_t *length);
/* Returns a heddle_finish_reason: HEDDLE_FINISH_NO except in the last event of an answer. */
HEDDLE_API int32_t heddle_event_finish(const heddle_event *event);
/* Returns the error of a sentence that failed, or of a new token that has no text and was omitted
 * from the text; otherwise NULL. The caller frees it. */
HEDDLE_API heddle_error *heddle_event_error(const heddle_event *event);

/* Decodes ids and writes their text, zero-terminated UTF-8, to text[0 .. *length]. Returns
 * HEDDLE_STATUS_OutOfRange if `capacity` is not greater than *length. */
HEDDLE_API heddle_error *heddle_generator_decode(const heddle_generator *generator,
                                                 const int32_t *tokens, int64_t count, char *text,
                                                 size_t capacity, size_t *length);

/* --- Conversations --------------------------------------------------------------------------- */

/* Renders the model's chat template over a conversation and writes the prompt, zero-terminated
 * UTF-8, to text[0 .. *length]. `conversation` is a JSON object with "messages" and optionally
 * "tools", "add_generation_prompt" (true if absent) and other variables of the template. If
 * `template_name` is NULL, the template is "tool_use" if the conversation has tools and the model
 * has that template, and otherwise "default". Returns HEDDLE_STATUS_OutOfRange if `capacity` is not
 * greater than *length, HEDDLE_STATUS_Unsupported if the model has no template. */
HEDDLE_API heddle_error *heddle_model_chat_prompt(const heddle_model *model,
                                                  const char *conversation,
                                                  const char *template_name, char *text,
                                                  size_t capacity, size_t *length);
/* Writes the ids of that prompt to ids[0 .. *count): the prefix of a request. Returns
 * HEDDLE_STATUS_OutOfRange if `capacity` is less than *count. */
HEDDLE_API heddle_error *heddle_generator_encode_chat(const heddle_generator *generator,
                                                      const char *conversation,
                                                      const char *template_name, int32_t *ids,
                                                      int64_t capacity, int64_t *count);

#ifdef __cplusplus
}
#endif

#endif /* HEDDLE_HEDDLE_H */
