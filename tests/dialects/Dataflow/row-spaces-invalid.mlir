// SPDX-License-Identifier: Apache-2.0
// RUN: heddle-opt %s -split-input-file -verify-diagnostics

// expected-error@+1 {{expects a number, 'tokens', 'sequences', 'blocks(tokens, size)', 'steps', 'steps_reversed', 'ranks', 'choices(tokens, count)', 'grid(tokens, across, down, right)' or 'longest', got 'pixels'}}
func.func private @unknown(!dataflow.buffer<[pixels, 8], f32>)

// -----

// expected-error@+1 {{expects a size of 2 to 1048576, got 1}}
func.func private @blocks_of_one(!dataflow.buffer<[blocks(tokens, 1), 8], f32>)

// -----

// expected-error@+1 {{expected 'tokens'}}
func.func private @blocks_of_sequences(!dataflow.buffer<[blocks(sequences, 2), 8], f32>)

// -----

// expected-error@+1 {{expects a space with several rows a sequence, got 'sequences'}}
func.func private @longest_of_sequences(!dataflow.buffer<[tokens, longest(sequences)], f32>)

// -----

// expected-error@+1 {{expects the rows of a space, or those times the longest of one, got 'longest'}}
dataflow.graph @longest_alone() -> () attributes {arena = #dataflow.size<longest = 64>} {
  dataflow.output
}

// -----

// expected-error@+1 {{expects the rows of a space, or those times the longest of one, got 'tokens'}}
dataflow.graph @product_of_rows() -> () attributes {arena = #dataflow.size<tokens * tokens = 64>} {
  dataflow.output
}

// -----

// expected-error@+1 {{expects each size once, tokens first and products last, got 'tokens' after 'sequences'}}
dataflow.graph @order() -> () attributes {arena = #dataflow.size<sequences = 64, tokens = 64>} {
  dataflow.output
}

// -----

// expected-error@+1 {{'dataflow.kernel' op expects rows that are made of several rows of the input, got blocks(tokens, 3) from blocks(tokens, 2)}}
dataflow.kernel @kernel_c5_pool : (!dataflow.buffer<[blocks(tokens, 2), 8], f32>) -> !dataflow.buffer<[blocks(tokens, 3), 8], f32>
    computes #dataflow.pool<max, width = 8> {
^bb0(%x: f32):
  dataflow.yield %x
}

// -----

// expected-error@+1 {{'dataflow.kernel' op expects keys of the same space as the rows where a mask or a bias compares their positions, got blocks(tokens, 2) for tokens}}
dataflow.kernel @kernel_c5_causal : (!dataflow.buffer<[tokens, 8], f32>, !dataflow.buffer<[blocks(tokens, 2), 8], f32>, !dataflow.buffer<[blocks(tokens, 2), 8], f32>) -> !dataflow.buffer<[tokens, 8], f32>
    computes #dataflow.attention<heads = 2, keySize = 4, valueSize = 4, scale = 5.000000e-01 : f32, visibility = <causal>> {
^bb0(%x: f32):
  dataflow.yield %x
}

// -----

// expected-error@+1 {{'dataflow.kernel' op expects keys and values of one row space, got '!dataflow.buffer<[blocks(tokens, 2), 8], f32>' and '!dataflow.buffer<[tokens, 8], f32>'}}
dataflow.kernel @kernel_c5_values : (!dataflow.buffer<[tokens, 8], f32>, !dataflow.buffer<[blocks(tokens, 2), 8], f32>, !dataflow.buffer<[tokens, 8], f32>) -> !dataflow.buffer<[tokens, 8], f32>
    computes #dataflow.attention<heads = 2, keySize = 4, valueSize = 4, scale = 5.000000e-01 : f32, visibility = <all>> {
^bb0(%x: f32):
  dataflow.yield %x
}

// -----

// expected-error@+1 {{'dataflow.kernel' op expects rows of tokens with keys of a cache, or of steps that see all keys, got rows of blocks(tokens, 2)}}
dataflow.kernel @kernel_c10_blocks : (!dataflow.buffer<[blocks(tokens, 2), 8], f32>, !dataflow.cache<[8], f32, keys>, !dataflow.cache<[8], f32, rows>) -> !dataflow.buffer<[blocks(tokens, 2), 8], f32>
    computes #dataflow.attention<heads = 2, keySize = 4, valueSize = 4, scale = 5.000000e-01 : f32, visibility = <all>> {
^bb0(%x: f32):
  dataflow.yield %x
}

// -----

// expected-error@+1 {{'dataflow.kernel' op expects axis 't' to run over one row space, got tokens and blocks(tokens, 2)}}
dataflow.kernel @kernel_c5_axis : (!dataflow.buffer<[tokens, 8], f32>, !dataflow.buffer<[blocks(tokens, 2), 8], f32>) -> !dataflow.buffer<[tokens, 8], f32>
    computes #dataflow.nest<"td,td->td", none> {
^bb0(%x: f32, %y: f32):
  dataflow.yield %x
}

// -----

// expected-error@+1 {{'dataflow.kernel' op expects rows and keys of one space where their positions are compared, got tokens and blocks(tokens, 2)}}
dataflow.kernel @kernel_c5_hidden : (!dataflow.buffer<[tokens, 2, longest(blocks(tokens, 2))], f32>) -> !dataflow.buffer<[tokens, 2, longest(blocks(tokens, 2))], f32>
    computes #dataflow.nest<"thk->thk", none, hidden = -1.000000e+09 : f32> {
^bb0(%x: f32):
  dataflow.yield %x
}

// -----

// expected-error@+1 {{'dataflow.kernel' op expects a causal convolution of rows of tokens to resume, got one of rows of blocks(tokens, 2)}}
dataflow.kernel @kernel_c5_convolve : (!dataflow.buffer<[blocks(tokens, 2), 8], f32>, !dataflow.buffer<[3, 8], f32>, !dataflow.state<[16], f32>) -> !dataflow.buffer<[blocks(tokens, 2), 8], f32>
    computes #dataflow.convolve<width = 8, kernel = 3, dilation = 1, causal = true, resumes = true> {
^bb0(%x: f32):
  dataflow.yield %x
}

// -----

// expected-error@+1 {{'dataflow.kernel' op expects input #0 of shape [blocks(tokens, 2), 8] and element type 'f32', got '!dataflow.buffer<[tokens, 8], f32>'}}
dataflow.kernel @kernel_c5_convolve_rows : (!dataflow.buffer<[tokens, 8], f32>, !dataflow.buffer<[3, 8], f32>) -> !dataflow.buffer<[blocks(tokens, 2), 8], f32>
    computes #dataflow.convolve<width = 8, kernel = 3, dilation = 1, causal = false> {
^bb0(%x: f32):
  dataflow.yield %x
}

// -----

// expected-error@+1 {{'dataflow.kernel' op expects result #0 of shape [tokens, 8] and element type 'f32', got '!dataflow.buffer<[blocks(tokens, 2), 8], f32>'}}
dataflow.kernel @kernel_c5_running_mean : (!dataflow.buffer<[blocks(tokens, 2), 8], f32>, !dataflow.state<[8], f32>) -> (!dataflow.buffer<[blocks(tokens, 2), 8], f32>, !dataflow.state<[8], f32>)
    computes #dataflow.running_mean {
^bb0(%x: f32):
  dataflow.yield %x
}

// -----

!cache = !dataflow.cache<[8], f32, keys>
// expected-error@+1 {{'dataflow.kernel' op expects tokens as rows and keys where a cache has the keys, got blocks(tokens, 2) and blocks(tokens, 2)}}
dataflow.kernel @kernel_c5_cached_keys : (!cache) -> !dataflow.buffer<[blocks(tokens, 2), longest(blocks(tokens, 2))], f32>
    computes #dataflow.nest<"->tk", none, hidden = -1.0e+04 : f32, keys_from> {
  %zero = arith.constant 0.0 : f32
  dataflow.yield %zero
}
