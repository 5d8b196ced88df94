// SPDX-License-Identifier: Apache-2.0
// RUN: heddle-opt %s -convert-transformer-to-dataflow -dataflow-fold-epilogues -dataflow-merge-kernels | FileCheck %s

// Gated feed-forward layers: silu(x W) * (x V) is two products, the second of which multiplies.

transformer.parameter @w : tensor<96x48xf32> from "w"
transformer.parameter @v : tensor<96x48xf32> from "v"
transformer.parameter @both : tensor<192x48xf32> = concat(@w, @v)
transformer.parameter @norm : tensor<96xf32> from "norm"

func.func @gated(%x: tensor<?x48xf32> {transformer.name = "x"}, %rows: !transformer.segments) -> (tensor<?x96xf32> {transformer.name = "y"}) {
  %0 = transformer.linear %x, @w : tensor<?x48xf32> -> tensor<?x96xf32>
  %1 = transformer.activate silu %0 : tensor<?x96xf32>
  %2 = transformer.linear %x, @v : tensor<?x48xf32> -> tensor<?x96xf32>
  %3 = transformer.multiply %1, %2 : tensor<?x96xf32>
  return %3 : tensor<?x96xf32>
}

// CHECK: dataflow.kernel @contract_96x48_silu :
// CHECK: ^bb0(%[[X:.*]]: f32):
// CHECK: %[[NEGATED:.*]] = arith.negf %[[X]]
// CHECK: %[[EXP:.*]] = math.exp %[[NEGATED]]
// CHECK: %[[SUM:.*]] = arith.addf %{{.*}}, %[[EXP]]
// CHECK: %[[SIGMOID:.*]] = arith.divf %{{.*}}, %[[SUM]]
// CHECK: arith.mulf %[[X]], %[[SIGMOID]]
// CHECK: dataflow.kernel @contract_96x48_multiply :
// CHECK: ^bb0(%[[X:.*]]: f32, %[[GATE:.*]]: f32):
// CHECK-NEXT: arith.mulf %[[GATE]], %[[X]]
// CHECK-LABEL: dataflow.graph @gated(
// CHECK: %[[GATE:.*]] = dataflow.dispatch @contract_96x48_silu(
// CHECK: dataflow.dispatch @contract_96x48_multiply(%arg0, %{{.*}}, %[[GATE]])

// One product of both weights: what is left reads its columns once.
func.func @fused(%x: tensor<?x48xf32> {transformer.name = "x"}, %rows: !transformer.segments) -> (tensor<?x96xf32> {transformer.name = "y"}) {
  %xy = transformer.linear %x, @both : tensor<?x48xf32> -> tensor<?x192xf32>
  %0 = transformer.columns %xy from 0 : tensor<?x192xf32> -> tensor<?x96xf32>
  %1 = transformer.activate sigmoid %0 : tensor<?x96xf32>
  %2 = transformer.columns %xy from 96 : tensor<?x192xf32> -> tensor<?x96xf32>
  %3 = transformer.multiply %1, %2 : tensor<?x96xf32>
  %4 = transformer.rms_norm %3, @norm {epsilon = 9.99999997E-7 : f32} : tensor<?x96xf32>
  return %4 : tensor<?x96xf32>
}

// CHECK: dataflow.kernel @rows_96_sigmoid_multiply_rms_norm : (!dataflow.buffer<[tokens, 96] in 192, f32>, !dataflow.buffer<[tokens, 96] in 192, f32>, !dataflow.buffer<[96], f32>) -> {{.*}} norm <rms_norm, 9.99999997E-7 : f32>
// CHECK-LABEL: dataflow.graph @fused(
// CHECK-COUNT-2: dataflow.dispatch
// CHECK-NOT: dataflow.dispatch

// The sigmoid of a multiple is one of the product's names too.
func.func @quick(%x: tensor<?x48xf32> {transformer.name = "x"}, %rows: !transformer.segments) -> (tensor<?x96xf32> {transformer.name = "y"}) {
  %0 = transformer.linear %x, @w : tensor<?x48xf32> -> tensor<?x96xf32>
  %1 = transformer.activate quick_gelu %0 : tensor<?x96xf32>
  %2 = transformer.linear %x, @v : tensor<?x48xf32> -> tensor<?x96xf32>
  %3 = transformer.multiply %1, %2 : tensor<?x96xf32>
  return %3 : tensor<?x96xf32>
}

// CHECK: dataflow.kernel @contract_96x48_quick_gelu :
// CHECK-LABEL: dataflow.graph @quick(
// CHECK: %[[GATE:.*]] = dataflow.dispatch @contract_96x48_quick_gelu(
// CHECK: dataflow.dispatch @contract_96x48_multiply(%arg0, %{{.*}}, %[[GATE]])

// A number for each row is an operand, never what takes the product over: its kernel has no place
// for the row.
transformer.parameter @gate : tensor<1x48xf32> from "gate"

func.func @gated_row(%x: tensor<?x48xf32> {transformer.name = "x"}, %rows: !transformer.segments) -> (tensor<?x96xf32> {transformer.name = "y"}) {
  %0 = transformer.linear %x, @w : tensor<?x48xf32> -> tensor<?x96xf32>
  %1 = transformer.linear %x, @gate : tensor<?x48xf32> -> tensor<?x1xf32>
  %2 = transformer.multiply %0, %1 : tensor<?x96xf32>, tensor<?x1xf32>
  return %2 : tensor<?x96xf32>
}

// CHECK-LABEL: dataflow.graph @gated_row(
// CHECK: %[[GATE:.*]] = dataflow.dispatch @contract_1x48(
// CHECK: dataflow.dispatch @contract_96x48_multiply{{.*}}(%arg0, %{{.*}}, %[[GATE]])

// The gates of a cell are columns of one product: all that follows from them is one kernel, though
// several had been read.
func.func @cell(%x: tensor<?x48xf32> {transformer.name = "x"}, %c: tensor<?x64xf32> {transformer.name = "c"}, %rows: !transformer.segments) -> (tensor<?x64xf32> {transformer.name = "y"}) {
  %gates = transformer.linear %x, @both : tensor<?x48xf32> -> tensor<?x192xf32>
  %i = transformer.columns %gates from 0 : tensor<?x192xf32> -> tensor<?x64xf32>
  %f = transformer.columns %gates from 64 : tensor<?x192xf32> -> tensor<?x64xf32>
  %g = transformer.columns %gates from 128 : tensor<?x192xf32> -> tensor<?x64xf32>
  %input = transformer.activate sigmoid %i : tensor<?x64xf32>
  %forget = transformer.activate sigmoid %f : tensor<?x64xf32>
  %candidate = transformer.activate tanh %g : tensor<?x64xf32>
  %old = transformer.multiply %forget, %c : tensor<?x64xf32>, tensor<?x64xf32>
  %new = transformer.multiply %input, %candidate : tensor<?x64xf32>, tensor<?x64xf32>
  %sum = transformer.add %old, %new : tensor<?x64xf32>, tensor<?x64xf32>
  return %sum : tensor<?x64xf32>
}
// CHECK-LABEL: dataflow.graph @cell(
// CHECK: dataflow.dispatch @contract_192x48(
// CHECK-NOT: dataflow.dispatch
// CHECK: %[[SUM:.*]] = dataflow.dispatch @rows_64{{.*}}(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) :
// CHECK-NOT: dataflow.dispatch
// CHECK: dataflow.output %[[SUM]]
