// SPDX-License-Identifier: Apache-2.0
// RUN: heddle-opt %s -transformer-fuse-attention --remarks-filter=heddle -verify-diagnostics | FileCheck %s

// CHECK: transformer.parameter @distances.scaled : tensor<3x9xf32> = scale(@distances, 5.000000e-01)
// CHECK: transformer.parameter @distances_others : tensor<3x9xf32> = sum(@distances, @others)
transformer.parameter @distances : tensor<3x9xf32> from "distances"
transformer.parameter @others : tensor<3x9xf32> from "others"

// After the scale, with a mask on top.
// CHECK-LABEL: func.func @scaled(
// CHECK: transformer.attention {{.*}} {bias = @distances, heads = 3 : i64, scale = 5.000000e-01 : f32, visibility = #transformer.visibility<causal>}
func.func @scaled(%x: tensor<?x3x8xf32>, %rows: !transformer.segments) -> tensor<?x3x8xf32> {
  // expected-remark @below {{3 heads of 8, scale 0.5, causal, bias @distances}}
  %s = transformer.contract "thd,khd->thk" %x, %x in(%rows, %rows) : tensor<?x3x8xf32>, tensor<?x3x8xf32> -> tensor<?x3x?xf32>
  %z = transformer.scale %s, 0.5 : tensor<?x3x?xf32>
  %b = transformer.relative_bias @distances in(%rows, %rows) : tensor<?x3x?xf32>
  %a = transformer.add %z, %b : tensor<?x3x?xf32>, tensor<?x3x?xf32>
  %m = transformer.mask causal in(%rows, %rows)
  %h = transformer.select %m, %a {hidden = 0xFF800000 : f32} : tensor<?x3x?xf32>
  %p = transformer.softmax %h in(%rows) : tensor<?x3x?xf32>
  %c = transformer.contract "thk,khd->thd" %p, %x in(%rows, %rows) : tensor<?x3x?xf32>, tensor<?x3x8xf32> -> tensor<?x3x8xf32>
  return %c : tensor<?x3x8xf32>
}

// On the left side of the sum, and summed with the mask's own bias first.
// CHECK-LABEL: func.func @left(
// CHECK: transformer.attention {{.*}} {bias = @distances, heads = 3 : i64, scale = 1.000000e+00 : f32, visibility = #transformer.visibility<causal>}
func.func @left(%x: tensor<?x3x8xf32>, %rows: !transformer.segments) -> tensor<?x3x8xf32> {
  // expected-remark @below {{3 heads of 8, scale 1, causal, bias @distances}}
  %s = transformer.contract "thd,khd->thk" %x, %x in(%rows, %rows) : tensor<?x3x8xf32>, tensor<?x3x8xf32> -> tensor<?x3x?xf32>
  %b = transformer.relative_bias @distances in(%rows, %rows) : tensor<?x3x?xf32>
  %m = transformer.mask causal in(%rows, %rows)
  %n = transformer.mask_bias %m {hidden = 0xFF800000 : f32} : tensor<?x?xf32>
  %a = transformer.add %b, %s : tensor<?x3x?xf32>, tensor<?x3x?xf32>
  %h = transformer.add %a, %n : tensor<?x3x?xf32>, tensor<?x?xf32>
  %p = transformer.softmax %h in(%rows) : tensor<?x3x?xf32>
  %c = transformer.contract "thk,khd->thd" %p, %x in(%rows, %rows) : tensor<?x3x?xf32>, tensor<?x3x8xf32> -> tensor<?x3x8xf32>
  return %c : tensor<?x3x8xf32>
}

// Every operation of a history its own: they are the same rows.
// CHECK-LABEL: func.func @histories(
// CHECK: transformer.attention {{.*}} {bias = @distances, heads = 3 : i64, scale = 1.000000e+00 : f32, visibility = #transformer.visibility<causal>}
func.func @histories(%x: tensor<?x3x8xf32>, %rows: !transformer.segments) -> tensor<?x3x8xf32> {
  %seenb = transformer.history %rows
  %seenm = transformer.history %rows
  %seens = transformer.history %rows
  %seenp = transformer.history %rows
  %seenc = transformer.history %rows
  // expected-remark @below {{3 heads of 8, scale 1, causal, bias @distances}}
  %s = transformer.contract "thd,khd->thk" %x, %x in(%rows, %seens) : tensor<?x3x8xf32>, tensor<?x3x8xf32> -> tensor<?x3x?xf32>
  %b = transformer.relative_bias @distances in(%rows, %seenb) : tensor<?x3x?xf32>
  %a = transformer.add %s, %b : tensor<?x3x?xf32>, tensor<?x3x?xf32>
  %m = transformer.mask causal in(%rows, %seenm)
  %h = transformer.select %m, %a {hidden = 0xFF800000 : f32} : tensor<?x3x?xf32>
  %p = transformer.softmax %h in(%seenp) : tensor<?x3x?xf32>
  %c = transformer.contract "thk,khd->thd" %p, %x in(%rows, %seenc) : tensor<?x3x?xf32>, tensor<?x3x8xf32> -> tensor<?x3x8xf32>
  return %c : tensor<?x3x8xf32>
}

// A factor belongs to the table, and so does a number that is learned.
// CHECK-LABEL: func.func @factor_after(
// CHECK: transformer.attention {{.*}} {bias = @distances.scaled, heads = 3 : i64, scale = 5.000000e-01 : f32
func.func @factor_after(%x: tensor<?x3x8xf32>, %rows: !transformer.segments) -> tensor<?x3x8xf32> {
  // expected-remark @below {{3 heads of 8, scale 0.5, all, bias @distances.scaled}}
  %s = transformer.contract "thd,khd->thk" %x, %x in(%rows, %rows) : tensor<?x3x8xf32>, tensor<?x3x8xf32> -> tensor<?x3x?xf32>
  %b = transformer.relative_bias @distances in(%rows, %rows) : tensor<?x3x?xf32>
  %a = transformer.add %s, %b : tensor<?x3x?xf32>, tensor<?x3x?xf32>
  %h = transformer.scale %a, 0.5 : tensor<?x3x?xf32>
  %p = transformer.softmax %h in(%rows) : tensor<?x3x?xf32>
  %c = transformer.contract "thk,khd->thd" %p, %x in(%rows, %rows) : tensor<?x3x?xf32>, tensor<?x3x8xf32> -> tensor<?x3x8xf32>
  return %c : tensor<?x3x8xf32>
}

// CHECK-LABEL: func.func @two_biases(
// CHECK: transformer.attention {{.*}} {bias = @distances_others, heads = 3 : i64
func.func @two_biases(%x: tensor<?x3x8xf32>, %rows: !transformer.segments) -> tensor<?x3x8xf32> {
  // expected-remark @below {{3 heads of 8, scale 1, all, bias @distances_others}}
  %s = transformer.contract "thd,khd->thk" %x, %x in(%rows, %rows) : tensor<?x3x8xf32>, tensor<?x3x8xf32> -> tensor<?x3x?xf32>
  %b = transformer.relative_bias @distances in(%rows, %rows) : tensor<?x3x?xf32>
  %o = transformer.relative_bias @others in(%rows, %rows) : tensor<?x3x?xf32>
  %a = transformer.add %s, %o : tensor<?x3x?xf32>, tensor<?x3x?xf32>
  %h = transformer.add %a, %b : tensor<?x3x?xf32>, tensor<?x3x?xf32>
  %p = transformer.softmax %h in(%rows) : tensor<?x3x?xf32>
  %c = transformer.contract "thk,khd->thd" %p, %x in(%rows, %rows) : tensor<?x3x?xf32>, tensor<?x3x8xf32> -> tensor<?x3x8xf32>
  return %c : tensor<?x3x8xf32>
}

// The history of other rows is another.
// CHECK-LABEL: func.func @other_history(
// CHECK-NOT: transformer.attention
func.func @other_history(%x: tensor<?x3x8xf32>, %rows: !transformer.segments, %others: !transformer.segments) -> tensor<?x3x8xf32> {
  %seen = transformer.history %rows
  %other = transformer.history %others
  %s = transformer.contract "thd,khd->thk" %x, %x in(%rows, %seen) : tensor<?x3x8xf32>, tensor<?x3x8xf32> -> tensor<?x3x?xf32>
  %b = transformer.relative_bias @distances in(%rows, %other) : tensor<?x3x?xf32>
  %h = transformer.add %s, %b : tensor<?x3x?xf32>, tensor<?x3x?xf32>
  // expected-remark @below {{not fused: the bias by distance is that of other segments than the scores}}
  %p = transformer.softmax %h in(%seen) : tensor<?x3x?xf32>
  %c = transformer.contract "thk,khd->thd" %p, %x in(%rows, %seen) : tensor<?x3x?xf32>, tensor<?x3x8xf32> -> tensor<?x3x8xf32>
  return %c : tensor<?x3x8xf32>
}

// CHECK-LABEL: func.func @other_segments(
// CHECK-NOT: transformer.attention
func.func @other_segments(%x: tensor<?x3x8xf32>, %rows: !transformer.segments, %others: !transformer.segments) -> tensor<?x3x8xf32> {
  %s = transformer.contract "thd,khd->thk" %x, %x in(%rows, %rows) : tensor<?x3x8xf32>, tensor<?x3x8xf32> -> tensor<?x3x?xf32>
  %b = transformer.relative_bias @distances in(%rows, %others) : tensor<?x3x?xf32>
  %h = transformer.add %s, %b : tensor<?x3x?xf32>, tensor<?x3x?xf32>
  // expected-remark @below {{not fused: the bias by distance is that of other segments than the scores}}
  %p = transformer.softmax %h in(%rows) : tensor<?x3x?xf32>
  %c = transformer.contract "thk,khd->thd" %p, %x in(%rows, %rows) : tensor<?x3x?xf32>, tensor<?x3x8xf32> -> tensor<?x3x8xf32>
  return %c : tensor<?x3x8xf32>
}
