// SPDX-License-Identifier: Apache-2.0
// RUN: heddle-opt %s | heddle-opt | FileCheck %s --check-prefix=OP
// RUN: heddle-opt %s -convert-transformer-to-dataflow | FileCheck %s --check-prefix=KERNEL
// RUN: heddle-opt %s -convert-transformer-to-dataflow -dataflow-fold-epilogues | FileCheck %s --check-prefix=FOLDED

// Element-wise mathematics and the numbers that rows are reduced to.

transformer.parameter @vector : tensor<384xf32> from "vector"
transformer.parameter @number : tensor<1xf32> from "number"

// OP-LABEL: func.func @combine
func.func @combine(%x: tensor<?x384xf32> {transformer.name = "x"}, %y: tensor<?x384xf32> {transformer.name = "y"}) -> (tensor<?x384xf32> {transformer.name = "z"}) {
  // OP: transformer.combine subtract %{{.*}}, %{{.*}} : tensor<?x384xf32>
  %0 = transformer.combine subtract %x, %y : tensor<?x384xf32>
  %w = transformer.weight @vector : tensor<384xf32>
  // OP: transformer.combine divide %{{.*}}, %{{.*}} : tensor<?x384xf32>, tensor<384xf32>
  %1 = transformer.combine divide %0, %w : tensor<?x384xf32>, tensor<384xf32>
  %n = transformer.weight @number : tensor<1xf32>
  // OP: transformer.combine minimum %{{.*}}, %{{.*}} : tensor<?x384xf32>, tensor<1xf32>
  %2 = transformer.combine minimum %1, %n : tensor<?x384xf32>, tensor<1xf32>
  // OP: %[[M:.*]] = transformer.reduce max %{{.*}} : tensor<?x384xf32> -> tensor<?x1xf32>
  %m = transformer.reduce max %2 : tensor<?x384xf32> -> tensor<?x1xf32>
  // OP: transformer.combine maximum %{{.*}}, %[[M]] : tensor<?x384xf32>, tensor<?x1xf32>
  %3 = transformer.combine maximum %2, %m : tensor<?x384xf32>, tensor<?x1xf32>
  return %3 : tensor<?x384xf32>
}

// KERNEL: dataflow.kernel @subtract : {{.*}} computes #dataflow.rows<width = 384>
// KERNEL:   arith.subf %{{.*}}, %{{.*}} fastmath<contract> : f32
// KERNEL: dataflow.kernel @divide : (!dataflow.buffer<[tokens, 384], f32>, !dataflow.buffer<[384], f32>)
// KERNEL:   arith.divf %{{.*}}, %{{.*}} : f32
// KERNEL: dataflow.kernel @minimum : (!dataflow.buffer<[tokens, 384], f32>, !dataflow.buffer<[1], f32>)
// KERNEL:   arith.minimumf
// KERNEL: dataflow.kernel @reduce : (!dataflow.buffer<[tokens, 384], f32>) -> !dataflow.buffer<[tokens, 1], f32> computes #dataflow.reduce<max, width = 384>
// KERNEL: dataflow.kernel @maximum : (!dataflow.buffer<[tokens, 384], f32>, !dataflow.buffer<[tokens, 1], f32>)
// KERNEL:   arith.maximumf

// One kernel for what is before the row's number, one for that, and one for what is after it.
// FOLDED-LABEL: dataflow.graph @combine(
// FOLDED-COUNT-3: dataflow.dispatch
// FOLDED-NOT: dataflow.dispatch
// FOLDED: dataflow.output

// OP-LABEL: func.func @numbers
func.func @numbers(%x: tensor<?x384xf32> {transformer.name = "x"}) -> (tensor<?x1xf32> {transformer.name = "z"}) {
  // OP: transformer.clamp %{{.*}} from 0.000000e+00 to 0x7F800000 : tensor<?x384xf32>
  %0 = transformer.clamp %x from 0.0 to 0x7F800000 : tensor<?x384xf32>
  // OP: transformer.reduce mean
  %1 = transformer.reduce mean %0 : tensor<?x384xf32> -> tensor<?x1xf32>
  // OP: transformer.shift %{{.*}}, 9.99999996E-13 : tensor<?x1xf32>
  %2 = transformer.shift %1, 9.99999996E-13 : tensor<?x1xf32>
  %3 = transformer.activate sqrt %2 : tensor<?x1xf32>
  %4 = transformer.activate reciprocal %3 : tensor<?x1xf32>
  return %4 : tensor<?x1xf32>
}

// KERNEL: dataflow.kernel @clamp
// KERNEL: ^bb0(%[[X:.*]]: f32):
// KERNEL-DAG: %[[LEAST:.*]] = arith.constant 0.000000e+00 : f32
// KERNEL-DAG: %[[MOST:.*]] = arith.constant 0x7F800000 : f32
// KERNEL: %[[ABOVE:.*]] = arith.maximumf %[[X]], %[[LEAST]] : f32
// KERNEL: arith.minimumf %[[ABOVE]], %[[MOST]] : f32
// KERNEL: dataflow.kernel @reduce{{.*}} computes #dataflow.reduce<mean, width = 384>
// KERNEL: dataflow.kernel @shift
// KERNEL:   arith.addf %{{.*}}, %{{.*}} fastmath<contract> : f32

// What follows the reduction is its epilogue.
// FOLDED: dataflow.kernel @reduce{{.*}} computes #dataflow.reduce<mean, width = 384> {
// FOLDED:   arith.addf
// FOLDED:   math.sqrt
// FOLDED:   arith.divf
// FOLDED-LABEL: dataflow.graph @numbers(

// OP-LABEL: func.func @functions
func.func @functions(%x: tensor<?x64xf32> {transformer.name = "x"}) -> (tensor<?x64xf32> {transformer.name = "y"}) {
  %0 = transformer.activate exp %x : tensor<?x64xf32>
  %1 = transformer.activate log %0 : tensor<?x64xf32>
  %2 = transformer.activate erf %1 : tensor<?x64xf32>
  // OP: transformer.activate nan_to_zero
  %3 = transformer.activate nan_to_zero %2 : tensor<?x64xf32>
  return %3 : tensor<?x64xf32>
}

// KERNEL: dataflow.kernel @exp
// KERNEL:   math.exp %{{.*}} : f32
// KERNEL: dataflow.kernel @log
// KERNEL:   math.log %{{.*}} : f32
// KERNEL: dataflow.kernel @erf
// KERNEL:   math.erf %{{.*}} : f32
// KERNEL: dataflow.kernel @nan_to_zero
// KERNEL: ^bb0(%[[X:.*]]: f32):
// KERNEL: %[[NAN:.*]] = arith.cmpf uno, %[[X]], %[[X]] : f32
// KERNEL: arith.select %[[NAN]], %{{.*}}, %[[X]] : f32

// OP-LABEL: func.func @examples
func.func @examples(%x: tensor<?x384xf32> {transformer.name = "x"}, %y: tensor<?x384xf32> {transformer.name = "y"}, %mean: tensor<?x1xf32> {transformer.name = "mean"}, %variance: tensor<?x1xf32> {transformer.name = "variance"}) -> (tensor<?x384xf32> {transformer.name = "a"}, tensor<?x384xf32> {transformer.name = "b"}, tensor<?x1xf32> {transformer.name = "c"}, tensor<?x1xf32> {transformer.name = "d"}) {
  // OP: transformer.combine subtract %{{.*}}, %{{.*}} : tensor<?x384xf32>, tensor<?x1xf32>
  %c = transformer.combine subtract %x, %mean : tensor<?x384xf32>, tensor<?x1xf32>
  // OP: transformer.combine divide
  %q = transformer.combine divide %x, %y : tensor<?x384xf32>
  // OP: transformer.shift
  %v = transformer.shift %variance, 9.99999996E-13 : tensor<?x1xf32>
  // OP: transformer.reduce mean
  %m = transformer.reduce mean %x : tensor<?x384xf32> -> tensor<?x1xf32>
  return %c, %q, %v, %m : tensor<?x384xf32>, tensor<?x384xf32>, tensor<?x1xf32>, tensor<?x1xf32>
}

// OP-LABEL: func.func @bounded
func.func @bounded(%x: tensor<?x384xf32> {transformer.name = "x"}) -> (tensor<?x384xf32> {transformer.name = "y"}) {
  // OP: transformer.clamp %{{.*}} from 0.000000e+00 to 6.000000e+00 : tensor<?x384xf32>
  %y = transformer.clamp %x from 0.0 to 6.0 : tensor<?x384xf32>
  return %y : tensor<?x384xf32>
}
