// SPDX-License-Identifier: Apache-2.0
// RUN: heddle-opt %s | heddle-opt | FileCheck %s
// RUN: heddle-opt %s --mlir-print-op-generic | heddle-opt | FileCheck %s
// RUN: heddle-opt %s --emit-bytecode | heddle-opt | FileCheck %s

transformer.parameter @word.weight : tensor<30522x384xf32> from "word"
transformer.parameter @query.weight : tensor<384x384xf32> from "query.weight"
transformer.parameter @query.bias : tensor<384xf32> from "query.bias"
transformer.parameter @query.packed48 : tensor<8x384x48xf32> = pack(@query.weight, 48)
transformer.parameter @key.weight : tensor<384x384xf32> from "key.weight"
transformer.parameter @key.packed16 : tensor<24x384x16xf32> = pack(@key.weight, 16)
transformer.parameter @key.packed48 : tensor<8x384x48xf32> = pack(@key.weight, 48)

dataflow.kernel @embed_norm : (!dataflow.buffer<[tokens], i32>, !dataflow.buffer<[30522, 384], f32>) -> !dataflow.buffer<[tokens, 384], f32>
    computes #dataflow.gather<width = 384, lookups = 1> {
^bb0(%sum: f32):
  dataflow.yield %sum
}

dataflow.kernel @contract_384x384 : (!dataflow.buffer<[tokens, 384], f32>, !dataflow.buffer<[384, 384], f32>, !dataflow.buffer<[384], f32>) -> !dataflow.buffer<[tokens, 384], f32>
    computes #dataflow.contract<n = 384, k = 384> {
^bb0(%sum: f32, %bias: f32):
  %0 = arith.addf %sum, %bias fastmath<contract> : f32
  dataflow.yield %0
}

// CHECK-LABEL: dataflow.graph @embed(
// CHECK-SAME: %{{.*}}: !dataflow.buffer<[tokens], i32> {dataflow.limit = 30522 : i64, dataflow.name = "input_ids"})
// CHECK-SAME: -> (!dataflow.buffer<[tokens, 384], f32> {dataflow.name = "last_hidden_state"}) {
dataflow.graph @embed(%ids: !dataflow.buffer<[tokens], i32> {dataflow.name = "input_ids", dataflow.limit = 30522 : i64})
    -> (!dataflow.buffer<[tokens, 384], f32> {dataflow.name = "last_hidden_state"}) {
  // CHECK: %[[TABLE:.*]] = dataflow.parameter @word.weight : !dataflow.buffer<[30522, 384], f32>
  %table = dataflow.parameter @word.weight : !dataflow.buffer<[30522, 384], f32>
  // CHECK: %[[X:.*]] = dataflow.dispatch @embed_norm(%{{.*}}, %[[TABLE]]) : (!dataflow.buffer<[tokens], i32>, !dataflow.buffer<[30522, 384], f32>) -> !dataflow.buffer<[tokens, 384], f32>
  %x = dataflow.dispatch @embed_norm(%ids, %table) : (!dataflow.buffer<[tokens], i32>, !dataflow.buffer<[30522, 384], f32>) -> !dataflow.buffer<[tokens, 384], f32>
  // CHECK: dataflow.output %[[X]] : !dataflow.buffer<[tokens, 384], f32>
  dataflow.output %x : !dataflow.buffer<[tokens, 384], f32>
}

// CHECK-LABEL: dataflow.graph @planned(
// CHECK-SAME: {dataflow.limit = 2 : i64, dataflow.name = "token_type_ids", dataflow.optional}
// CHECK-SAME: attributes {arena = #dataflow.size<tokens = 4608, sequences = 1536, tokens * longest = 48>, max_length = 512 : i64} {
dataflow.graph @planned(%h: !dataflow.buffer<[tokens, 384], f32> {dataflow.name = "h"},
                        %ids: !dataflow.buffer<[tokens], i32> {dataflow.name = "token_type_ids", dataflow.limit = 2 : i64, dataflow.optional})
    attributes {arena = #dataflow.size<tokens = 4608, sequences = 1536, tokens * longest = 48>, max_length = 512 : i64} {
  %b = dataflow.parameter @query.bias : !dataflow.buffer<[384], f32>
  %w = dataflow.parameter @query.weight as @query.packed48 : !dataflow.buffer<[384, 384], f32>
  // CHECK: dataflow.parameter @query.weight as @query.packed48 : !dataflow.buffer<[384, 384], f32>
  %q = dataflow.parameter @query.weight as @query.packed48 : !dataflow.buffer<[384, 384], f32>
  // CHECK: dataflow.parameter @key.weight as [@key.packed16, @key.packed48] : !dataflow.buffer<[384, 384], f32>
  %k = dataflow.parameter @key.weight as [@key.packed16, @key.packed48] : !dataflow.buffer<[384, 384], f32>
  // CHECK: dataflow.dispatch @contract_384x384(%{{.*}}, %{{.*}}, %{{.*}}) at <tokens = 1536> : (
  %x = dataflow.dispatch @contract_384x384(%h, %w, %b) at <tokens = 1536> : (!dataflow.buffer<[tokens, 384], f32>, !dataflow.buffer<[384, 384], f32>, !dataflow.buffer<[384], f32>) -> !dataflow.buffer<[tokens, 384], f32>
  // CHECK: dataflow.dispatch @contract_384x384(%{{.*}}, %{{.*}}, %{{.*}}) at <> : (
  %y = dataflow.dispatch @contract_384x384(%x, %w, %b) at <> : (!dataflow.buffer<[tokens, 384], f32>, !dataflow.buffer<[384, 384], f32>, !dataflow.buffer<[384], f32>) -> !dataflow.buffer<[tokens, 384], f32>
  // CHECK: dataflow.output{{$}}
  dataflow.output
}

// CHECK-LABEL: dataflow.graph @views(
dataflow.graph @views(%qkv: !dataflow.buffer<[tokens, 1152], f32> {dataflow.name = "qkv"},
                      %q: !dataflow.buffer<[tokens, 384], f32> {dataflow.name = "q"}) {
  %w = dataflow.parameter @query.weight : !dataflow.buffer<[384, 384], f32>
  // CHECK: dataflow.columns %{{.*}} from 384 : !dataflow.buffer<[tokens, 1152], f32> -> !dataflow.buffer<[tokens, 384] in 1152, f32>
  %k = dataflow.columns %qkv from 384 : !dataflow.buffer<[tokens, 1152], f32> -> !dataflow.buffer<[tokens, 384] in 1152, f32>
  // CHECK: dataflow.columns %{{.*}} from 96 : !dataflow.buffer<[tokens, 384] in 1152, f32> -> !dataflow.buffer<[tokens, 32] in 1152, f32>
  %c = dataflow.columns %k from 96 : !dataflow.buffer<[tokens, 384] in 1152, f32> -> !dataflow.buffer<[tokens, 32] in 1152, f32>
  // CHECK: dataflow.columns %{{.*}} from 0 : !dataflow.buffer<[tokens, 1152], f32> -> !dataflow.buffer<[tokens, 1152], f32>
  %a = dataflow.columns %qkv from 0 : !dataflow.buffer<[tokens, 1152], f32> -> !dataflow.buffer<[tokens, 1152], f32>
  // CHECK: dataflow.reshape %{{.*}} : !dataflow.buffer<[tokens, 384], f32> -> !dataflow.buffer<[tokens, 12, 32], f32>
  %h = dataflow.reshape %q : !dataflow.buffer<[tokens, 384], f32> -> !dataflow.buffer<[tokens, 12, 32], f32>
  // CHECK: dataflow.reshape %{{.*}} : !dataflow.buffer<[tokens, 384] in 1152, f32> -> !dataflow.buffer<[tokens, 12, 32] in 1152, f32>
  %kh = dataflow.reshape %k : !dataflow.buffer<[tokens, 384] in 1152, f32> -> !dataflow.buffer<[tokens, 12, 32] in 1152, f32>
  dataflow.output
}
