/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Embeds sentences with a compiled model, and prints how similar each is to the first.
 *
 *   embed_c minilm.so "A cat sat." "A dog sat." ...
 */
#include <heddle/heddle.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Prints an error and answers the exit code. */
static int failed(heddle_error *error) {
  fprintf(stderr, "embed_c: %s\n", heddle_error_message(error));
  heddle_error_free(error);
  return 1;
}

static double cosine(const float *a, const float *b, int64_t width) {
  double ab = 0, aa = 0, bb = 0;
  for (int64_t i = 0; i < width; ++i) {
    ab += (double)a[i] * b[i];
    aa += (double)a[i] * a[i];
    bb += (double)b[i] * b[i];
  }
  return ab / sqrt(aa * bb);
}

static int embed(heddle_session *session, const char *const *texts, int64_t count) {
  int64_t width = 0;
  heddle_error *error = heddle_session_embedding_width(session, &width);
  if (error != NULL) {
    return failed(error);
  }
  float *embeddings = malloc((size_t)(count * width) * sizeof(float));
  if (embeddings == NULL) {
    fprintf(stderr, "embed_c: out of memory\n");
    return 1;
  }
  error = heddle_session_embed(session, texts, NULL, count, embeddings, count * width);
  for (int64_t i = 0; error == NULL && i < count; ++i) {
    printf("similarity %.4f  %s\n", cosine(embeddings, embeddings + i * width, width), texts[i]);
  }
  free(embeddings);
  return error == NULL ? 0 : failed(error);
}

int main(int argc, char **argv) {
  if (argc < 3) {
    fprintf(stderr, "usage: embed_c MODEL.so SENTENCE...\n");
    return 2;
  }
  heddle_model *model = NULL;
  heddle_error *error = heddle_model_load(argv[1], NULL, &model);
  if (error != NULL) {
    return failed(error);
  }
  heddle_session_options options = HEDDLE_SESSION_OPTIONS_INIT;
  options.threads = 2;
  heddle_session *session = NULL;
  error = heddle_session_create(model, &options, &session);
  /* The session keeps what it needs of the model. */
  heddle_model_free(model);
  if (error != NULL) {
    return failed(error);
  }
  const int result = embed(session, (const char *const *)argv + 2, argc - 2);
  heddle_session_free(session);
  return result;
}
