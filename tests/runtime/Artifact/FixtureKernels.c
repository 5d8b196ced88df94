/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels of the model that the runtime's tests run, by hand: the compiler is not needed to test
 * the runtime. Compiled once for each target; LEVEL is in the names of the functions.
 * Rows are 32 floats, two grid columns of 16.
 */
#include "heddle/Abi.h"

#define PASTE(name, level) name##_##level
#define NAMED(name, level) PASTE(name, level)
#define TARGET(name) NAMED(name, LEVEL)
#define WIDTH 32
#define COLUMN 16
#define ROW_RANGE                                                                                  \
  const HeddleKernelContext *context, int64_t row_begin, int64_t row_end, int64_t column_begin,    \
      int64_t column_end

static float *result_at(const HeddleKernelContext *context, int64_t row, int64_t column) {
  const HeddleResult *result = context->operands[0];
  return (float *)result->memory + (row - result->first_row) * result->row_stride + column -
         result->first_column;
}

/* output[r] = words[ids[r]] + types[type_ids[r]] */
void TARGET(gather)(ROW_RANGE) {
  const int32_t *ids = context->operands[1];
  const int32_t *type_ids = context->operands[2];
  const float *words = context->operands[3];
  const float *types = context->operands[4];
  for (int64_t r = row_begin; r < row_end; ++r) {
    for (int64_t c = column_begin * COLUMN; c < column_end * COLUMN; ++c) {
      *result_at(context, r, c) = words[ids[r] * WIDTH + c] + types[type_ids[r] * WIDTH + c];
    }
  }
}

/* output[r] = input[r] W + bias, W [32, 32] */
void TARGET(linear)(ROW_RANGE) {
  const float *input = context->operands[1];
  const float *weight = context->operands[2];
  const float *bias = context->operands[3];
  for (int64_t r = row_begin; r < row_end; ++r) {
    for (int64_t c = column_begin * COLUMN; c < column_end * COLUMN; ++c) {
      float sum = bias[c];
      for (int64_t k = 0; k < WIDTH; ++k) {
        sum += input[r * WIDTH + k] * weight[k * WIDTH + c];
      }
      *result_at(context, r, c) = sum;
    }
  }
}

/* output[r] -= mean(output[r]): the finish of linear, which needs whole rows */
void TARGET(center)(ROW_RANGE) {
  for (int64_t r = row_begin; r < row_end; ++r) {
    float sum = 0;
    for (int64_t c = 0; c < WIDTH; ++c) {
      sum += *result_at(context, r, c);
    }
    for (int64_t c = 0; c < WIDTH; ++c) {
      *result_at(context, r, c) -= sum / WIDTH;
    }
  }
}

/* output[r] = sum over the rows k of r's sequence of input[k] / (1 + |k - r|): looks at whole
 * sequences, and uses scratch memory for the factors */
void TARGET(mix)(ROW_RANGE) {
  const float *input = context->operands[1];
  float *factors = context->scratch;
  const HeddleRows *tokens = context->spaces[0];
  for (int64_t r = row_begin; r < row_end; ++r) {
    const int64_t begin = tokens->offsets[tokens->sequence_of[r]];
    const int64_t length = tokens->offsets[tokens->sequence_of[r] + 1] - begin;
    for (int64_t k = 0; k < length; ++k) {
      const int64_t distance = k > r - begin ? k - (r - begin) : (r - begin) - k;
      factors[k] = 1.0f / (float)(1 + distance);
    }
    for (int64_t c = column_begin * COLUMN; c < column_end * COLUMN; ++c) {
      float sum = 0;
      for (int64_t k = 0; k < length; ++k) {
        sum += input[(begin + k) * WIDTH + c] * factors[k];
      }
      *result_at(context, r, c) = sum;
    }
  }
}

/* output[s] = mean of the rows of sequence s */
void TARGET(mean)(ROW_RANGE) {
  const float *input = context->operands[1];
  const HeddleRows *sequences = context->spaces[0];
  const HeddleRows *tokens = context->spaces[1];
  for (int64_t s = row_begin; s < row_end; ++s) {
    const int64_t begin = tokens->offsets[sequences->sequence_of[s]];
    const int64_t end = tokens->offsets[sequences->sequence_of[s] + 1];
    for (int64_t c = column_begin * COLUMN; c < column_end * COLUMN; ++c) {
      float sum = 0;
      for (int64_t r = begin; r < end; ++r) {
        sum += input[r * WIDTH + c];
      }
      *result_at(context, s, c) = sum / (float)(end - begin);
    }
  }
}
