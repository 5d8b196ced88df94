/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The C interface: load a compiled model, make a session per thread, run its entries.
 *
 * Shapes. A batch is ragged: the rows of its sequences lie end to end, without padding. `tokens` is
 * the number of rows of the whole batch, `sequences` the number of its sentences. All tensors are
 * dense and row major.
 *
 * Errors. A function that can fail returns NULL on success, else an error that the caller frees
 * with heddle_error_free. Results are written only on success unless said otherwise. Nothing
 * throws, exits or aborts. A required pointer that is NULL is HEDDLE_STATUS_InvalidArgument.
 *
 * Threads. A model is immutable and may be used by any number of threads at once. A session belongs
 * to one thread at a time. An error belongs to whoever received it.
 *
 * Ownership. Strings returned belong to the object asked and live as long as it does. A model may
 * be freed before its sessions: they keep what they need.
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

/* --- Errors ---------------------------------------------------------------------------------- */

/* One of heddle_status_code; HEDDLE_STATUS_Ok for NULL. */
HEDDLE_API int32_t heddle_error_code(const heddle_error *error);
/* What was seen and what was expected, zero-terminated; "" for NULL. */
HEDDLE_API const char *heddle_error_message(const heddle_error *error);
/* NULL is fine. */
HEDDLE_API void heddle_error_free(heddle_error *error);

/* --- Models ---------------------------------------------------------------------------------- */

/* Start from HEDDLE_MODEL_OPTIONS_INIT, so that fields added later have their defaults. */
typedef struct heddle_model_options {
  size_t struct_size;
  /* The target to run, for example "x86-64-v3"; NULL: the best that this CPU can run. */
  const char *isa;
  /* Not 0: compare every parameter with its checksum; reads the whole file. */
  int32_t verify_weights;
} heddle_model_options;
#define HEDDLE_MODEL_OPTIONS_INIT {sizeof(heddle_model_options), NULL, 0}

/* Maps and checks a compiled model. `options` may be NULL. Nothing of the file has run when it is
 * refused. The caller frees *model. */
HEDDLE_API heddle_error *heddle_model_load(const char *path, const heddle_model_options *options,
                                           heddle_model **model);
/* NULL is fine. */
HEDDLE_API void heddle_model_free(heddle_model *model);

/* The target that runs, and the arithmetic the model was compiled for. */
HEDDLE_API const char *heddle_model_isa(const heddle_model *model);
HEDDLE_API const char *heddle_model_precision(const heddle_model *model);

/* The entries, counted from 0; NULL beyond the last. */
HEDDLE_API int64_t heddle_model_entry_count(const heddle_model *model);
HEDDLE_API const char *heddle_model_entry_name(const heddle_model *model, int64_t entry);
/* The longest sequence of an entry, in tokens; 0: any. */
HEDDLE_API int64_t heddle_model_entry_max_length(const heddle_model *model, int64_t entry);

enum heddle_element_type { HEDDLE_F32 = 0, HEDDLE_I32 = 1 };
enum heddle_port_direction { HEDDLE_INPUT = 0, HEDDLE_OUTPUT = 1 };
/* Dimensions of a shape that are known only when work arrives. */
enum heddle_dimension { HEDDLE_TOKENS = -1, HEDDLE_SEQUENCES = -2, HEDDLE_LONGEST = -3 };

/* One input or output of an entry; the pointers belong to the model. */
typedef struct heddle_port {
  const char *name;
  /* One of heddle_element_type. */
  int32_t element;
  /* Inputs: not 0 when it may be left out, and is then all zeros. */
  int32_t optional;
  /* [rank]: constants, or one of heddle_dimension. */
  const int64_t *shape;
  int64_t rank;
  /* Inputs: ids lie in [0, limit). Outputs: 0. */
  int64_t limit;
} heddle_port;

/* The number of inputs or outputs of an entry; 0 for an entry that does not exist. */
HEDDLE_API int64_t heddle_model_port_count(const heddle_model *model, int64_t entry,
                                           int32_t direction);
/* Describes one of them; HEDDLE_STATUS_OutOfRange when there is none. */
HEDDLE_API heddle_error *heddle_model_port(const heddle_model *model, int64_t entry,
                                           int32_t direction, int64_t index, heddle_port *port);

/* Not 0 when the model carries a tokenizer. */
HEDDLE_API int32_t heddle_model_has_tokenizer(const heddle_model *model);
/* Writes the ids of a text of `length` bytes of UTF-8 to ids[0 .. *count). When `capacity` is too
 * small the answer is HEDDLE_STATUS_OutOfRange, and *count is the number needed. */
HEDDLE_API heddle_error *heddle_model_tokenize(const heddle_model *model, const char *text,
                                               size_t length, int32_t *ids, int64_t capacity,
                                               int64_t *count);

/* --- Sessions -------------------------------------------------------------------------------- */

/* Start from HEDDLE_SESSION_OPTIONS_INIT, so that fields added later have their defaults. */
typedef struct heddle_session_options {
  size_t struct_size;
  /* Threads that compute, the calling one included; 1 starts none. */
  int32_t threads;
} heddle_session_options;
#define HEDDLE_SESSION_OPTIONS_INIT {sizeof(heddle_session_options), 1}

/* `options` may be NULL. The caller frees *session. */
HEDDLE_API heddle_error *heddle_session_create(const heddle_model *model,
                                               const heddle_session_options *options,
                                               heddle_session **session);
/* NULL is fine. */
HEDDLE_API void heddle_session_free(heddle_session *session);

/* Values of one input, those of all sequences end to end: count is the tokens of the batch. */
typedef struct heddle_input {
  const char *name;
  const int32_t *values;
  int64_t count;
} heddle_input;

/* Where one output goes; count is rows times width, as its shape says. */
typedef struct heddle_output {
  const char *name;
  float *values;
  int64_t count;
} heddle_output;

/* Runs an entry over `sequences` sequences of lengths[i] > 0 tokens; 0 sequences are fine and do
 * nothing. Every input that is not optional must be given; only the outputs named are computed. On
 * failure outputs may have been written in part. */
HEDDLE_API heddle_error *heddle_session_run(heddle_session *session, const char *entry,
                                            const int32_t *lengths, int64_t sequences,
                                            const heddle_input *inputs, int64_t input_count,
                                            const heddle_output *outputs, int64_t output_count);

/* Floats of one embedding. */
HEDDLE_API heddle_error *heddle_session_embedding_width(const heddle_session *session,
                                                        int64_t *width);
/* Tokenises `count` texts in UTF-8 and writes their embeddings, [count, embedding width];
 * `capacity` is the floats there is room for. text_lengths holds bytes; NULL: the texts are
 * zero-terminated. */
HEDDLE_API heddle_error *heddle_session_embed(heddle_session *session, const char *const *texts,
                                              const size_t *text_lengths, int64_t count,
                                              float *embeddings, int64_t capacity);

#ifdef __cplusplus
}
#endif

#endif /* HEDDLE_HEDDLE_H */
