// SPDX-License-Identifier: Apache-2.0
// Masks of a finite number: the scores of hidden keys are what was written, not minus infinity.
// RUN: heddle-opt %s -transformer-fuse-attention --remarks-filter=heddle -verify-diagnostics | FileCheck %s

transformer.parameter @distances : tensor<3x9xf32> from "distances"

// Added, then a factor on both.
// CHECK-LABEL: func.func @added(
// CHECK: transformer.attention {{.*}} {heads = 3 : i64, hidden = #transformer.hidden<added -3.000000e+02 : f32>, scale = 3.000000e-02 : f32, visibility = #transformer.visibility<causal>}
func.func @added(%x: tensor<?x3x8xf32>, %rows: !transformer.segments) -> tensor<?x3x8xf32> {
  // expected-remark @below {{3 heads of 8, scale 0.03, causal by adding -300"}}
  %s = transformer.contract "thd,khd->thk" %x, %x in(%rows, %rows) : tensor<?x3x8xf32>, tensor<?x3x8xf32> -> tensor<?x3x?xf32>
  %m = transformer.mask causal in(%rows, %rows)
  %b = transformer.mask_bias %m {hidden = -1.0e4 : f32} : tensor<?x?xf32>
  %y = transformer.add %s, %b : tensor<?x3x?xf32>, tensor<?x?xf32>
  %z = transformer.scale %y, 3.0e-2 : tensor<?x3x?xf32>
  %p = transformer.softmax %z in(%rows) : tensor<?x3x?xf32>
  %c = transformer.contract "thk,khd->thd" %p, %x in(%rows, %rows) : tensor<?x3x?xf32>, tensor<?x3x8xf32> -> tensor<?x3x8xf32>
  return %c : tensor<?x3x8xf32>
}

// A factor on the mask alone; the sum of two masks, one of which turns round.
// CHECK-LABEL: func.func @added_small(
// CHECK: transformer.attention {{.*}} {heads = 3 : i64, hidden = #transformer.hidden<added -5.000000e+00 : f32>, scale = 1.000000e+00 : f32, visibility = #transformer.visibility<causal>}
func.func @added_small(%x: tensor<?x3x8xf32>, %rows: !transformer.segments) -> tensor<?x3x8xf32> {
  // expected-remark @below {{causal by adding -5"}}
  %s = transformer.contract "thd,khd->thk" %x, %x in(%rows, %rows) : tensor<?x3x8xf32>, tensor<?x3x8xf32> -> tensor<?x3x?xf32>
  %m = transformer.mask causal in(%rows, %rows)
  %b = transformer.mask_bias %m {hidden = -1.0e4 : f32} : tensor<?x?xf32>
  %f = transformer.scale %b, 1.0e-3 : tensor<?x?xf32>
  %g = transformer.scale %b, -5.0e-4 : tensor<?x?xf32>
  %e = transformer.add %f, %g : tensor<?x?xf32>, tensor<?x?xf32>
  %z = transformer.add %s, %e : tensor<?x3x?xf32>, tensor<?x?xf32>
  %p = transformer.softmax %z in(%rows) : tensor<?x3x?xf32>
  %c = transformer.contract "thk,khd->thd" %p, %x in(%rows, %rows) : tensor<?x3x?xf32>, tensor<?x3x8xf32> -> tensor<?x3x8xf32>
  return %c : tensor<?x3x8xf32>
}

// Masks that cancel.
// CHECK-LABEL: func.func @added_nothing(
// CHECK: transformer.attention {{.*}} {heads = 3 : i64, scale = 1.000000e+00 : f32, visibility = #transformer.visibility<all>}
func.func @added_nothing(%x: tensor<?x3x8xf32>, %rows: !transformer.segments) -> tensor<?x3x8xf32> {
  // expected-remark @below {{3 heads of 8, scale 1, all"}}
  %s = transformer.contract "thd,khd->thk" %x, %x in(%rows, %rows) : tensor<?x3x8xf32>, tensor<?x3x8xf32> -> tensor<?x3x?xf32>
  %m = transformer.mask causal in(%rows, %rows)
  %b = transformer.mask_bias %m {hidden = -1.0e4 : f32} : tensor<?x?xf32>
  %g = transformer.scale %b, -1.0 : tensor<?x?xf32>
  %y = transformer.add %s, %b : tensor<?x3x?xf32>, tensor<?x?xf32>
  %z = transformer.add %y, %g : tensor<?x3x?xf32>, tensor<?x?xf32>
  %p = transformer.softmax %z in(%rows) : tensor<?x3x?xf32>
  %c = transformer.contract "thk,khd->thd" %p, %x in(%rows, %rows) : tensor<?x3x?xf32>, tensor<?x3x8xf32> -> tensor<?x3x8xf32>
  return %c : tensor<?x3x8xf32>
}

// Written in place of scores; a factor that turns round makes it the largest.
// CHECK-LABEL: func.func @written(
// CHECK: transformer.attention {{.*}} {heads = 3 : i64, hidden = #transformer.hidden<score 5.000000e+03 : f32>, scale = -5.000000e-01 : f32, visibility = #transformer.visibility<causal>}
func.func @written(%x: tensor<?x3x8xf32>, %rows: !transformer.segments) -> tensor<?x3x8xf32> {
  // expected-remark @below {{causal by writing 5000"}}
  %s = transformer.contract "thd,khd->thk" %x, %x in(%rows, %rows) : tensor<?x3x8xf32>, tensor<?x3x8xf32> -> tensor<?x3x?xf32>
  %m = transformer.mask causal in(%rows, %rows)
  %y = transformer.select %m, %s {hidden = -1.0e4 : f32} : tensor<?x3x?xf32>
  %z = transformer.scale %y, -5.0e-1 : tensor<?x3x?xf32>
  %p = transformer.softmax %z in(%rows) : tensor<?x3x?xf32>
  %c = transformer.contract "thk,khd->thd" %p, %x in(%rows, %rows) : tensor<?x3x?xf32>, tensor<?x3x8xf32> -> tensor<?x3x8xf32>
  return %c : tensor<?x3x8xf32>
}

// What is written covers what was done before, and not what comes after.
// CHECK-LABEL: func.func @written_over(
// CHECK: transformer.attention {{.*}} {heads = 3 : i64, hidden = #transformer.hidden<score -5.000000e+04 : f32>, scale = 1.000000e+00 : f32, visibility = #transformer.visibility<causal>}
func.func @written_over(%x: tensor<?x3x8xf32>, %rows: !transformer.segments) -> tensor<?x3x8xf32> {
  // expected-remark @below {{causal by writing -50000"}}
  %s = transformer.contract "thd,khd->thk" %x, %x in(%rows, %rows) : tensor<?x3x8xf32>, tensor<?x3x8xf32> -> tensor<?x3x?xf32>
  %m = transformer.mask causal in(%rows, %rows)
  %b = transformer.mask_bias %m {hidden = -3.0e4 : f32} : tensor<?x?xf32>
  %v = transformer.add %s, %b : tensor<?x3x?xf32>, tensor<?x?xf32>
  %w = transformer.select %m, %v {hidden = 0xFF800000 : f32} : tensor<?x3x?xf32>
  %y = transformer.select %m, %w {hidden = -2.0e4 : f32} : tensor<?x3x?xf32>
  %z = transformer.add %y, %b : tensor<?x3x?xf32>, tensor<?x?xf32>
  %p = transformer.softmax %z in(%rows) : tensor<?x3x?xf32>
  %c = transformer.contract "thk,khd->thd" %p, %x in(%rows, %rows) : tensor<?x3x?xf32>, tensor<?x3x8xf32> -> tensor<?x3x8xf32>
  return %c : tensor<?x3x8xf32>
}

// Minus infinity outside of a number hides.
// CHECK-LABEL: func.func @infinite_outside(
// CHECK: transformer.attention {{.*}} {heads = 3 : i64, scale = 1.000000e+00 : f32, visibility = #transformer.visibility<causal>}
func.func @infinite_outside(%x: tensor<?x3x8xf32>, %rows: !transformer.segments) -> tensor<?x3x8xf32> {
  // expected-remark @below {{3 heads of 8, scale 1, causal"}}
  %s = transformer.contract "thd,khd->thk" %x, %x in(%rows, %rows) : tensor<?x3x8xf32>, tensor<?x3x8xf32> -> tensor<?x3x?xf32>
  %m = transformer.mask causal in(%rows, %rows)
  %y = transformer.select %m, %s {hidden = -2.0e4 : f32} : tensor<?x3x?xf32>
  %z = transformer.select %m, %y {hidden = 0xFF800000 : f32} : tensor<?x3x?xf32>
  %p = transformer.softmax %z in(%rows) : tensor<?x3x?xf32>
  %c = transformer.contract "thk,khd->thd" %p, %x in(%rows, %rows) : tensor<?x3x?xf32>, tensor<?x3x8xf32> -> tensor<?x3x8xf32>
  return %c : tensor<?x3x8xf32>
}

// The lowest number of f32 hides from all that is not as low.
// CHECK-LABEL: func.func @lowest(
// CHECK: transformer.attention {{.*}} {heads = 3 : i64, scale = 1.000000e+00 : f32, visibility = #transformer.visibility<causal>}
func.func @lowest(%x: tensor<?x3x8xf32>, %rows: !transformer.segments) -> tensor<?x3x8xf32> {
  // expected-remark @below {{3 heads of 8, scale 1, causal"}}
  %s = transformer.contract "thd,khd->thk" %x, %x in(%rows, %rows) : tensor<?x3x8xf32>, tensor<?x3x8xf32> -> tensor<?x3x?xf32>
  %m = transformer.mask causal in(%rows, %rows)
  %z = transformer.select %m, %s {hidden = 0xFF7FFFFF : f32} : tensor<?x3x?xf32>
  %p = transformer.softmax %z in(%rows) : tensor<?x3x?xf32>
  %c = transformer.contract "thk,khd->thd" %p, %x in(%rows, %rows) : tensor<?x3x?xf32>, tensor<?x3x8xf32> -> tensor<?x3x8xf32>
  return %c : tensor<?x3x8xf32>
}

// A mask of all keys hides none.
// CHECK-LABEL: func.func @all_keys(
// CHECK: transformer.attention {{.*}} {heads = 3 : i64, scale = 1.000000e+00 : f32, visibility = #transformer.visibility<all>}
func.func @all_keys(%x: tensor<?x3x8xf32>, %rows: !transformer.segments) -> tensor<?x3x8xf32> {
  // expected-remark @below {{3 heads of 8, scale 1, all"}}
  %s = transformer.contract "thd,khd->thk" %x, %x in(%rows, %rows) : tensor<?x3x8xf32>, tensor<?x3x8xf32> -> tensor<?x3x?xf32>
  %m = transformer.mask causal in(%rows, %rows)
  %a = transformer.mask all in(%rows, %rows)
  %b = transformer.mask_bias %a {hidden = -1.0e4 : f32} : tensor<?x?xf32>
  %y = transformer.add %s, %b : tensor<?x3x?xf32>, tensor<?x?xf32>
  %z = transformer.select %a, %y {hidden = -1.0e4 : f32} : tensor<?x3x?xf32>
  %p = transformer.softmax %z in(%rows) : tensor<?x3x?xf32>
  %c = transformer.contract "thk,khd->thd" %p, %x in(%rows, %rows) : tensor<?x3x?xf32>, tensor<?x3x8xf32> -> tensor<?x3x8xf32>
  return %c : tensor<?x3x8xf32>
}

// A bias by distance that the mask writes over.
// CHECK-LABEL: func.func @bias_within(
// CHECK: transformer.attention {{.*}} {bias = @distances, heads = 3 : i64, hidden = #transformer.hidden<score -1.000000e+04 : f32>, scale = 1.000000e+00 : f32, visibility = #transformer.visibility<causal>}
func.func @bias_within(%x: tensor<?x3x8xf32>, %rows: !transformer.segments) -> tensor<?x3x8xf32> {
  // expected-remark @below {{causal by writing -10000, bias @distances"}}
  %s = transformer.contract "thd,khd->thk" %x, %x in(%rows, %rows) : tensor<?x3x8xf32>, tensor<?x3x8xf32> -> tensor<?x3x?xf32>
  %m = transformer.mask causal in(%rows, %rows)
  %t = transformer.relative_bias @distances in(%rows, %rows) : tensor<?x3x?xf32>
  %y = transformer.add %s, %t : tensor<?x3x?xf32>, tensor<?x3x?xf32>
  %z = transformer.select %m, %y {hidden = -1.0e4 : f32} : tensor<?x3x?xf32>
  %p = transformer.softmax %z in(%rows) : tensor<?x3x?xf32>
  %c = transformer.contract "thk,khd->thd" %p, %x in(%rows, %rows) : tensor<?x3x?xf32>, tensor<?x3x8xf32> -> tensor<?x3x8xf32>
  return %c : tensor<?x3x8xf32>
}

// And one that hidden keys have too.
// CHECK-LABEL: func.func @bias_outside(
// CHECK: transformer.attention {{.*}} {bias = @distances, heads = 3 : i64, hidden = #transformer.hidden<product -1.000000e+04 : f32>, scale = 1.000000e+00 : f32, visibility = #transformer.visibility<causal>}
func.func @bias_outside(%x: tensor<?x3x8xf32>, %rows: !transformer.segments) -> tensor<?x3x8xf32> {
  // expected-remark @below {{causal by writing -10000, bias @distances"}}
  %s = transformer.contract "thd,khd->thk" %x, %x in(%rows, %rows) : tensor<?x3x8xf32>, tensor<?x3x8xf32> -> tensor<?x3x?xf32>
  %m = transformer.mask causal in(%rows, %rows)
  %t = transformer.relative_bias @distances in(%rows, %rows) : tensor<?x3x?xf32>
  %y = transformer.select %m, %s {hidden = -1.0e4 : f32} : tensor<?x3x?xf32>
  %z = transformer.add %y, %t : tensor<?x3x?xf32>, tensor<?x3x?xf32>
  %p = transformer.softmax %z in(%rows) : tensor<?x3x?xf32>
  %c = transformer.contract "thk,khd->thd" %p, %x in(%rows, %rows) : tensor<?x3x?xf32>, tensor<?x3x8xf32> -> tensor<?x3x8xf32>
  return %c : tensor<?x3x8xf32>
}

// With a sum the order makes no difference.
// CHECK-LABEL: func.func @bias_added(
// CHECK: transformer.attention {{.*}} {bias = @distances, heads = 3 : i64, hidden = #transformer.hidden<added -1.000000e+04 : f32>, scale = 1.000000e+00 : f32, visibility = #transformer.visibility<causal>}
func.func @bias_added(%x: tensor<?x3x8xf32>, %rows: !transformer.segments) -> tensor<?x3x8xf32> {
  // expected-remark @below {{causal by adding -10000, bias @distances"}}
  %s = transformer.contract "thd,khd->thk" %x, %x in(%rows, %rows) : tensor<?x3x8xf32>, tensor<?x3x8xf32> -> tensor<?x3x?xf32>
  %m = transformer.mask causal in(%rows, %rows)
  %t = transformer.relative_bias @distances in(%rows, %rows) : tensor<?x3x?xf32>
  %b = transformer.mask_bias %m {hidden = -1.0e4 : f32} : tensor<?x?xf32>
  %y = transformer.add %s, %t : tensor<?x3x?xf32>, tensor<?x3x?xf32>
  %z = transformer.add %y, %b : tensor<?x3x?xf32>, tensor<?x?xf32>
  %p = transformer.softmax %z in(%rows) : tensor<?x3x?xf32>
  %c = transformer.contract "thk,khd->thd" %p, %x in(%rows, %rows) : tensor<?x3x?xf32>, tensor<?x3x8xf32> -> tensor<?x3x8xf32>
  return %c : tensor<?x3x8xf32>
}

// Weights have the mask; the sums are over all keys.
// CHECK-LABEL: func.func @shared(
// CHECK: %[[P:.*]] = transformer.attention_weights {{.*}} {heads = 3 : i64, hidden = #transformer.hidden<added -1.000000e+04 : f32>, scale = 1.000000e+00 : f32, visibility = #transformer.visibility<causal>}
// CHECK: transformer.attend %[[P]], {{.*}} {visibility = #transformer.visibility<all>}
// CHECK: transformer.attend %[[P]], {{.*}} {visibility = #transformer.visibility<all>}
func.func @shared(%x: tensor<?x3x8xf32>, %w: tensor<?x3x8xf32>, %rows: !transformer.segments) -> (tensor<?x3x8xf32>, tensor<?x3x8xf32>) {
  // expected-remark @below {{causal by adding -10000, weights of 2 sums}}
  %s = transformer.contract "thd,khd->thk" %x, %x in(%rows, %rows) : tensor<?x3x8xf32>, tensor<?x3x8xf32> -> tensor<?x3x?xf32>
  %m = transformer.mask causal in(%rows, %rows)
  %b = transformer.mask_bias %m {hidden = -1.0e4 : f32} : tensor<?x?xf32>
  %z = transformer.add %s, %b : tensor<?x3x?xf32>, tensor<?x?xf32>
  %p = transformer.softmax %z in(%rows) : tensor<?x3x?xf32>
  %c = transformer.contract "thk,khd->thd" %p, %x in(%rows, %rows) : tensor<?x3x?xf32>, tensor<?x3x8xf32> -> tensor<?x3x8xf32>
  %d = transformer.contract "thk,khd->thd" %p, %w in(%rows, %rows) : tensor<?x3x?xf32>, tensor<?x3x8xf32> -> tensor<?x3x8xf32>
  return %c, %d : tensor<?x3x8xf32>, tensor<?x3x8xf32>
}
