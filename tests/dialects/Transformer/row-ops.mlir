// SPDX-License-Identifier: Apache-2.0
// RUN: heddle-opt %s | heddle-opt | FileCheck %s
// RUN: heddle-opt %s --mlir-print-op-generic | heddle-opt | FileCheck %s
// RUN: heddle-opt %s --emit-bytecode | heddle-opt | FileCheck %s

transformer.parameter @word.weight : tensor<30522x384xf32> from "word"
transformer.parameter @query.weight : tensor<384x384xf32> from "query.weight"
transformer.parameter @query.bias : tensor<384xf32> from "query.bias"
transformer.parameter @kappa : tensor<1xf32> from "kappa"
transformer.parameter @norm.weight : tensor<384xf32> from "norm.weight"
transformer.parameter @norm.bias : tensor<384xf32> from "norm.bias"

// CHECK-LABEL: func.func @lookups
func.func @lookups(%ids: tensor<?xi32>, %rows: !transformer.segments)
    -> (tensor<?x384xf32>, tensor<?xi32>, tensor<?xi32>) {
  // CHECK: transformer.gather @word.weight[%{{.*}}] : tensor<?x384xf32>
  %x = transformer.gather @word.weight[%ids] : tensor<?x384xf32>
  // CHECK: transformer.positions %{{.*}} {offset = 2 : i64}
  %p = transformer.positions %rows {offset = 2 : i64}
  // CHECK: transformer.positions %{{[a-z0-9]+$}}
  %q = transformer.positions %rows
  return %x, %p, %q : tensor<?x384xf32>, tensor<?xi32>, tensor<?xi32>
}

// CHECK-LABEL: func.func @linear
func.func @linear(%x: tensor<?x384xf32>) -> (tensor<?x384xf32>, tensor<?x384xf32>) {
  // CHECK: transformer.linear %{{.*}}, @query.weight, @query.bias : tensor<?x384xf32> -> tensor<?x384xf32>
  %q = transformer.linear %x, @query.weight, @query.bias : tensor<?x384xf32> -> tensor<?x384xf32>
  // CHECK: transformer.linear %{{.*}}, @query.weight : tensor<?x384xf32> -> tensor<?x384xf32>
  %k = transformer.linear %x, @query.weight : tensor<?x384xf32> -> tensor<?x384xf32>
  return %q, %k : tensor<?x384xf32>, tensor<?x384xf32>
}

// CHECK-LABEL: func.func @add
func.func @add(%o: tensor<?x384xf32>, %x: tensor<?x384xf32>, %s: tensor<?x12x?xf32>,
               %b: tensor<?x?xf32>) -> (tensor<?x384xf32>, tensor<?x384xf32>, tensor<?x12x?xf32>) {
  // CHECK: transformer.add %{{.*}}, %{{.*}} : tensor<?x384xf32>, tensor<?x384xf32>
  %r = transformer.add %o, %x : tensor<?x384xf32>, tensor<?x384xf32>
  %w = transformer.weight @query.bias : tensor<384xf32>
  // CHECK: transformer.add %{{.*}}, %{{.*}} : tensor<?x384xf32>, tensor<384xf32>
  %y = transformer.add %o, %w : tensor<?x384xf32>, tensor<384xf32>
  // CHECK: transformer.add %{{.*}}, %{{.*}} : tensor<?x12x?xf32>, tensor<?x?xf32>
  %z = transformer.add %s, %b : tensor<?x12x?xf32>, tensor<?x?xf32>
  return %r, %y, %z : tensor<?x384xf32>, tensor<?x384xf32>, tensor<?x12x?xf32>
}

// CHECK-LABEL: func.func @gates
func.func @gates(%o: tensor<?x384xf32>, %x: tensor<?x384xf32>, %r: tensor<?x384xf32>)
    -> (tensor<?x384xf32>, tensor<?x384xf32>, tensor<?x384xf32>) {
  // CHECK: transformer.multiply %{{.*}}, %{{.*}} : tensor<?x384xf32>
  %m = transformer.multiply %o, %x : tensor<?x384xf32>
  // CHECK: transformer.activate silu
  %s = transformer.activate silu %m : tensor<?x384xf32>
  // CHECK: transformer.activate sigmoid
  %g = transformer.activate sigmoid %s : tensor<?x384xf32>
  // CHECK: transformer.rms_norm %{{.*}}, @norm.weight {epsilon = 9.99999997E-7 : f32} : tensor<?x384xf32>
  %n = transformer.rms_norm %r, @norm.weight {epsilon = 9.99999997E-7 : f32} : tensor<?x384xf32>
  // CHECK: transformer.activate quick_gelu
  %q = transformer.activate quick_gelu %g : tensor<?x384xf32>
  return %m, %q, %n : tensor<?x384xf32>, tensor<?x384xf32>, tensor<?x384xf32>
}

// CHECK-LABEL: func.func @repeated
func.func @repeated(%o: tensor<?x384xf32>, %gate: tensor<?x1xf32>, %h: tensor<?x12x32xf32>)
    -> (tensor<?x384xf32>, tensor<?x12x32xf32>) {
  // CHECK: transformer.multiply %{{.*}}, %{{.*}} : tensor<?x384xf32>, tensor<?x1xf32>
  %g = transformer.multiply %o, %gate : tensor<?x384xf32>, tensor<?x1xf32>
  %w = transformer.weight @query.bias : tensor<384xf32>
  // CHECK: transformer.multiply %{{.*}}, %{{.*}} : tensor<?x384xf32>, tensor<384xf32>
  %v = transformer.multiply %g, %w : tensor<?x384xf32>, tensor<384xf32>
  %k = transformer.weight @kappa : tensor<1xf32>
  // CHECK: transformer.multiply %{{.*}}, %{{.*}} : tensor<?x384xf32>, tensor<1xf32>
  %s = transformer.multiply %v, %k : tensor<?x384xf32>, tensor<1xf32>
  // CHECK: transformer.multiply %{{.*}}, %{{.*}} : tensor<?x12x32xf32>, tensor<?x1xf32>
  %t = transformer.multiply %h, %gate : tensor<?x12x32xf32>, tensor<?x1xf32>
  return %s, %t : tensor<?x384xf32>, tensor<?x12x32xf32>
}

// CHECK-LABEL: func.func @elements
func.func @elements(%s: tensor<?x12x?xf32>, %i: tensor<?x1536xf32>)
    -> (tensor<?x12x?xf32>, tensor<?x1536xf32>) {
  // CHECK: transformer.scale %{{.*}}, 1.250000e-01 : tensor<?x12x?xf32>
  %z = transformer.scale %s, 1.250000e-01 : tensor<?x12x?xf32>
  // CHECK: transformer.activate gelu %{{.*}} : tensor<?x1536xf32>
  %g = transformer.activate gelu %i : tensor<?x1536xf32>
  // CHECK: transformer.activate gelu_new
  %n = transformer.activate gelu_new %g : tensor<?x1536xf32>
  // CHECK: transformer.activate relu
  %r = transformer.activate relu %n : tensor<?x1536xf32>
  // CHECK: transformer.activate tanh
  %t = transformer.activate tanh %r : tensor<?x1536xf32>
  // CHECK: transformer.activate softplus
  %p = transformer.activate softplus %t : tensor<?x1536xf32>
  // CHECK: transformer.activate abs
  %a = transformer.activate abs %p : tensor<?x1536xf32>
  // CHECK: transformer.activate sin
  %si = transformer.activate sin %a : tensor<?x1536xf32>
  // CHECK: transformer.activate cos
  %co = transformer.activate cos %si : tensor<?x1536xf32>
  return %z, %t : tensor<?x12x?xf32>, tensor<?x1536xf32>
}

// CHECK-LABEL: func.func @norms
func.func @norms(%r: tensor<?x384xf32>, %h: tensor<?x384xf32>, %rows: !transformer.segments)
    -> (tensor<?x384xf32>, tensor<?x384xf32>) {
  // CHECK: transformer.layer_norm %{{.*}}, @norm.weight, @norm.bias {epsilon = 9.99999996E-13 : f32} : tensor<?x384xf32>
  %n = transformer.layer_norm %r, @norm.weight, @norm.bias {epsilon = 9.99999996E-13 : f32} : tensor<?x384xf32>
  // CHECK: transformer.pool mean %{{.*}} in(%{{.*}}) : tensor<?x384xf32>
  %e = transformer.pool mean %h in(%rows) : tensor<?x384xf32>
  // CHECK: transformer.pool cls
  %c = transformer.pool cls %h in(%rows) : tensor<?x384xf32>
  // CHECK: transformer.pool max
  %m = transformer.pool max %h in(%rows) : tensor<?x384xf32>
  // CHECK: transformer.normalize %{{.*}} {epsilon = 9.99999996E-13 : f32} : tensor<?x384xf32>
  %u = transformer.normalize %e {epsilon = 9.99999996E-13 : f32} : tensor<?x384xf32>
  return %n, %u : tensor<?x384xf32>, tensor<?x384xf32>
}

// CHECK-LABEL: func.func @blocks
func.func @blocks(%x: tensor<?x384xf32>, %rows: !transformer.segments) -> (tensor<?x384xf32>, tensor<?x384xf32>) {
  // CHECK: %[[PAIRS:.*]] = transformer.blocks %[[ROWS:.*]], 2
  %pairs = transformer.blocks %rows, 2
  // CHECK: %[[SIXES:.*]] = transformer.blocks %[[PAIRS]], 3
  %sixes = transformer.blocks %pairs, 3
  // CHECK: transformer.pool max %{{.*}} in(%[[ROWS]]) to(%[[SIXES]]) : tensor<?x384xf32>
  %a = transformer.pool max %x in(%rows) to(%sixes) : tensor<?x384xf32>
  // CHECK: transformer.pool mean %{{.*}} in(%[[SIXES]]) : tensor<?x384xf32>
  %b = transformer.pool mean %a in(%sixes) : tensor<?x384xf32>
  return %a, %b : tensor<?x384xf32>, tensor<?x384xf32>
}

// CHECK-LABEL: func.func @pool_to_blocks
func.func @pool_to_blocks(%h: tensor<?x384xf32>, %rows: !transformer.segments) -> tensor<?x384xf32> {
  %pairs = transformer.blocks %rows, 2
  // CHECK: transformer.pool max %{{.*}} in(%{{.*}}) to(%{{.*}}) : tensor<?x384xf32>
  %c = transformer.pool max %h in(%rows) to(%pairs) : tensor<?x384xf32>
  return %c : tensor<?x384xf32>
}

// CHECK-LABEL: func.func @spread
func.func @spread(%e: tensor<?x384xf32>, %rows: !transformer.segments) -> tensor<?x384xf32> {
  // CHECK: transformer.spread %{{.*}} to(%{{.*}}) : tensor<?x384xf32>
  %c = transformer.spread %e to(%rows) : tensor<?x384xf32>
  return %c : tensor<?x384xf32>
}
