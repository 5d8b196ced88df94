// SPDX-License-Identifier: Apache-2.0
// RUN: heddle-opt %s | heddle-opt | FileCheck %s
// RUN: heddle-opt %s --mlir-print-op-generic | heddle-opt | FileCheck %s
// RUN: heddle-opt %s --emit-bytecode | heddle-opt | FileCheck %s

// Buffers name their rows, and the most of them that a sequence has.
// CHECK-LABEL: dataflow.kernel @weights
// CHECK-SAME: (!dataflow.buffer<[tokens, 8], f32>, !dataflow.buffer<[blocks(tokens, 2), 8], f32>) -> !dataflow.buffer<[tokens, 2, longest(blocks(tokens, 2))], f32>
dataflow.kernel @weights : (!dataflow.buffer<[tokens, 8], f32>, !dataflow.buffer<[blocks(tokens, 2), 8], f32>) -> !dataflow.buffer<[tokens, 2, longest(blocks(tokens, 2))], f32>
    computes #dataflow.attention_weights<heads = 2, keySize = 4, scale = 5.000000e-01 : f32, visibility = <all>> {
^bb0(%x: f32):
  dataflow.yield %x
}

// Causal attention among blocks.
// CHECK-LABEL: dataflow.kernel @among_blocks
dataflow.kernel @among_blocks : (!dataflow.buffer<[blocks(tokens, 2), 8], f32>, !dataflow.buffer<[blocks(tokens, 2), 8], f32>, !dataflow.buffer<[blocks(tokens, 2), 8], f32>) -> !dataflow.buffer<[blocks(tokens, 2), 8], f32>
    computes #dataflow.attention<heads = 2, keySize = 4, valueSize = 4, scale = 5.000000e-01 : f32, visibility = <causal>> {
^bb0(%x: f32):
  dataflow.yield %x
}

// CHECK-LABEL: dataflow.kernel @pool_blocks
dataflow.kernel @pool_blocks : (!dataflow.buffer<[blocks(tokens, 2), 8], f32>) -> !dataflow.buffer<[blocks(tokens, 6), 8], f32>
    computes #dataflow.pool<max, width = 8> {
^bb0(%x: f32):
  dataflow.yield %x
}

// A convolution reads the rows beside one in the order of any space.
// CHECK-LABEL: dataflow.kernel @convolve_blocks
dataflow.kernel @convolve_blocks : (!dataflow.buffer<[blocks(tokens, 2), 8], f32>, !dataflow.buffer<[3, 8], f32>) -> !dataflow.buffer<[blocks(tokens, 2), 8], f32>
    computes #dataflow.convolve<width = 8, kernel = 3, dilation = 1, causal = false> {
^bb0(%x: f32):
  dataflow.yield %x
}

// `longest` is that of tokens.
// CHECK-LABEL: dataflow.kernel @same
// CHECK-SAME: -> !dataflow.buffer<[tokens, longest], f32>
dataflow.kernel @same : () -> !dataflow.buffer<[tokens, longest(tokens)], f32>
    computes #dataflow.nest<"->tk", none> {
  %0 = arith.constant 0.0 : f32
  dataflow.yield %0
}

// Sizes are sums over spaces, products last.
// CHECK-LABEL: dataflow.graph @sizes
// CHECK-SAME: arena = #dataflow.size<tokens = 64, sequences = 128, blocks(tokens, 2) = 192, tokens * longest = 256, tokens * longest(blocks(tokens, 2)) = 320>
dataflow.graph @sizes() -> () attributes {arena = #dataflow.size<tokens = 64, sequences = 128, blocks(tokens, 2) = 192, tokens * longest = 256, tokens * longest(blocks(tokens, 2)) = 320>} {
  dataflow.output
}
