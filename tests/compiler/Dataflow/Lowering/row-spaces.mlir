// SPDX-License-Identifier: Apache-2.0
// RUN: heddle-opt %s -convert-transformer-to-dataflow | FileCheck %s

transformer.parameter @words : tensor<30x8xf32> from "words"
transformer.parameter @places : tensor<16x8xf32> from "places"
transformer.parameter @w : tensor<8x8xf32> from "w"
transformer.parameter @around : tensor<8x3xf32> from "around"

// Rows of blocks, keys of blocks for rows of tokens, positions of blocks, and outputs of all.
// CHECK-DAG: dataflow.kernel @[[CLS:pool.*]] : (!dataflow.buffer<[blocks(tokens, 2), 8], f32>) -> !dataflow.buffer<[blocks(tokens, 6), 8], f32> computes #dataflow.pool<cls, width = 8>
// CHECK-DAG: dataflow.kernel @[[PLACES:gather.*]] : (!dataflow.buffer<[16, 8], f32>) -> !dataflow.buffer<[blocks(tokens, 2), 8], f32>
// CHECK-LABEL: dataflow.graph @encode(
// CHECK-SAME: -> (!dataflow.buffer<[tokens, 8], f32> {dataflow.name = "y"}, !dataflow.buffer<[blocks(tokens, 2), 8], f32> {dataflow.name = "z"}, !dataflow.buffer<[blocks(tokens, 6), 8], f32> {dataflow.name = "f"}, !dataflow.buffer<[sequences, 8], f32> {dataflow.name = "e"})
// CHECK-SAME: max_length = 32 : i64
func.func @encode(%ids: tensor<?xi32> {transformer.name = "ids"}, %rows: !transformer.segments)
    -> (tensor<?x8xf32> {transformer.name = "y"}, tensor<?x8xf32> {transformer.name = "z"},
        tensor<?x8xf32> {transformer.name = "f"}, tensor<?x8xf32> {transformer.name = "e"}) {
  %pairs = transformer.blocks %rows, 2
  %sixes = transformer.blocks %pairs, 3
  %x = transformer.gather @words[%ids] : tensor<?x8xf32>
  // CHECK: %[[K:.*]] = dataflow.dispatch @{{pool.*}} -> !dataflow.buffer<[blocks(tokens, 2), 8], f32>
  %k = transformer.pool mean %x in(%rows) to(%pairs) : tensor<?x8xf32>
  // CHECK: dataflow.dispatch @{{attention.*}}(%{{.*}}, %[[K]], %[[K]]) : {{.*}} -> !dataflow.buffer<[tokens, 8], f32>
  %y = transformer.attention %x, %k, %k in(%rows, %pairs) {heads = 2 : i64, scale = 0.5 : f32, visibility = #transformer.visibility<all>} : tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32> -> tensor<?x8xf32>
  // CHECK: dataflow.dispatch @[[PLACES]]
  %p = transformer.positions %pairs
  %q = transformer.gather @places[%p] : tensor<?x8xf32>
  // CHECK: dataflow.dispatch @{{add.*}} -> !dataflow.buffer<[blocks(tokens, 2), 8], f32>
  %z = transformer.add %k, %q : tensor<?x8xf32>, tensor<?x8xf32>
  // CHECK: dataflow.dispatch @{{contract.*}} -> !dataflow.buffer<[blocks(tokens, 2), 8], f32>
  %l = transformer.linear %z, @w : tensor<?x8xf32> -> tensor<?x8xf32>
  // CHECK: dataflow.dispatch @[[CLS]]
  %f = transformer.pool cls %l in(%pairs) to(%sixes) : tensor<?x8xf32>
  // CHECK: dataflow.dispatch @{{pool.*}} -> !dataflow.buffer<[sequences, 8], f32>
  %e = transformer.pool max %f in(%sixes) : tensor<?x8xf32>
  return %y, %z, %f, %e : tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32>
}

// Scores of keys that are blocks are as wide as the most blocks of a sequence. Two operations may
// give the same blocks.
// CHECK-LABEL: dataflow.graph @unfused(
func.func @unfused(%ids: tensor<?xi32> {transformer.name = "ids"}, %rows: !transformer.segments)
    -> (tensor<?x8xf32> {transformer.name = "y"}) {
  %pairs = transformer.blocks %rows, 2
  %again = transformer.blocks %rows, 2
  %x = transformer.gather @words[%ids] : tensor<?x8xf32>
  %xh = transformer.split_heads %x : tensor<?x8xf32> -> tensor<?x2x4xf32>
  %k = transformer.pool mean %x in(%rows) to(%pairs) : tensor<?x8xf32>
  %kh = transformer.split_heads %k : tensor<?x8xf32> -> tensor<?x2x4xf32>
  // CHECK: dataflow.dispatch @{{contract_heads.*}} -> !dataflow.buffer<[tokens, 2, longest(blocks(tokens, 2))], f32>
  %s = transformer.contract "thd,khd->thk" %xh, %kh in(%rows, %pairs) : tensor<?x2x4xf32>, tensor<?x2x4xf32> -> tensor<?x2x?xf32>
  %p = transformer.softmax %s in(%again) : tensor<?x2x?xf32>
  // CHECK: dataflow.dispatch @{{contract_heads.*}} -> !dataflow.buffer<[tokens, 2, 4], f32>
  %c = transformer.contract "thk,khd->thd" %p, %kh in(%rows, %again) : tensor<?x2x?xf32>, tensor<?x2x4xf32> -> tensor<?x2x4xf32>
  %y = transformer.merge_heads %c : tensor<?x2x4xf32> -> tensor<?x8xf32>
  return %y : tensor<?x8xf32>
}

// The neighbours of a block are blocks.
// CHECK-LABEL: dataflow.graph @convolved(
func.func @convolved(%ids: tensor<?xi32> {transformer.name = "ids"}, %rows: !transformer.segments)
    -> (tensor<?x8xf32> {transformer.name = "y"}) {
  %pairs = transformer.blocks %rows, 2
  %x = transformer.gather @words[%ids] : tensor<?x8xf32>
  %k = transformer.pool mean %x in(%rows) to(%pairs) : tensor<?x8xf32>
  // CHECK: dataflow.dispatch @{{convolve.*}} : (!dataflow.buffer<[blocks(tokens, 2), 8], f32>, !dataflow.buffer<[3, 8], f32>) -> !dataflow.buffer<[blocks(tokens, 2), 8], f32>
  %y = transformer.convolve %k, @around in(%pairs) {causal} : tensor<?x8xf32>
  return %y : tensor<?x8xf32>
}

// A memory has positions of the rows that are appended to it.
// CHECK-LABEL: dataflow.graph @remembered(
func.func @remembered(%ids: tensor<?xi32> {transformer.name = "ids", transformer.pad = 3 : i32, transformer.limit = 6 : i32}, %rows: !transformer.segments, %c: !transformer.cache<8> {transformer.name = "c"}, %d: !transformer.cache<8> {transformer.name = "d"})
    -> (!transformer.cache<8> {transformer.name = "c"}, !transformer.cache<8> {transformer.name = "d"}) {
  // CHECK-SAME: dataflow.limit = 6 : i64
  // CHECK-SAME: dataflow.pad = 3 : i32
  %pairs = transformer.blocks %rows, 2
  %x = transformer.gather @words[%ids] : tensor<?x8xf32>
  %k = transformer.pool mean %x in(%rows) to(%pairs) : tensor<?x8xf32>
  // CHECK: dataflow.dispatch @{{append.*}} : (!dataflow.cache<[8], f32, rows>, !dataflow.buffer<[blocks(tokens, 2), 8], f32>)
  %c1 = transformer.append %c, %k in(%pairs) : !transformer.cache<8>
  // CHECK: dataflow.dispatch @{{append.*}} : (!dataflow.cache<[8], f32, rows>, !dataflow.buffer<[blocks(tokens, 2), 8], f32>)
  %d1 = transformer.append %d, %k in(%pairs) : !transformer.cache<8>
  return %c1, %d1 : !transformer.cache<8>, !transformer.cache<8>
}
