// SPDX-License-Identifier: Apache-2.0
// RUN: heddle-opt %s -convert-transformer-to-dataflow | FileCheck %s

// Linear maps, element-wise functions and norms: a kernel of its own for each.

transformer.parameter @w : tensor<100x64xf32> from "w"
transformer.parameter @b : tensor<100xf32> from "b"
transformer.parameter @norm.weight : tensor<64xf32> from "norm.weight"
transformer.parameter @norm.bias : tensor<64xf32> from "norm.bias"
transformer.parameter @vector : tensor<64xf32> from "vector"
transformer.parameter @kappa : tensor<1xf32> from "kappa"

func.func @linear(%x: tensor<?x64xf32> {transformer.name = "x"}) -> (tensor<?x100xf32> {transformer.name = "y"}, tensor<?x100xf32> {transformer.name = "z"}) {
  %y = transformer.linear %x, @w, @b : tensor<?x64xf32> -> tensor<?x100xf32>
  %z = transformer.linear %x, @w : tensor<?x64xf32> -> tensor<?x100xf32>
  return %y, %z : tensor<?x100xf32>, tensor<?x100xf32>
}

// One weight for both, as it is: how it is stored is for the target to choose.
// CHECK: transformer.parameter @w : tensor<100x64xf32>
// CHECK: dataflow.kernel @contract : (!dataflow.buffer<[tokens, 64], f32>, !dataflow.buffer<[100, 64], f32>, !dataflow.buffer<[100], f32>) -> !dataflow.buffer<[tokens, 100], f32> computes #dataflow.contract<n = 100, k = 64> {
// CHECK-NEXT: ^bb0(%[[SUM:.*]]: f32, %[[BIAS:.*]]: f32):
// CHECK-NEXT:   %[[VALUE:.*]] = arith.addf %[[SUM]], %[[BIAS]] fastmath<contract> : f32
// CHECK-NEXT:   dataflow.yield %[[VALUE]]
// CHECK: dataflow.kernel @contract_0
// CHECK-NEXT: ^bb0(%[[SUM:.*]]: f32):
// CHECK-NEXT:   dataflow.yield %[[SUM]]
// CHECK-LABEL: dataflow.graph @linear(
// CHECK-SAME: %[[X:.*]]: !dataflow.buffer<[tokens, 64], f32> {dataflow.name = "x"}) -> (!dataflow.buffer<[tokens, 100], f32> {dataflow.name = "y"}, !dataflow.buffer<[tokens, 100], f32> {dataflow.name = "z"})
// CHECK-DAG:  %[[W:.*]] = dataflow.parameter @w
// CHECK-DAG:  %[[B:.*]] = dataflow.parameter @b
// CHECK:      %[[Y:.*]] = dataflow.dispatch @contract(%[[X]], %[[W]], %[[B]])
// CHECK:      %[[Z:.*]] = dataflow.dispatch @contract_0(%[[X]], %[[W]])
// CHECK:      dataflow.output %[[Y]], %[[Z]]

func.func @columns(%x: tensor<?x128xf32> {transformer.name = "x"}) -> (tensor<?x100xf32> {transformer.name = "y"}, tensor<?x64xf32> {transformer.name = "c"}) {
  %c = transformer.columns %x from 64 : tensor<?x128xf32> -> tensor<?x64xf32>
  %y = transformer.linear %c, @w : tensor<?x64xf32> -> tensor<?x100xf32>
  return %y, %c : tensor<?x100xf32>, tensor<?x64xf32>
}

// A view is read in place; as an output it is copied to rows of their own.
// CHECK-LABEL: dataflow.graph @columns(
// CHECK:      %[[C:.*]] = dataflow.columns %{{.*}} from 64 : {{(!dataflow.buffer)?}}<[tokens, 128], f32> -> {{(!dataflow.buffer)?}}<[tokens, 64] in 128, f32>
// CHECK:      %[[Y:.*]] = dataflow.dispatch @contract_1(%[[C]], %{{.*}}) : (!dataflow.buffer<[tokens, 64] in 128, f32>, !dataflow.buffer<[100, 64], f32>)
// CHECK:      %[[COPY:.*]] = dataflow.dispatch @copy(%[[C]]) : (!dataflow.buffer<[tokens, 64] in 128, f32>) -> !dataflow.buffer<[tokens, 64], f32>
// CHECK:      dataflow.output %[[Y]], %[[COPY]]

func.func @elementwise(%x: tensor<?x64xf32> {transformer.name = "x"}) -> (tensor<?x64xf32> {transformer.name = "y"}) {
  %w = transformer.weight @vector : tensor<64xf32>
  %0 = transformer.add %x, %w : tensor<?x64xf32>, tensor<64xf32>
  %1 = transformer.add %0, %x : tensor<?x64xf32>, tensor<?x64xf32>
  %2 = transformer.scale %1, 1.250000e-01 : tensor<?x64xf32>
  return %2 : tensor<?x64xf32>
}

// CHECK: dataflow.kernel @add : (!dataflow.buffer<[tokens, 64], f32>, !dataflow.buffer<[64], f32>) -> !dataflow.buffer<[tokens, 64], f32> computes #dataflow.rows<width = 64>
// CHECK: dataflow.kernel @add_{{[0-9]+}} : (!dataflow.buffer<[tokens, 64], f32>, !dataflow.buffer<[tokens, 64], f32>) -> !dataflow.buffer<[tokens, 64], f32> computes #dataflow.rows<width = 64>
// CHECK: dataflow.kernel @scale : {{.*}} computes #dataflow.rows<width = 64>
// CHECK-NEXT: ^bb0(%[[X:.*]]: f32):
// CHECK-NEXT:   %[[FACTOR:.*]] = arith.constant 1.250000e-01 : f32
// CHECK-NEXT:   %[[VALUE:.*]] = arith.mulf %[[X]], %[[FACTOR]] fastmath<contract> : f32
// CHECK-NEXT:   dataflow.yield %[[VALUE]]
// CHECK-LABEL: dataflow.graph @elementwise(

func.func @factors(%x: tensor<?x64xf32> {transformer.name = "x"}, %gate: tensor<?x8xf32> {transformer.name = "gate"}) -> (tensor<?x64xf32> {transformer.name = "y"}) {
  %w = transformer.weight @vector : tensor<64xf32>
  %0 = transformer.multiply %x, %w : tensor<?x64xf32>, tensor<64xf32>
  %k = transformer.weight @kappa : tensor<1xf32>
  %1 = transformer.multiply %0, %k : tensor<?x64xf32>, tensor<1xf32>
  %g = transformer.columns %gate from 3 : tensor<?x8xf32> -> tensor<?x1xf32>
  %2 = transformer.multiply %1, %g : tensor<?x64xf32>, tensor<?x1xf32>
  %3 = transformer.split_heads %2 : tensor<?x64xf32> -> tensor<?x4x16xf32>
  %4 = transformer.multiply %3, %k : tensor<?x4x16xf32>, tensor<1xf32>
  %5 = transformer.multiply %4, %g : tensor<?x4x16xf32>, tensor<?x1xf32>
  %6 = transformer.merge_heads %5 : tensor<?x4x16xf32> -> tensor<?x64xf32>
  return %6 : tensor<?x64xf32>
}

// CHECK: dataflow.kernel @multiply : (!dataflow.buffer<[tokens, 64], f32>, !dataflow.buffer<[64], f32>) -> !dataflow.buffer<[tokens, 64], f32> computes #dataflow.rows<width = 64>
// CHECK: dataflow.kernel @multiply_{{[0-9]+}} : (!dataflow.buffer<[tokens, 64], f32>, !dataflow.buffer<[1], f32>) -> !dataflow.buffer<[tokens, 64], f32> computes #dataflow.rows<width = 64>
// CHECK: dataflow.kernel @multiply_{{[0-9]+}} : (!dataflow.buffer<[tokens, 64], f32>, !dataflow.buffer<[tokens, 1] in 8, f32>) -> !dataflow.buffer<[tokens, 64], f32> computes #dataflow.rows<width = 64>
// CHECK: dataflow.kernel @multiply_{{[0-9]+}} {{.*}} computes #dataflow.nest<"thd,z->thd", none>
// CHECK: dataflow.kernel @multiply_{{[0-9]+}} {{.*}} computes #dataflow.nest<"thd,tz->thd", none>
// CHECK-LABEL: dataflow.graph @factors(
// CHECK:      dataflow.columns %{{.*}} from 3

func.func @activations(%x: tensor<?x64xf32> {transformer.name = "x"}) -> (tensor<?x64xf32> {transformer.name = "y"}) {
  %0 = transformer.activate relu %x : tensor<?x64xf32>
  %1 = transformer.activate tanh %0 : tensor<?x64xf32>
  %2 = transformer.activate gelu %1 : tensor<?x64xf32>
  %3 = transformer.activate gelu_new %2 : tensor<?x64xf32>
  %4 = transformer.activate quick_gelu %3 : tensor<?x64xf32>
  return %4 : tensor<?x64xf32>
}

// CHECK: dataflow.kernel @relu
// CHECK:   %[[ZERO:.*]] = arith.constant 0.000000e+00 : f32
// CHECK:   arith.maximumf %{{.*}}, %[[ZERO]] : f32
// CHECK: dataflow.kernel @tanh
// CHECK:   math.tanh %{{.*}} : f32
// CHECK: dataflow.kernel @gelu
// CHECK-NEXT: ^bb0(%[[X:.*]]: f32):
// CHECK-DAG:  %[[SCALE:.*]] = arith.constant 0.707106769 : f32
// CHECK-DAG:  %[[HALF:.*]] = arith.constant 5.000000e-01 : f32
// CHECK-DAG:  %[[ONE:.*]] = arith.constant 1.000000e+00 : f32
// CHECK-DAG:  %[[SCALED:.*]] = arith.mulf %[[X]], %[[SCALE]] fastmath<contract> : f32
// CHECK-DAG:  %[[ERF:.*]] = math.erf %[[SCALED]] : f32
// CHECK-DAG:  %[[HALFX:.*]] = arith.mulf %[[X]], %[[HALF]] fastmath<contract> : f32
// CHECK-DAG:  %[[PLUS:.*]] = arith.addf %[[ERF]], %[[ONE]] fastmath<contract> : f32
// CHECK:      arith.mulf %[[HALFX]], %[[PLUS]] fastmath<contract> : f32
// CHECK: dataflow.kernel @gelu_new
// CHECK:   arith.constant 4.471500e-02 : f32
// CHECK:   arith.constant 0.797884583 : f32
// CHECK:   math.tanh
// CHECK: dataflow.kernel @quick_gelu
// CHECK-NEXT: ^bb0(%[[X:.*]]: f32):
// CHECK:      %[[FACTOR:.*]] = arith.constant 1.702000e+00 : f32
// CHECK:      %[[SCALED:.*]] = arith.mulf %[[X]], %[[FACTOR]] fastmath<contract> : f32
// CHECK:      %[[NEGATED:.*]] = arith.negf %[[SCALED]] : f32
// CHECK:      %[[EXP:.*]] = math.exp %[[NEGATED]] : f32
// CHECK:      %[[SUM:.*]] = arith.addf %{{.*}}, %[[EXP]] fastmath<contract> : f32
// CHECK:      %[[SIGMOID:.*]] = arith.divf %{{.*}}, %[[SUM]] : f32
// CHECK:      arith.mulf %[[X]], %[[SIGMOID]] fastmath<contract> : f32
// CHECK-LABEL: dataflow.graph @activations(

// The exponential of softplus is of a number that is not positive: it overflows nowhere.
func.func @functions(%x: tensor<?x64xf32> {transformer.name = "x"}) -> (tensor<?x64xf32> {transformer.name = "y"}) {
  %0 = transformer.activate softplus %x : tensor<?x64xf32>
  %1 = transformer.activate abs %0 : tensor<?x64xf32>
  %2 = transformer.activate sin %1 : tensor<?x64xf32>
  %3 = transformer.activate cos %2 : tensor<?x64xf32>
  %4 = transformer.activate floor %3 : tensor<?x64xf32>
  return %4 : tensor<?x64xf32>
}

// CHECK: dataflow.kernel @softplus
// CHECK-NEXT: ^bb0(%[[X:.*]]: f32):
// CHECK:      %[[ABS:.*]] = math.absf %[[X]] : f32
// CHECK:      %[[NEGATED:.*]] = arith.negf %[[ABS]] : f32
// CHECK:      %[[EXP:.*]] = math.exp %[[NEGATED]] : f32
// CHECK:      %[[LOG:.*]] = math.log1p %[[EXP]] : f32
// CHECK:      %[[MAX:.*]] = arith.maximumf %[[X]], %{{.*}} : f32
// CHECK:      arith.addf %[[MAX]], %[[LOG]] fastmath<contract> : f32
// CHECK: dataflow.kernel @abs
// CHECK:   math.absf %{{.*}} : f32
// CHECK: dataflow.kernel @sin
// CHECK:   math.sin %{{.*}} : f32
// CHECK: dataflow.kernel @cos
// CHECK:   math.cos %{{.*}} : f32
// CHECK: dataflow.kernel @floor
// CHECK:   math.floor %{{.*}} : f32
// CHECK-LABEL: dataflow.graph @functions(

func.func @norms(%x: tensor<?x64xf32> {transformer.name = "x"}) -> (tensor<?x64xf32> {transformer.name = "y"}) {
  %0 = transformer.layer_norm %x, @norm.weight, @norm.bias {epsilon = 9.99999996E-13 : f32} : tensor<?x64xf32>
  %1 = transformer.normalize %0 {epsilon = 9.99999996E-13 : f32} : tensor<?x64xf32>
  return %1 : tensor<?x64xf32>
}

// CHECK: dataflow.kernel @layer_norm : (!dataflow.buffer<[tokens, 64], f32>, !dataflow.buffer<[64], f32>, !dataflow.buffer<[64], f32>) -> !dataflow.buffer<[tokens, 64], f32> computes #dataflow.rows<width = 64> norm {{(#dataflow.norm)?}}<layer_norm, 9.99999996E-13 : f32>
// CHECK-NEXT: ^bb0(%[[X:.*]]: f32):
// CHECK-NEXT:   dataflow.yield %[[X]]
// CHECK: dataflow.kernel @normalize : (!dataflow.buffer<[tokens, 64], f32>) -> !dataflow.buffer<[tokens, 64], f32> computes #dataflow.rows<width = 64> norm {{(#dataflow.norm)?}}<normalize, 9.99999996E-13 : f32>
// CHECK-LABEL: dataflow.graph @norms(
// CHECK:      %[[N:.*]] = dataflow.dispatch @layer_norm(
// CHECK:      dataflow.dispatch @normalize(%[[N]])
