// SPDX-License-Identifier: Apache-2.0
// RUN: heddle-opt %s -transformer-fuse-attention --remarks-filter=heddle -split-input-file -verify-diagnostics | FileCheck %s
// RUN: heddle-opt %s -transformer-fuse-attention -convert-transformer-to-dataflow -split-input-file | FileCheck %s --check-prefix=LOWERED

// A cache lies in memory as keys or as values: what would read one as the other stays a loop nest.

!cache = !transformer.cache<8>
// CHECK-LABEL: func.func @same(
// CHECK-NOT: transformer.attention
// LOWERED-LABEL: dataflow.graph @same(
// LOWERED-SAME: !dataflow.cache<[8], f32, rows>
func.func @same(%x: tensor<?x8xf32> {transformer.name = "x"}, %rows: !transformer.segments, %m: !transformer.segments {transformer.name = "memory"}, %c: !cache {transformer.name = "c"}) -> (tensor<?x8xf32> {transformer.name = "y"}) {
  %k = transformer.cached %c in(%m) : !cache -> tensor<?x8xf32>
  %qh = transformer.split_heads %x : tensor<?x8xf32> -> tensor<?x2x4xf32>
  %kh = transformer.split_heads %k : tensor<?x8xf32> -> tensor<?x2x4xf32>
  %s = transformer.contract "thd,khd->thk" %qh, %kh in(%rows, %m) : tensor<?x2x4xf32>, tensor<?x2x4xf32> -> tensor<?x2x?xf32>
  // expected-remark @below {{not fused: cache "c" is read as keys and as values}}
  %p = transformer.softmax %s in(%m) : tensor<?x2x?xf32>
  %o = transformer.contract "thk,khd->thd" %p, %kh in(%rows, %m) : tensor<?x2x?xf32>, tensor<?x2x4xf32> -> tensor<?x2x4xf32>
  %y = transformer.merge_heads %o : tensor<?x2x4xf32> -> tensor<?x8xf32>
  return %y : tensor<?x8xf32>
}

// -----

// Across entries and layers the first stays.

!cache = !transformer.cache<8>
// CHECK-LABEL: func.func @first(
// CHECK: transformer.attention
// LOWERED-LABEL: dataflow.graph @first(
// LOWERED: dataflow.dispatch @attention
func.func @first(%x: tensor<?x8xf32> {transformer.name = "x"}, %rows: !transformer.segments, %m: !transformer.segments {transformer.name = "memory"}, %c: !cache {transformer.name = "c"}, %d: !cache {transformer.name = "d"}) -> (tensor<?x8xf32> {transformer.name = "y"}) {
  %k = transformer.cached %c in(%m) : !cache -> tensor<?x8xf32>
  %v = transformer.cached %d in(%m) : !cache -> tensor<?x8xf32>
  %y = transformer.attention %x, %k, %v in(%rows, %m) {heads = 2 : i64, scale = 1.0 : f32, visibility = #transformer.visibility<all>} : tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32> -> tensor<?x8xf32>
  return %y : tensor<?x8xf32>
}
// CHECK-LABEL: func.func @second(
// CHECK: transformer.attention
// CHECK: transformer.softmax
// LOWERED-LABEL: dataflow.graph @second(
// LOWERED: dataflow.dispatch @attention
// LOWERED: dataflow.dispatch @softmax
func.func @second(%x: tensor<?x8xf32> {transformer.name = "x"}, %rows: !transformer.segments, %m: !transformer.segments {transformer.name = "memory"}, %a: !cache {transformer.name = "a"}, %b: !cache {transformer.name = "b"}, %c: !cache {transformer.name = "c"}) -> (tensor<?x8xf32> {transformer.name = "y"}) {
  %ka = transformer.cached %a in(%m) : !cache -> tensor<?x8xf32>
  %kb = transformer.cached %b in(%m) : !cache -> tensor<?x8xf32>
  %kc = transformer.cached %c in(%m) : !cache -> tensor<?x8xf32>
  %ah = transformer.split_heads %ka : tensor<?x8xf32> -> tensor<?x2x4xf32>
  %bh = transformer.split_heads %kb : tensor<?x8xf32> -> tensor<?x2x4xf32>
  %ch = transformer.split_heads %kc : tensor<?x8xf32> -> tensor<?x2x4xf32>
  %qh = transformer.split_heads %x : tensor<?x8xf32> -> tensor<?x2x4xf32>
  // expected-remark @below {{2 heads of 4, scale 1, all}}
  %s0 = transformer.contract "thd,khd->thk" %qh, %ah in(%rows, %m) : tensor<?x2x4xf32>, tensor<?x2x4xf32> -> tensor<?x2x?xf32>
  %p0 = transformer.softmax %s0 in(%m) : tensor<?x2x?xf32>
  %o0 = transformer.contract "thk,khd->thd" %p0, %bh in(%rows, %m) : tensor<?x2x?xf32>, tensor<?x2x4xf32> -> tensor<?x2x4xf32>
  %s1 = transformer.contract "thd,khd->thk" %o0, %ah in(%rows, %m) : tensor<?x2x4xf32>, tensor<?x2x4xf32> -> tensor<?x2x?xf32>
  // expected-remark @below {{not fused: cache "c" is read as keys and as values}}
  %p1 = transformer.softmax %s1 in(%m) : tensor<?x2x?xf32>
  %o1 = transformer.contract "thk,khd->thd" %p1, %ch in(%rows, %m) : tensor<?x2x?xf32>, tensor<?x2x4xf32> -> tensor<?x2x4xf32>
  %s2 = transformer.contract "thd,khd->thk" %o1, %bh in(%rows, %m) : tensor<?x2x4xf32>, tensor<?x2x4xf32> -> tensor<?x2x?xf32>
  // expected-remark @below {{not fused: cache "b" is read as keys and as values}}
  %p2 = transformer.softmax %s2 in(%m) : tensor<?x2x?xf32>
  %o2 = transformer.contract "thk,khd->thd" %p2, %ch in(%rows, %m) : tensor<?x2x?xf32>, tensor<?x2x4xf32> -> tensor<?x2x4xf32>
  %y = transformer.merge_heads %o2 : tensor<?x2x4xf32> -> tensor<?x8xf32>
  return %y : tensor<?x8xf32>
}

// -----

// Heads that are not columns side by side: no copy of a cache puts them there.

!cache = !transformer.cache<8>
// CHECK-LABEL: func.func @interleaved(
// CHECK-NOT: transformer.attention
// LOWERED-LABEL: dataflow.graph @interleaved(
func.func @interleaved(%x: tensor<?x8xf32> {transformer.name = "x"}, %rows: !transformer.segments, %m: !transformer.segments {transformer.name = "memory"}, %c: !cache {transformer.name = "c"}, %d: !cache {transformer.name = "d"}) -> (tensor<?x8xf32> {transformer.name = "y"}) {
  %k = transformer.cached %c in(%m) : !cache -> tensor<?x8xf32>
  %v = transformer.cached %d in(%m) : !cache -> tensor<?x8xf32>
  %qh = transformer.split_heads %x : tensor<?x8xf32> -> tensor<?x2x4xf32>
  %kd = transformer.split_heads %k : tensor<?x8xf32> -> tensor<?x4x2xf32>
  %vh = transformer.split_heads %v : tensor<?x8xf32> -> tensor<?x2x4xf32>
  %s = transformer.contract "thd,kdh->thk" %qh, %kd in(%rows, %m) : tensor<?x2x4xf32>, tensor<?x4x2xf32> -> tensor<?x2x?xf32>
  // expected-remark @below {{not fused: the keys are of a cache and have their axes in another order}}
  %p = transformer.softmax %s in(%m) : tensor<?x2x?xf32>
  %o = transformer.contract "thk,khd->thd" %p, %vh in(%rows, %m) : tensor<?x2x?xf32>, tensor<?x2x4xf32> -> tensor<?x2x4xf32>
  %y = transformer.merge_heads %o : tensor<?x2x4xf32> -> tensor<?x8xf32>
  return %y : tensor<?x8xf32>
}
