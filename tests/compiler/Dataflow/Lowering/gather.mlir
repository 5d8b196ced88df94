// SPDX-License-Identifier: Apache-2.0
// RUN: heddle-opt %s -convert-transformer-to-dataflow | FileCheck %s

// Look-ups bound the ids and the length of a sentence; pooled rows are sequences.

transformer.parameter @word : tensor<30522x64xf32> from "word"
transformer.parameter @type : tensor<2x64xf32> from "type"
transformer.parameter @small : tensor<100x64xf32> from "small"
transformer.parameter @position : tensor<514x64xf32> from "position"
transformer.parameter @short : tensor<256x64xf32> from "short"
transformer.parameter @norm.weight : tensor<64xf32> from "norm.weight"
transformer.parameter @norm.bias : tensor<64xf32> from "norm.bias"
transformer.parameter @w : tensor<32x64xf32> from "w"

func.func @gather(%ids: tensor<?xi32> {transformer.name = "input_ids"}, %types: tensor<?xi32> {transformer.name = "token_type_ids", transformer.optional}, %unused: tensor<?xi32> {transformer.name = "unused"}, %rows: !transformer.segments) -> (tensor<?x64xf32> {transformer.name = "y"}) {
  %0 = transformer.gather @word[%ids] : tensor<?x64xf32>
  %1 = transformer.gather @small[%ids] : tensor<?x64xf32>
  %2 = transformer.gather @type[%types] : tensor<?x64xf32>
  %p = transformer.positions %rows {offset = 2 : i64}
  %3 = transformer.gather @position[%p] : tensor<?x64xf32>
  %4 = transformer.add %0, %1 : tensor<?x64xf32>, tensor<?x64xf32>
  %5 = transformer.add %2, %3 : tensor<?x64xf32>, tensor<?x64xf32>
  %6 = transformer.add %4, %5 : tensor<?x64xf32>, tensor<?x64xf32>
  return %6 : tensor<?x64xf32>
}

// CHECK: dataflow.kernel @gather_{{[0-9]+}} : (!dataflow.buffer<[514, 64], f32>) -> !dataflow.buffer<[tokens, 64], f32> computes #dataflow.gather<width = 64, lookups = 0, positions = [2]>
// The smaller of two tables bounds the ids; 514 rows from the third on are 512 positions.
// CHECK-LABEL: dataflow.graph @gather(
// CHECK-SAME: %[[IDS:[a-z0-9]*]]: !dataflow.buffer<[tokens], i32> {dataflow.limit = 100 : i64, dataflow.name = "input_ids"}
// CHECK-SAME: {dataflow.limit = 2 : i64, dataflow.name = "token_type_ids", dataflow.optional}
// CHECK-SAME: {dataflow.limit = 2147483648 : i64, dataflow.name = "unused"})
// CHECK-SAME: max_length = 512
// CHECK:      %[[WORD:.*]] = dataflow.parameter @word
// CHECK:      dataflow.dispatch @gather_{{[0-9]+}}(%[[IDS]], %[[WORD]])

func.func @embed(%ids: tensor<?xi32> {transformer.name = "input_ids"}, %types: tensor<?xi32> {transformer.name = "token_type_ids"}, %rows: !transformer.segments) -> (tensor<?x64xf32> {transformer.name = "y"}) {
  %0 = transformer.embed [@word, @type, @position, @short] ids(%ids, %types) positions(%rows) {norm_weight = @norm.weight, norm_bias = @norm.bias, epsilon = 9.99999996E-13 : f32, position_offsets = array<i64: 2, 0>} : tensor<?x64xf32>
  return %0 : tensor<?x64xf32>
}

// CHECK: dataflow.kernel @gather_{{[0-9]+}} : {{.*}} computes #dataflow.gather<width = 64, lookups = 2, positions = [2, 0]> norm {{(#dataflow.norm)?}}<layer_norm, 9.99999996E-13 : f32>
// The shorter position table bounds the sentence.
// CHECK-LABEL: dataflow.graph @embed(
// CHECK-SAME: %[[IDS:[a-z0-9]*]]: !dataflow.buffer<[tokens], i32> {dataflow.limit = 30522 : i64
// CHECK-SAME: %[[TYPES:[a-z0-9]*]]: !dataflow.buffer<[tokens], i32> {dataflow.limit = 2 : i64
// CHECK-SAME: max_length = 256
// CHECK-DAG:  %[[WORD:.*]] = dataflow.parameter @word
// CHECK-DAG:  %[[TYPE:.*]] = dataflow.parameter @type
// CHECK-DAG:  %[[POSITION:.*]] = dataflow.parameter @position
// CHECK-DAG:  %[[SHORT:.*]] = dataflow.parameter @short
// CHECK-DAG:  %[[NORM:.*]] = dataflow.parameter @norm.weight
// CHECK-DAG:  %[[BIAS:.*]] = dataflow.parameter @norm.bias
// CHECK:      dataflow.dispatch @gather_{{[0-9]+}}(%[[IDS]], %[[WORD]], %[[TYPES]], %[[TYPE]], %[[POSITION]], %[[SHORT]], %[[NORM]], %[[BIAS]])

func.func @pool(%ids: tensor<?xi32> {transformer.name = "input_ids"}, %rows: !transformer.segments) -> (tensor<?x64xf32> {transformer.name = "mean"}, tensor<?x32xf32> {transformer.name = "cls"}, tensor<?x64xf32> {transformer.name = "max"}) {
  %x = transformer.gather @word[%ids] : tensor<?x64xf32>
  %0 = transformer.pool mean %x in(%rows) : tensor<?x64xf32>
  %1 = transformer.pool cls %x in(%rows) : tensor<?x64xf32>
  %2 = transformer.pool max %x in(%rows) : tensor<?x64xf32>
  %3 = transformer.linear %1, @w : tensor<?x64xf32> -> tensor<?x32xf32>
  %4 = transformer.activate tanh %3 : tensor<?x32xf32>
  return %0, %4, %2 : tensor<?x64xf32>, tensor<?x32xf32>, tensor<?x64xf32>
}

// CHECK: dataflow.kernel @pool{{.*}} computes #dataflow.pool<mean, width = 64>
// CHECK: dataflow.kernel @pool{{.*}} computes #dataflow.pool<cls, width = 64>
// CHECK: dataflow.kernel @pool{{.*}} computes #dataflow.pool<max, width = 64>
// CHECK: dataflow.kernel @contract : (!dataflow.buffer<[sequences, 64], f32>, {{.*}}) -> !dataflow.buffer<[sequences, 32], f32>
// CHECK: dataflow.kernel @tanh : (!dataflow.buffer<[sequences, 32], f32>) -> !dataflow.buffer<[sequences, 32], f32>
// CHECK-LABEL: dataflow.graph @pool(
// CHECK-NOT: max_length
// CHECK:      dataflow.output {{.*}} : !dataflow.buffer<[sequences, 64], f32>, !dataflow.buffer<[sequences, 32], f32>, !dataflow.buffer<[sequences, 64], f32>

// What ids look up is scaled before anything is added; positions are not.
func.func @scaled(%ids: tensor<?xi32> {transformer.name = "input_ids"}, %rows: !transformer.segments) -> (tensor<?x64xf32> {transformer.name = "y"}) {
  %0 = transformer.embed [@word, @position] ids(%ids) positions(%rows) {scales = array<f32: 8.0>, position_offsets = array<i64: 2>} : tensor<?x64xf32>
  return %0 : tensor<?x64xf32>
}

// CHECK: computes #dataflow.gather<width = 64, lookups = 1, positions = [2], scales = array<f32: 8.000000e+00>>
// CHECK-LABEL: dataflow.graph @scaled(
