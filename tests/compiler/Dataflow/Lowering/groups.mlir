// SPDX-License-Identifier: Apache-2.0
// RUN: heddle-opt %s -convert-transformer-to-dataflow | FileCheck %s
// RUN: heddle-opt %s -convert-transformer-to-dataflow -dataflow-fold-epilogues -dataflow-merge-kernels | FileCheck %s --check-prefix=FOLDED

// A linear map for each group of columns is one contraction, whose groups have panels of their own.

transformer.parameter @w : tensor<100x16xf32> from "w"
transformer.parameter @b : tensor<100xf32> from "b"
transformer.parameter @norm.weight : tensor<100xf32> from "norm.weight"
transformer.parameter @norm.bias : tensor<100xf32> from "norm.bias"
transformer.parameter @gain : tensor<100xf32> from "gain"

func.func @grouped(%x: tensor<?x32xf32> {transformer.name = "x"}) -> (tensor<?x100xf32> {transformer.name = "y"}) {
  %y = transformer.grouped_linear %x, @w, @b {groups = 2 : i64} : tensor<?x32xf32> -> tensor<?x100xf32>
  return %y : tensor<?x100xf32>
}

// CHECK: transformer.parameter @w : tensor<100x16xf32>
// CHECK: dataflow.kernel @contract : (!dataflow.buffer<[tokens, 32], f32>, !dataflow.buffer<[100, 16], f32>, !dataflow.buffer<[100], f32>) -> !dataflow.buffer<[tokens, 100], f32> computes #dataflow.contract<n = 50, k = 16, groups = 2> {
// CHECK-NEXT: ^bb0(%[[SUM:.*]]: f32, %[[BIAS:.*]]: f32):
// CHECK-NEXT:   %[[VALUE:.*]] = arith.addf %[[SUM]], %[[BIAS]] fastmath<contract> : f32
// CHECK-NEXT:   dataflow.yield %[[VALUE]]
// CHECK-LABEL: dataflow.graph @grouped(
// CHECK-DAG:  %[[W:.*]] = dataflow.parameter @w :
// CHECK-DAG:  %[[B:.*]] = dataflow.parameter @b
// CHECK:      dataflow.dispatch @contract(%{{.*}}, %[[W]], %[[B]])

// The same matrix as one map.
func.func @whole(%x: tensor<?x16xf32> {transformer.name = "x"}) -> (tensor<?x100xf32> {transformer.name = "y"}) {
  %y = transformer.linear %x, @w : tensor<?x16xf32> -> tensor<?x100xf32>
  return %y : tensor<?x100xf32>
}

// CHECK: dataflow.kernel @{{.*}} computes #dataflow.contract<n = 100, k = 16> {
// CHECK-LABEL: dataflow.graph @whole(
// CHECK: dataflow.parameter @w : !dataflow.buffer<[100, 16], f32>

// One group is a plain map.
func.func @one_group(%x: tensor<?x16xf32> {transformer.name = "x"}) -> (tensor<?x100xf32> {transformer.name = "y"}) {
  %y = transformer.grouped_linear %x, @w {groups = 1 : i64} : tensor<?x16xf32> -> tensor<?x100xf32>
  return %y : tensor<?x100xf32>
}

// CHECK: dataflow.kernel @{{.*}} computes #dataflow.contract<n = 100, k = 16> {
// CHECK-LABEL: dataflow.graph @one_group(

// What follows folds into the product as into any other.
func.func @epilogue(%x: tensor<?x32xf32> {transformer.name = "x"}, %r: tensor<?x100xf32> {transformer.name = "r"}) -> (tensor<?x100xf32> {transformer.name = "y"}) {
  %0 = transformer.grouped_linear %x, @w, @b {groups = 2 : i64} : tensor<?x32xf32> -> tensor<?x100xf32>
  %1 = transformer.activate relu %0 : tensor<?x100xf32>
  %2 = transformer.scale %1, 2.500000e-01 : tensor<?x100xf32>
  %3 = transformer.add %2, %r : tensor<?x100xf32>, tensor<?x100xf32>
  %4 = transformer.layer_norm %3, @norm.weight, @norm.bias {epsilon = 9.99999996E-13 : f32} : tensor<?x100xf32>
  return %4 : tensor<?x100xf32>
}

// FOLDED: dataflow.kernel @contract_2x50x16_relu_scale_add_layer_norm : {{.*}} computes #dataflow.contract<n = 50, k = 16, groups = 2> norm
// FOLDED-LABEL: dataflow.graph @epilogue(
// FOLDED-COUNT-1: dataflow.dispatch
// FOLDED-NOT: dataflow.dispatch
