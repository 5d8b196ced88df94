// SPDX-License-Identifier: Apache-2.0
// RUN: heddle-opt %s -transformer-fuse-rotary --remarks-filter=heddle -verify-diagnostics | FileCheck %s

transformer.parameter @norm : tensor<5xf32> from "norm"

// Halves put together, the columns after them left alone.
// CHECK-LABEL: func.func @halves(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<?x15xf32>, %[[C:[a-z0-9]+]]: tensor<?x2xf32>, %[[S:[a-z0-9]+]]:
// CHECK-NOT: transformer.multiply
// CHECK: %[[R:.*]] = transformer.rotate %[[X]], %[[C]], %[[S]] {heads = 3 : i64} : tensor<?x15xf32>, tensor<?x2xf32>
// CHECK-NEXT: return %[[R]]
func.func @halves(%q: tensor<?x15xf32>, %cosine: tensor<?x2xf32>, %sine: tensor<?x2xf32>, %rows: !transformer.segments) -> tensor<?x15xf32> {
  %heads = transformer.choices %rows, 3
  %h = transformer.split_rows %q to(%heads) : tensor<?x15xf32> -> tensor<?x5xf32>
  %c = transformer.repeat %cosine to(%heads) : tensor<?x2xf32>
  %s = transformer.repeat %sine to(%heads) : tensor<?x2xf32>
  %x = transformer.columns %h from 0 : tensor<?x5xf32> -> tensor<?x2xf32>
  %y = transformer.columns %h from 2 : tensor<?x5xf32> -> tensor<?x2xf32>
  %z = transformer.columns %h from 4 : tensor<?x5xf32> -> tensor<?x1xf32>
  %xc = transformer.multiply %x, %c : tensor<?x2xf32>
  %ys = transformer.multiply %y, %s : tensor<?x2xf32>
  %m = transformer.scale %ys, -1.0 : tensor<?x2xf32>
  %near = transformer.add %xc, %m : tensor<?x2xf32>, tensor<?x2xf32>
  %yc = transformer.multiply %y, %c : tensor<?x2xf32>
  %xs = transformer.multiply %x, %s : tensor<?x2xf32>
  %far = transformer.add %yc, %xs : tensor<?x2xf32>, tensor<?x2xf32>
  %g = transformer.concat %near, %far, %z : (tensor<?x2xf32>, tensor<?x2xf32>, tensor<?x1xf32>) -> tensor<?x5xf32>
  // expected-remark @below {{3 heads of 5, 4 columns of each turned}}
  %r = transformer.join_rows %g in(%heads) : tensor<?x5xf32> -> tensor<?x15xf32>
  return %r : tensor<?x15xf32>
}

// A factor of what is turned stays: attention makes it part of its scale.
// CHECK-LABEL: func.func @scaled(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<?x8xf32>, %[[C:[a-z0-9]+]]: tensor<?x2xf32>, %[[S:[a-z0-9]+]]:
// CHECK: %[[R:.*]] = transformer.rotate %[[X]], %[[C]], %[[S]] {heads = 2 : i64}
// CHECK-NEXT: %[[H:.*]] = transformer.scale %[[R]], 5.000000e-01
// CHECK-NEXT: %[[T:.*]] = transformer.scale %[[H]], 3.000000e+00
// CHECK-NEXT: return %[[T]]
func.func @scaled(%q: tensor<?x8xf32>, %cosine: tensor<?x2xf32>, %sine: tensor<?x2xf32>, %rows: !transformer.segments) -> tensor<?x8xf32> {
  %heads = transformer.choices %rows, 2
  %h = transformer.split_rows %q to(%heads) : tensor<?x8xf32> -> tensor<?x4xf32>
  %c = transformer.repeat %cosine to(%heads) : tensor<?x2xf32>
  %s = transformer.repeat %sine to(%heads) : tensor<?x2xf32>
  %x = transformer.columns %h from 0 : tensor<?x4xf32> -> tensor<?x2xf32>
  %y = transformer.columns %h from 2 : tensor<?x4xf32> -> tensor<?x2xf32>
  %xc = transformer.multiply %x, %c : tensor<?x2xf32>
  %ys = transformer.multiply %y, %s : tensor<?x2xf32>
  %m = transformer.scale %ys, -1.0 : tensor<?x2xf32>
  %near = transformer.add %xc, %m : tensor<?x2xf32>, tensor<?x2xf32>
  %yc = transformer.multiply %y, %c : tensor<?x2xf32>
  %xs = transformer.multiply %x, %s : tensor<?x2xf32>
  %far = transformer.add %yc, %xs : tensor<?x2xf32>, tensor<?x2xf32>
  %g = transformer.concat %near, %far : (tensor<?x2xf32>, tensor<?x2xf32>) -> tensor<?x4xf32>
  %half = transformer.scale %g, 0.5 : tensor<?x4xf32>
  %all = transformer.scale %half, 3.0 : tensor<?x4xf32>
  // expected-remark @below {{2 heads of 4, 4 columns of each turned}}
  %r = transformer.join_rows %all in(%heads) : tensor<?x4xf32> -> tensor<?x8xf32>
  return %r : tensor<?x8xf32>
}

// All columns times both cosines side by side, plus the halves exchanged times both sines: as
// Transformers spells it. Rows of heads that something else made are joined first; the sign may be
// at the sine, and factors become those of cosines and sines.
// CHECK-LABEL: func.func @exchanged(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<?x8xf32>, %[[C:[a-z0-9]+]]: tensor<?x2xf32>, %[[S:[a-z0-9]+]]: tensor<?x2xf32>
// CHECK-DAG: %[[C2:.*]] = transformer.scale %[[C]], 1.500000e+00
// CHECK-DAG: %[[S2:.*]] = transformer.scale %[[S]], -2.000000e+00
// CHECK: %[[N:.*]] = transformer.normalize
// CHECK: %[[J:.*]] = transformer.join_rows %[[N]]
// CHECK-NEXT: transformer.rotate %[[J]], %[[C2]], %[[S2]] {heads = 2 : i64}
func.func @exchanged(%q: tensor<?x8xf32>, %cosine: tensor<?x2xf32>, %sine: tensor<?x2xf32>, %rows: !transformer.segments) -> tensor<?x8xf32> {
  %heads = transformer.choices %rows, 2
  %p = transformer.split_rows %q to(%heads) : tensor<?x8xf32> -> tensor<?x4xf32>
  %h = transformer.normalize %p {epsilon = 1.0e-6 : f32} : tensor<?x4xf32>
  %cs = transformer.scale %cosine, 1.5 : tensor<?x2xf32>
  %cc = transformer.concat %cs, %cs : (tensor<?x2xf32>, tensor<?x2xf32>) -> tensor<?x4xf32>
  %c = transformer.repeat %cc to(%heads) : tensor<?x4xf32>
  %n = transformer.scale %sine, -2.0 : tensor<?x2xf32>
  %ss = transformer.concat %n, %n : (tensor<?x2xf32>, tensor<?x2xf32>) -> tensor<?x4xf32>
  %s = transformer.repeat %ss to(%heads) : tensor<?x4xf32>
  %x = transformer.columns %h from 0 : tensor<?x4xf32> -> tensor<?x2xf32>
  %y = transformer.columns %h from 2 : tensor<?x4xf32> -> tensor<?x2xf32>
  %m = transformer.scale %y, -1.0 : tensor<?x2xf32>
  %e = transformer.concat %m, %x : (tensor<?x2xf32>, tensor<?x2xf32>) -> tensor<?x4xf32>
  %a = transformer.multiply %s, %e : tensor<?x4xf32>
  %b = transformer.multiply %h, %c : tensor<?x4xf32>
  %g = transformer.add %a, %b : tensor<?x4xf32>, tensor<?x4xf32>
  // expected-remark @below {{2 heads of 4, 4 columns of each turned}}
  %r = transformer.join_rows %g in(%heads) : tensor<?x4xf32> -> tensor<?x8xf32>
  return %r : tensor<?x8xf32>
}

// The sign is missing: two columns that are mirrored, not turned.
// CHECK-LABEL: func.func @mirrored(
// CHECK-NOT: transformer.rotate
func.func @mirrored(%q: tensor<?x8xf32>, %cosine: tensor<?x2xf32>, %sine: tensor<?x2xf32>, %rows: !transformer.segments) -> tensor<?x8xf32> {
  %heads = transformer.choices %rows, 2
  %h = transformer.split_rows %q to(%heads) : tensor<?x8xf32> -> tensor<?x4xf32>
  %c = transformer.repeat %cosine to(%heads) : tensor<?x2xf32>
  %s = transformer.repeat %sine to(%heads) : tensor<?x2xf32>
  %x = transformer.columns %h from 0 : tensor<?x4xf32> -> tensor<?x2xf32>
  %y = transformer.columns %h from 2 : tensor<?x4xf32> -> tensor<?x2xf32>
  %xc = transformer.multiply %x, %c : tensor<?x2xf32>
  %ys = transformer.multiply %y, %s : tensor<?x2xf32>
  %near = transformer.add %xc, %ys : tensor<?x2xf32>, tensor<?x2xf32>
  %yc = transformer.multiply %y, %c : tensor<?x2xf32>
  %xs = transformer.multiply %x, %s : tensor<?x2xf32>
  %far = transformer.add %yc, %xs : tensor<?x2xf32>, tensor<?x2xf32>
  %g = transformer.concat %near, %far : (tensor<?x2xf32>, tensor<?x2xf32>) -> tensor<?x4xf32>
  // expected-remark @below {{not fused: both columns of a pair are not turned by one angle}}
  %r = transformer.join_rows %g in(%heads) : tensor<?x4xf32> -> tensor<?x8xf32>
  return %r : tensor<?x8xf32>
}

// Each head has angles of its own.
// CHECK-LABEL: func.func @angles_of_heads(
// CHECK-NOT: transformer.rotate
func.func @angles_of_heads(%q: tensor<?x8xf32>, %cosine: tensor<?x4xf32>, %sine: tensor<?x2xf32>, %rows: !transformer.segments) -> tensor<?x8xf32> {
  %heads = transformer.choices %rows, 2
  %h = transformer.split_rows %q to(%heads) : tensor<?x8xf32> -> tensor<?x4xf32>
  %c = transformer.split_rows %cosine to(%heads) : tensor<?x4xf32> -> tensor<?x2xf32>
  %s = transformer.repeat %sine to(%heads) : tensor<?x2xf32>
  %x = transformer.columns %h from 0 : tensor<?x4xf32> -> tensor<?x2xf32>
  %y = transformer.columns %h from 2 : tensor<?x4xf32> -> tensor<?x2xf32>
  %xc = transformer.multiply %x, %c : tensor<?x2xf32>
  %ys = transformer.multiply %y, %s : tensor<?x2xf32>
  %m = transformer.scale %ys, -1.0 : tensor<?x2xf32>
  %near = transformer.add %xc, %m : tensor<?x2xf32>, tensor<?x2xf32>
  %yc = transformer.multiply %y, %c : tensor<?x2xf32>
  %xs = transformer.multiply %x, %s : tensor<?x2xf32>
  %far = transformer.add %yc, %xs : tensor<?x2xf32>, tensor<?x2xf32>
  %g = transformer.concat %near, %far : (tensor<?x2xf32>, tensor<?x2xf32>) -> tensor<?x4xf32>
  // expected-remark @below {{not fused: heads of one row are turned by several angles}}
  %r = transformer.join_rows %g in(%heads) : tensor<?x4xf32> -> tensor<?x8xf32>
  return %r : tensor<?x8xf32>
}

// So may each head have if nothing says whose rows the cosines are.
// CHECK-LABEL: func.func @angles_of_unknown_rows(
// CHECK-NOT: transformer.rotate
func.func @angles_of_unknown_rows(%q: tensor<?x8xf32>, %c: tensor<?x2xf32>, %sine: tensor<?x2xf32>, %rows: !transformer.segments) -> tensor<?x8xf32> {
  %heads = transformer.choices %rows, 2
  %h = transformer.split_rows %q to(%heads) : tensor<?x8xf32> -> tensor<?x4xf32>
  %s = transformer.repeat %sine to(%heads) : tensor<?x2xf32>
  %x = transformer.columns %h from 0 : tensor<?x4xf32> -> tensor<?x2xf32>
  %y = transformer.columns %h from 2 : tensor<?x4xf32> -> tensor<?x2xf32>
  %xc = transformer.multiply %x, %c : tensor<?x2xf32>
  %ys = transformer.multiply %y, %s : tensor<?x2xf32>
  %m = transformer.scale %ys, -1.0 : tensor<?x2xf32>
  %near = transformer.add %xc, %m : tensor<?x2xf32>, tensor<?x2xf32>
  %yc = transformer.multiply %y, %c : tensor<?x2xf32>
  %xs = transformer.multiply %x, %s : tensor<?x2xf32>
  %far = transformer.add %yc, %xs : tensor<?x2xf32>, tensor<?x2xf32>
  %g = transformer.concat %near, %far : (tensor<?x2xf32>, tensor<?x2xf32>) -> tensor<?x4xf32>
  // expected-remark @below {{not fused: heads of one row are turned by several angles}}
  %r = transformer.join_rows %g in(%heads) : tensor<?x4xf32> -> tensor<?x8xf32>
  return %r : tensor<?x8xf32>
}

// What follows the pairs is scaled; the other halves are no pairs.
// CHECK-LABEL: func.func @others(
// CHECK-NOT: transformer.rotate
func.func @others(%q: tensor<?x15xf32>, %cosine: tensor<?x2xf32>, %sine: tensor<?x2xf32>, %rows: !transformer.segments) -> (tensor<?x15xf32>, tensor<?x12xf32>, tensor<?x15xf32>) {
  %heads = transformer.choices %rows, 3
  %h = transformer.split_rows %q to(%heads) : tensor<?x15xf32> -> tensor<?x5xf32>
  %c = transformer.repeat %cosine to(%heads) : tensor<?x2xf32>
  %s = transformer.repeat %sine to(%heads) : tensor<?x2xf32>
  %x = transformer.columns %h from 0 : tensor<?x5xf32> -> tensor<?x2xf32>
  %y = transformer.columns %h from 2 : tensor<?x5xf32> -> tensor<?x2xf32>
  %z = transformer.columns %h from 4 : tensor<?x5xf32> -> tensor<?x1xf32>
  %z2 = transformer.scale %z, 2.0 : tensor<?x1xf32>
  %xc = transformer.multiply %x, %c : tensor<?x2xf32>
  %ys = transformer.multiply %y, %s : tensor<?x2xf32>
  %m = transformer.scale %ys, -1.0 : tensor<?x2xf32>
  %near = transformer.add %xc, %m : tensor<?x2xf32>, tensor<?x2xf32>
  %yc = transformer.multiply %y, %c : tensor<?x2xf32>
  %xs = transformer.multiply %x, %s : tensor<?x2xf32>
  %far = transformer.add %yc, %xs : tensor<?x2xf32>, tensor<?x2xf32>
  %g = transformer.concat %near, %far, %z2 : (tensor<?x2xf32>, tensor<?x2xf32>, tensor<?x1xf32>) -> tensor<?x5xf32>
  // expected-remark @below {{not fused: the columns after the pairs are not left as they are}}
  %r = transformer.join_rows %g in(%heads) : tensor<?x5xf32> -> tensor<?x15xf32>
  %w = transformer.add %xc, %xs : tensor<?x2xf32>, tensor<?x2xf32>
  %o = transformer.concat %near, %w : (tensor<?x2xf32>, tensor<?x2xf32>) -> tensor<?x4xf32>
  // expected-remark @below {{not fused: the first columns are not those of pairs, turned}}
  %t = transformer.join_rows %o in(%heads) : tensor<?x4xf32> -> tensor<?x12xf32>
  %u = transformer.add %h, %h : tensor<?x5xf32>, tensor<?x5xf32>
  // expected-remark @below {{not fused: it is not sums of two products in two halves}}
  %v = transformer.join_rows %u in(%heads) : tensor<?x5xf32> -> tensor<?x15xf32>
  return %r, %t, %v : tensor<?x15xf32>, tensor<?x12xf32>, tensor<?x15xf32>
}

// Rows of heads that are only normalized are no candidates.
// CHECK-LABEL: func.func @no_candidate(
// CHECK: transformer.join_rows
func.func @no_candidate(%q: tensor<?x15xf32>, %rows: !transformer.segments) -> tensor<?x15xf32> {
  %heads = transformer.choices %rows, 3
  %h = transformer.split_rows %q to(%heads) : tensor<?x15xf32> -> tensor<?x5xf32>
  %n = transformer.rms_norm %h, @norm {epsilon = 1.0e-6 : f32} : tensor<?x5xf32>
  %r = transformer.join_rows %n in(%heads) : tensor<?x5xf32> -> tensor<?x15xf32>
  return %r : tensor<?x15xf32>
}

// Each use of a value is read anew: of sixteen uses in each of nine operations, or two in each of
// 24, only the first are.
// CHECK-LABEL: func.func @many_uses(
// CHECK-NOT: transformer.rotate
func.func @many_uses(%x0: tensor<?x1xf32>, %a0: tensor<?x4xf32>, %rows: !transformer.segments) -> (tensor<?x32xf32>, tensor<?x8xf32>) {
  %heads = transformer.choices %rows, 2
  %c0 = transformer.concat %x0, %x0, %x0, %x0, %x0, %x0, %x0, %x0, %x0, %x0, %x0, %x0, %x0, %x0, %x0, %x0 : (tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xf32>) -> tensor<?x16xf32>
  %x1 = transformer.columns %c0 from 0 : tensor<?x16xf32> -> tensor<?x1xf32>
  %c1 = transformer.concat %x1, %x1, %x1, %x1, %x1, %x1, %x1, %x1, %x1, %x1, %x1, %x1, %x1, %x1, %x1, %x1 : (tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xf32>) -> tensor<?x16xf32>
  %x2 = transformer.columns %c1 from 0 : tensor<?x16xf32> -> tensor<?x1xf32>
  %c2 = transformer.concat %x2, %x2, %x2, %x2, %x2, %x2, %x2, %x2, %x2, %x2, %x2, %x2, %x2, %x2, %x2, %x2 : (tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xf32>) -> tensor<?x16xf32>
  %x3 = transformer.columns %c2 from 0 : tensor<?x16xf32> -> tensor<?x1xf32>
  %c3 = transformer.concat %x3, %x3, %x3, %x3, %x3, %x3, %x3, %x3, %x3, %x3, %x3, %x3, %x3, %x3, %x3, %x3 : (tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xf32>) -> tensor<?x16xf32>
  %x4 = transformer.columns %c3 from 0 : tensor<?x16xf32> -> tensor<?x1xf32>
  %c4 = transformer.concat %x4, %x4, %x4, %x4, %x4, %x4, %x4, %x4, %x4, %x4, %x4, %x4, %x4, %x4, %x4, %x4 : (tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xf32>) -> tensor<?x16xf32>
  %x5 = transformer.columns %c4 from 0 : tensor<?x16xf32> -> tensor<?x1xf32>
  %c5 = transformer.concat %x5, %x5, %x5, %x5, %x5, %x5, %x5, %x5, %x5, %x5, %x5, %x5, %x5, %x5, %x5, %x5 : (tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xf32>) -> tensor<?x16xf32>
  %x6 = transformer.columns %c5 from 0 : tensor<?x16xf32> -> tensor<?x1xf32>
  %c6 = transformer.concat %x6, %x6, %x6, %x6, %x6, %x6, %x6, %x6, %x6, %x6, %x6, %x6, %x6, %x6, %x6, %x6 : (tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xf32>) -> tensor<?x16xf32>
  %x7 = transformer.columns %c6 from 0 : tensor<?x16xf32> -> tensor<?x1xf32>
  %c7 = transformer.concat %x7, %x7, %x7, %x7, %x7, %x7, %x7, %x7, %x7, %x7, %x7, %x7, %x7, %x7, %x7, %x7 : (tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xf32>) -> tensor<?x16xf32>
  %x8 = transformer.columns %c7 from 0 : tensor<?x16xf32> -> tensor<?x1xf32>
  %g = transformer.concat %x8, %x8, %x8, %x8, %x8, %x8, %x8, %x8, %x8, %x8, %x8, %x8, %x8, %x8, %x8, %x8 : (tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xf32>, tensor<?x1xf32>) -> tensor<?x16xf32>
  // expected-remark @below {{not fused: it is not sums of two products in two halves}}
  %r = transformer.join_rows %g in(%heads) : tensor<?x16xf32> -> tensor<?x32xf32>
  %a1 = transformer.add %a0, %a0 : tensor<?x4xf32>, tensor<?x4xf32>
  %a2 = transformer.add %a1, %a1 : tensor<?x4xf32>, tensor<?x4xf32>
  %a3 = transformer.add %a2, %a2 : tensor<?x4xf32>, tensor<?x4xf32>
  %a4 = transformer.add %a3, %a3 : tensor<?x4xf32>, tensor<?x4xf32>
  %a5 = transformer.add %a4, %a4 : tensor<?x4xf32>, tensor<?x4xf32>
  %a6 = transformer.add %a5, %a5 : tensor<?x4xf32>, tensor<?x4xf32>
  %a7 = transformer.add %a6, %a6 : tensor<?x4xf32>, tensor<?x4xf32>
  %a8 = transformer.add %a7, %a7 : tensor<?x4xf32>, tensor<?x4xf32>
  %a9 = transformer.add %a8, %a8 : tensor<?x4xf32>, tensor<?x4xf32>
  %a10 = transformer.add %a9, %a9 : tensor<?x4xf32>, tensor<?x4xf32>
  %a11 = transformer.add %a10, %a10 : tensor<?x4xf32>, tensor<?x4xf32>
  %a12 = transformer.add %a11, %a11 : tensor<?x4xf32>, tensor<?x4xf32>
  %a13 = transformer.add %a12, %a12 : tensor<?x4xf32>, tensor<?x4xf32>
  %a14 = transformer.add %a13, %a13 : tensor<?x4xf32>, tensor<?x4xf32>
  %a15 = transformer.add %a14, %a14 : tensor<?x4xf32>, tensor<?x4xf32>
  %a16 = transformer.add %a15, %a15 : tensor<?x4xf32>, tensor<?x4xf32>
  %a17 = transformer.add %a16, %a16 : tensor<?x4xf32>, tensor<?x4xf32>
  %a18 = transformer.add %a17, %a17 : tensor<?x4xf32>, tensor<?x4xf32>
  %a19 = transformer.add %a18, %a18 : tensor<?x4xf32>, tensor<?x4xf32>
  %a20 = transformer.add %a19, %a19 : tensor<?x4xf32>, tensor<?x4xf32>
  %a21 = transformer.add %a20, %a20 : tensor<?x4xf32>, tensor<?x4xf32>
  %a22 = transformer.add %a21, %a21 : tensor<?x4xf32>, tensor<?x4xf32>
  %a23 = transformer.add %a22, %a22 : tensor<?x4xf32>, tensor<?x4xf32>
  %a24 = transformer.add %a23, %a23 : tensor<?x4xf32>, tensor<?x4xf32>
  // expected-remark @below {{not fused: it is not sums of two products in two halves}}
  %s = transformer.join_rows %a24 in(%heads) : tensor<?x4xf32> -> tensor<?x8xf32>
  return %r, %s : tensor<?x32xf32>, tensor<?x8xf32>
}
