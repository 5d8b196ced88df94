// SPDX-License-Identifier: Apache-2.0
// Kernels are named after the activations in their epilogues, which are found by comparing maths.
// RUN: heddle-opt %s -convert-transformer-to-dataflow -dataflow-merge-kernels | FileCheck %s

func.func @each(%x: tensor<?x64xf32> {transformer.name = "x"}) -> (tensor<?x64xf32> {transformer.name = "y"}) {
  // CHECK-DAG: dataflow.kernel @rows_64_abs :
  %0 = transformer.activate abs %x : tensor<?x64xf32>
  // CHECK-DAG: dataflow.kernel @rows_64_cos :
  %1 = transformer.activate cos %0 : tensor<?x64xf32>
  // CHECK-DAG: dataflow.kernel @rows_64_gelu :
  %2 = transformer.activate gelu %1 : tensor<?x64xf32>
  // CHECK-DAG: dataflow.kernel @rows_64_gelu_new :
  %3 = transformer.activate gelu_new %2 : tensor<?x64xf32>
  // CHECK-DAG: dataflow.kernel @rows_64_quick_gelu :
  %4 = transformer.activate quick_gelu %3 : tensor<?x64xf32>
  // CHECK-DAG: dataflow.kernel @rows_64_relu :
  %5 = transformer.activate relu %4 : tensor<?x64xf32>
  // CHECK-DAG: dataflow.kernel @rows_64_sigmoid :
  %6 = transformer.activate sigmoid %5 : tensor<?x64xf32>
  // CHECK-DAG: dataflow.kernel @rows_64_silu :
  %7 = transformer.activate silu %6 : tensor<?x64xf32>
  // CHECK-DAG: dataflow.kernel @rows_64_sin :
  %8 = transformer.activate sin %7 : tensor<?x64xf32>
  // CHECK-DAG: dataflow.kernel @rows_64_softplus :
  %9 = transformer.activate softplus %8 : tensor<?x64xf32>
  // CHECK-DAG: dataflow.kernel @rows_64_tanh :
  %10 = transformer.activate tanh %9 : tensor<?x64xf32>
  // CHECK-DAG: dataflow.kernel @rows_64_floor :
  %11 = transformer.activate floor %10 : tensor<?x64xf32>
  // CHECK-DAG: dataflow.kernel @rows_64_erf :
  %12 = transformer.activate erf %11 : tensor<?x64xf32>
  // CHECK-DAG: dataflow.kernel @rows_64_exp :
  %13 = transformer.activate exp %12 : tensor<?x64xf32>
  // CHECK-DAG: dataflow.kernel @rows_64_log :
  %14 = transformer.activate log %13 : tensor<?x64xf32>
  // CHECK-DAG: dataflow.kernel @rows_64_nan_to_zero :
  %15 = transformer.activate nan_to_zero %14 : tensor<?x64xf32>
  // CHECK-DAG: dataflow.kernel @rows_64_reciprocal :
  %16 = transformer.activate reciprocal %15 : tensor<?x64xf32>
  // CHECK-DAG: dataflow.kernel @rows_64_sqrt :
  %17 = transformer.activate sqrt %16 : tensor<?x64xf32>
  // CHECK-DAG: dataflow.kernel @rows_64_rsqrt :
  %18 = transformer.activate rsqrt %17 : tensor<?x64xf32>
  // CHECK-DAG: dataflow.kernel @rows_64_subtract :
  %19 = transformer.combine subtract %18, %x : tensor<?x64xf32>
  // CHECK-DAG: dataflow.kernel @rows_64_divide :
  %20 = transformer.combine divide %19, %x : tensor<?x64xf32>
  return %20 : tensor<?x64xf32>
}

// What passes make of the maths may have operands of a sum or product the other way round; maths that
// only looks like an activation is not one.
// CHECK-DAG: dataflow.kernel @rows_48_sigmoid :
// CHECK-DAG: dataflow.kernel @rows_48_exp :
dataflow.kernel @swapped : (!dataflow.buffer<[tokens, 48], f32>) -> !dataflow.buffer<[tokens, 48], f32>
    computes #dataflow.rows<width = 48> {
^bb0(%x: f32):
  %one = arith.constant 1.0 : f32
  %n = arith.negf %x : f32
  %e = math.exp %n : f32
  %s = arith.addf %e, %one fastmath<contract> : f32
  %y = arith.divf %one, %s : f32
  dataflow.yield %y
}
dataflow.kernel @other : (!dataflow.buffer<[tokens, 48], f32>) -> !dataflow.buffer<[tokens, 48], f32>
    computes #dataflow.rows<width = 48> {
^bb0(%x: f32):
  %two = arith.constant 2.0 : f32
  %n = arith.negf %x : f32
  %e = math.exp %n : f32
  %s = arith.addf %e, %two fastmath<contract> : f32
  %y = arith.divf %two, %s : f32
  dataflow.yield %y
}
