/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels of the test model that generates, by hand: rows of 32 floats, paged caches of 32, two
 * heads, and a projection to a vocabulary in pieces of 48. Compiled once for each target.
 */
#include "heddle/Abi.h"

#define PASTE(name, level) name##_##level
#define NAMED(name, level) PASTE(name, level)
#define TARGET(name) NAMED(name, LEVEL)
#define WIDTH 32
#define HEADS 2
#define VOCABULARY 1600
#define PIECE 48
#define ROW_RANGE                                                                                  \
  const HeddleKernelContext *context, int64_t row_begin, int64_t row_end, int64_t column_begin,    \
      int64_t column_end

static float *result_at(const HeddleKernelContext *context, int64_t row, int64_t column) {
  const HeddleResult *result = context->operands[0];
  return (float *)result->memory + (row - result->first_row) * result->row_stride + column -
         result->first_column;
}

/* output[r] = words[ids[r]] * (1 + position / 100) */
void TARGET(embed)(ROW_RANGE) {
  const int32_t *ids = context->operands[1];
  const float *words = context->operands[2];
  for (int64_t r = row_begin; r < row_end; ++r) {
    const float scale = 1.0f + (float)context->spaces[0]->positions[r] / 100.0f;
    for (int64_t c = 0; c < WIDTH; ++c) {
      *result_at(context, r, c) = words[ids[r] * WIDTH + c] * scale;
    }
  }
}

static float *block_of(const HeddleCache *cache, int64_t number) {
  return (float *)((char *)cache->memory + cache->block_stride * cache->blocks[number]);
}

/* The block that position `p` of row r's segment is in. */
static float *block(const HeddleCache *cache, int64_t r, int64_t p) {
  const int64_t segment = cache->segment_of[r];
  return block_of(cache, segment * cache->blocks_pitch + p / HEDDLE_BLOCK);
}

void TARGET(append_keys)(ROW_RANGE) {
  const HeddleCache *cache = context->operands[0];
  const float *input = context->operands[1];
  for (int64_t r = row_begin; r < row_end; ++r) {
    const int64_t p = context->spaces[0]->positions[r];
    for (int64_t c = 0; c < WIDTH; ++c) {
      block(cache, r, p)[c * HEDDLE_BLOCK + p % HEDDLE_BLOCK] = input[r * WIDTH + c];
    }
  }
}

void TARGET(append_rows)(ROW_RANGE) {
  const HeddleCache *cache = context->operands[0];
  const float *input = context->operands[1];
  for (int64_t r = row_begin; r < row_end; ++r) {
    const int64_t p = context->spaces[0]->positions[r];
    for (int64_t c = 0; c < WIDTH; ++c) {
      block(cache, r, p)[p % HEDDLE_BLOCK * WIDTH + c] = input[r * WIDTH + c];
    }
  }
}

/* The sum that earlier runs left of column c of sequence s */
static float left_of(const HeddleKernelContext *context, const HeddleCache *state, int64_t s,
                     int64_t c) {
  const float *row = block_of(state, s * state->blocks_pitch);
  return context->spaces[0]->positions[context->spaces[0]->offsets[s]] == 0 ? 0.0f : row[c];
}

/* output[r] = (input[0] + ... + input[r]) / (position + 1), over all rows of the sequence so far */
void TARGET(prefix_mean)(ROW_RANGE) {
  const float *input = context->operands[1];
  for (int64_t s = row_begin; s < row_end; ++s) {
    for (int64_t c = 0; c < WIDTH; ++c) {
      float sum = left_of(context, context->operands[2], s, c);
      for (int64_t r = context->spaces[0]->offsets[s]; r < context->spaces[0]->offsets[s + 1];
           ++r) {
        sum += input[r * WIDTH + c];
        *result_at(context, r, c) = sum / (float)(context->spaces[0]->positions[r] + 1);
      }
    }
  }
}

void TARGET(accumulate)(ROW_RANGE) {
  const HeddleCache *state = context->operands[0];
  const float *input = context->operands[1];
  for (int64_t s = row_begin; s < row_end; ++s) {
    for (int64_t c = 0; c < WIDTH; ++c) {
      float sum = left_of(context, state, s, c);
      for (int64_t r = context->spaces[0]->offsets[s]; r < context->spaces[0]->offsets[s + 1];
           ++r) {
        sum += input[r * WIDTH + c];
      }
      block_of(state, s * state->blocks_pitch)[c] = sum;
    }
  }
}

/* Both in one pass: two results, the means and the state. */
void TARGET(running_mean)(ROW_RANGE) {
  const HeddleCache *state = context->operands[1];
  const float *input = context->operands[2];
  for (int64_t s = row_begin; s < row_end; ++s) {
    for (int64_t c = 0; c < WIDTH; ++c) {
      float sum = left_of(context, state, s, c);
      for (int64_t r = context->spaces[0]->offsets[s]; r < context->spaces[0]->offsets[s + 1];
           ++r) {
        sum += input[r * WIDTH + c];
        *result_at(context, r, c) = sum / (float)(context->spaces[0]->positions[r] + 1);
      }
      block_of(state, s * state->blocks_pitch)[c] = sum;
    }
  }
}

/* The weight of position p for a row: 1 / (1 + (query . key)^2), over the columns of a head. */
static float weight(const float *query, const HeddleCache *keys, int64_t r, int64_t p,
                    int64_t head) {
  float sum = 0;
  for (int64_t c = head * WIDTH / HEADS; c < (head + 1) * WIDTH / HEADS; ++c) {
    sum += query[r * WIDTH + c] * block(keys, r, p)[c * HEDDLE_BLOCK + p % HEDDLE_BLOCK];
  }
  return 1.0f / (1.0f + sum * sum);
}

static void attend(ROW_RANGE, int causal) {
  const float *query = context->operands[1];
  const HeddleCache *keys = context->operands[2];
  const HeddleCache *values = context->operands[3];
  for (int64_t r = row_begin; r < row_end; ++r) {
    const int64_t seen =
        causal ? context->spaces[0]->positions[r] + 1 : keys->lengths[keys->segment_of[r]];
    for (int64_t head = column_begin; head < column_end; ++head) {
      float total = 0;
      for (int64_t p = 0; p < seen; ++p) {
        total += weight(query, keys, r, p, head);
      }
      for (int64_t c = head * WIDTH / HEADS; c < (head + 1) * WIDTH / HEADS; ++c) {
        float sum = 0;
        for (int64_t p = 0; p < seen; ++p) {
          sum +=
              weight(query, keys, r, p, head) * block(values, r, p)[p % HEDDLE_BLOCK * WIDTH + c];
        }
        *result_at(context, r, c) = sum / total;
      }
    }
  }
}

void TARGET(attend_history)(ROW_RANGE) {
  attend(context, row_begin, row_end, column_begin, column_end, 1);
}

void TARGET(attend_memory)(ROW_RANGE) {
  attend(context, row_begin, row_end, column_begin, column_end, 0);
}

/* output[r][head][p]: the weights themselves, not normalised; nothing beyond the keys there are */
void TARGET(weights)(ROW_RANGE) {
  const float *query = context->operands[1];
  const HeddleCache *keys = context->operands[2];
  for (int64_t r = row_begin; r < row_end; ++r) {
    for (int64_t head = column_begin; head < column_end; ++head) {
      for (int64_t p = 0; p < keys->lengths[keys->segment_of[r]]; ++p) {
        *result_at(context, r, head * context->spaces[0]->longest + p) =
            weight(query, keys, r, p, head);
      }
    }
  }
}

/* output[r][c] = input[r] W, W [32, VOCABULARY] */
static void project_range(const HeddleKernelContext *context, int64_t row_begin, int64_t row_end,
                          int64_t begin, int64_t end) {
  const float *input = context->operands[1];
  const float *matrix = context->operands[2];
  for (int64_t r = row_begin; r < row_end; ++r) {
    for (int64_t c = begin; c < end; ++c) {
      float sum = 0;
      for (int64_t k = 0; k < WIDTH; ++k) {
        sum += input[r * WIDTH + k] * matrix[k * VOCABULARY + c];
      }
      *result_at(context, r, c) = sum;
    }
  }
}

/* A grid column is PIECE elements */
void TARGET(project)(ROW_RANGE) {
  const int64_t end = column_end * PIECE;
  project_range(context, row_begin, row_end, column_begin * PIECE,
                end < VOCABULARY ? end : VOCABULARY);
}

/* The same in two groups: the last grid column of each has what PIECE leaves of it */
void TARGET(project_groups)(ROW_RANGE) {
  const int64_t group = VOCABULARY / 2;
  const int64_t columns = (group + PIECE - 1) / PIECE;
  for (int64_t column = column_begin; column < column_end; ++column) {
    const int64_t begin = column / columns * group + column % columns * PIECE;
    const int64_t group_end = (column / columns + 1) * group;
    project_range(context, row_begin, row_end, begin,
                  begin + PIECE < group_end ? begin + PIECE : group_end);
  }
}

#define CHUNK 768
#define CHUNKS ((VOCABULARY + CHUNK - 1) / CHUNK)

/* e^x for x <= 0 */
static double exponential(double x) {
  if (x < -700) {
    return 0;
  }
  const double part = x / 1024;
  double power = 1 + part * (1 + part / 2 * (1 + part / 3 * (1 + part / 4)));
  for (int i = 0; i < 10; ++i) {
    power *= power;
  }
  return power;
}

/* The largest logit of a chunk, the sum of exponentials relative to it, and its token */
static void find_peak(const float *logits, int64_t chunk, float *words) {
  const int64_t begin = chunk * CHUNK;
  const int64_t end = begin + CHUNK < VOCABULARY ? begin + CHUNK : VOCABULARY;
  int64_t best = begin;
  for (int64_t c = begin; c < end; ++c) {
    best = logits[c] > logits[best] ? c : best;
  }
  double sum = 0;
  for (int64_t c = begin; c < end; ++c) {
    sum += exponential((double)logits[c] - (double)logits[best]);
  }
  words[0] = logits[best];
  words[1] = (float)sum;
  *(int32_t *)(words + 2) = (int32_t)best;
}

/* Grid columns are chunks */
void TARGET(peaks)(ROW_RANGE) {
  for (int64_t r = row_begin; r < row_end; ++r) {
    const float *logits = (const float *)context->operands[1] + r * VOCABULARY;
    for (int64_t chunk = column_begin; chunk < column_end; ++chunk) {
      find_peak(logits, chunk, result_at(context, r, 3 * chunk));
    }
  }
}

/* mostSelected in heddle/Selection.h */
#define MOST_SELECTED 64

/* Grid columns are pairs: those of chunks, then the best tokens, up to MOST_SELECTED */
void TARGET(select)(ROW_RANGE) {
  for (int64_t r = row_begin; r < row_end; ++r) {
    const float *logits = (const float *)context->operands[1] + r * VOCABULARY;
    const float *peaks = (const float *)context->operands[2] + r * 3 * CHUNKS;
    for (int64_t chunk = column_begin; chunk < column_end && chunk < CHUNKS; ++chunk) {
      float *pair = result_at(context, r, 2 * chunk);
      pair[0] = peaks[3 * chunk];
      pair[1] = peaks[3 * chunk + 1];
    }
    int64_t best[MOST_SELECTED];
    const int64_t wanted = column_end - CHUNKS;
    int64_t found = 0;
    for (int64_t c = 0; c < VOCABULARY; ++c) {
      int64_t place = found;
      for (; place > 0 && logits[c] > logits[best[place - 1]]; --place) {
        if (place < wanted) {
          best[place] = best[place - 1];
        }
      }
      if (place < wanted) {
        best[place] = c;
        found += found < wanted;
      }
    }
    for (int64_t i = 0; i < found; ++i) {
      const int64_t pair = CHUNKS + i;
      if (pair >= column_begin) {
        *result_at(context, r, 2 * pair) = logits[best[i]];
        *(int32_t *)result_at(context, r, 2 * pair + 1) = (int32_t)best[i];
      }
    }
  }
}
