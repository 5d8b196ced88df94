// SPDX-License-Identifier: Apache-2.0
// RUN: heddle-opt %s -transformer-observe-attention --remarks-filter=heddle 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: heddle-opt %s -transformer-observe-attention | FileCheck %s
// Twice is as good as once.
// RUN: heddle-opt %s -transformer-observe-attention -transformer-observe-attention | FileCheck %s

// REMARK-DAG: observe-attention{{.*}}what="encoder in @kinds", where=layers.0.self
// REMARK-DAG: observe-attention{{.*}}what="decoder in @kinds", where=layers.0.history
// REMARK-DAG: observe-attention{{.*}}what="cross in @kinds", where=layers.0.memory
// REMARK-DAG: observe-attention{{.*}}what="encoder in @names", where=self

// What the keys are decides the kind; the results that were there stay where they were.
// CHECK-LABEL: func.func @kinds(
// CHECK-SAME: -> (tensor<?x24xf32> {transformer.name = "y"}, !transformer.cache<24> {transformer.name = "keys"},
// CHECK-SAME: tensor<?x3x?xf32> {transformer.name = "layers.0.self", transformer.observed = "encoder"},
// CHECK-SAME: tensor<?x2x?xf32> {transformer.name = "layers.0.history", transformer.observed = "decoder"},
// CHECK-SAME: tensor<?x3x?xf32> {transformer.name = "layers.0.memory", transformer.observed = "cross"})
// CHECK: %[[R:.*]] = transformer.softmax %{{.*}} in(%[[ROWS:.*]]) : tensor<?x3x?xf32>
// CHECK: %[[H:.*]] = transformer.softmax %{{.*}} in(%{{.*}}) : tensor<?x2x?xf32>
// CHECK: %[[M:.*]] = transformer.softmax
// CHECK: return %{{.*}}, %{{.*}}, %[[R]], %[[H]], %[[M]]
func.func @kinds(%a: tensor<?x3x8xf32>, %b: tensor<?x2x12xf32>, %x: tensor<?x24xf32>, %rows: !transformer.segments, %memory: !transformer.segments, %keys: !transformer.cache<24> {transformer.name = "keys"}, %source: !transformer.cache<24> {transformer.name = "source"}) -> (tensor<?x24xf32> {transformer.name = "y"}, !transformer.cache<24> {transformer.name = "keys"}) {
  %grown = transformer.append %keys, %x in(%rows) : !transformer.cache<24>
  %seen = transformer.history %rows
  %k = transformer.cached %grown in(%seen) : !transformer.cache<24> -> tensor<?x24xf32>
  %kh = transformer.split_heads %k : tensor<?x24xf32> -> tensor<?x2x12xf32>
  %m = transformer.cached %source in(%memory) : !transformer.cache<24> -> tensor<?x24xf32>
  %mh = transformer.split_heads %m : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %s0 = transformer.contract "thd,khd->thk" %a, %a in(%rows, %rows) : tensor<?x3x8xf32>, tensor<?x3x8xf32> -> tensor<?x3x?xf32>
  %p0 = transformer.softmax %s0 in(%rows) : tensor<?x3x?xf32> loc("layers.0.self")
  %c0 = transformer.contract "thk,khd->thd" %p0, %a in(%rows, %rows) : tensor<?x3x?xf32>, tensor<?x3x8xf32> -> tensor<?x3x8xf32>
  %s1 = transformer.contract "thd,khd->thk" %b, %kh in(%rows, %seen) : tensor<?x2x12xf32>, tensor<?x2x12xf32> -> tensor<?x2x?xf32>
  %p1 = transformer.softmax %s1 in(%seen) : tensor<?x2x?xf32> loc("layers.0.history")
  %c1 = transformer.contract "thk,khd->thd" %p1, %kh in(%rows, %seen) : tensor<?x2x?xf32>, tensor<?x2x12xf32> -> tensor<?x2x12xf32>
  %s2 = transformer.contract "thd,khd->thk" %a, %mh in(%rows, %memory) : tensor<?x3x8xf32>, tensor<?x3x8xf32> -> tensor<?x3x?xf32>
  %p2 = transformer.softmax %s2 in(%memory) : tensor<?x3x?xf32> loc("layers.0.memory")
  %c2 = transformer.contract "thk,khd->thd" %p2, %mh in(%rows, %memory) : tensor<?x3x?xf32>, tensor<?x3x8xf32> -> tensor<?x3x8xf32>
  %r0 = transformer.merge_heads %c0 : tensor<?x3x8xf32> -> tensor<?x24xf32>
  %r1 = transformer.merge_heads %c1 : tensor<?x2x12xf32> -> tensor<?x24xf32>
  %r2 = transformer.merge_heads %c2 : tensor<?x3x8xf32> -> tensor<?x24xf32>
  %y0 = transformer.add %r0, %r1 : tensor<?x24xf32>, tensor<?x24xf32>
  %y = transformer.add %y0, %r2 : tensor<?x24xf32>, tensor<?x24xf32>
  return %y, %grown : tensor<?x24xf32>, !transformer.cache<24>
}

// Names are made different, also from those of other results; a result that is an output by its own
// name becomes one that can be observed as well.
// CHECK-LABEL: func.func @names(
// CHECK-SAME: {transformer.name = "self"}, tensor<?x3x?xf32> {transformer.name = "attention"},
// CHECK-SAME: {transformer.name = "self#2", transformer.observed = "encoder"},
// CHECK-SAME: {transformer.name = "self#3", transformer.observed = "encoder"})
// CHECK: return %{{.*}}, %[[P:.*]], %[[P]], %{{.*}}
func.func @names(%a: tensor<?x3x8xf32>, %rows: !transformer.segments) -> (tensor<?x24xf32> {transformer.name = "self"}, tensor<?x3x?xf32> {transformer.name = "attention"}) {
  %s = transformer.contract "thd,khd->thk" %a, %a in(%rows, %rows) : tensor<?x3x8xf32>, tensor<?x3x8xf32> -> tensor<?x3x?xf32>
  %z = transformer.scale %s, 0.5 : tensor<?x3x?xf32>
  %p = transformer.softmax %s in(%rows) : tensor<?x3x?xf32> loc("self")
  %q = transformer.softmax %z in(%rows) : tensor<?x3x?xf32> loc("self")
  %c = transformer.contract "thk,khd->thd" %q, %a in(%rows, %rows) : tensor<?x3x?xf32>, tensor<?x3x8xf32> -> tensor<?x3x8xf32>
  %r = transformer.merge_heads %c : tensor<?x3x8xf32> -> tensor<?x24xf32>
  return %r, %p : tensor<?x24xf32>, tensor<?x3x?xf32>
}

// What nothing uses is not kept alive.
// CHECK-LABEL: func.func @unused(
// CHECK-SAME: -> (tensor<?x24xf32> {transformer.name = "y"}) {
func.func @unused(%x: tensor<?x24xf32>, %a: tensor<?x3x8xf32>, %rows: !transformer.segments) -> (tensor<?x24xf32> {transformer.name = "y"}) {
  %s = transformer.contract "thd,khd->thk" %a, %a in(%rows, %rows) : tensor<?x3x8xf32>, tensor<?x3x8xf32> -> tensor<?x3x?xf32>
  %p = transformer.softmax %s in(%rows) : tensor<?x3x?xf32>
  return %x : tensor<?x24xf32>
}

// Neither queries nor keys that are blocks of rows have places among the rows of the entry.
// CHECK-LABEL: func.func @blocks(
// CHECK-SAME: -> (tensor<?x24xf32> {transformer.name = "x"}, tensor<?x24xf32> {transformer.name = "y"}) {
func.func @blocks(%a: tensor<?x3x8xf32>, %b: tensor<?x3x8xf32>, %rows: !transformer.segments) -> (tensor<?x24xf32> {transformer.name = "x"}, tensor<?x24xf32> {transformer.name = "y"}) {
  %pairs = transformer.blocks %rows, 2
  %s0 = transformer.contract "thd,khd->thk" %a, %b in(%rows, %pairs) : tensor<?x3x8xf32>, tensor<?x3x8xf32> -> tensor<?x3x?xf32>
  %p0 = transformer.softmax %s0 in(%pairs) : tensor<?x3x?xf32>
  %c0 = transformer.contract "thk,khd->thd" %p0, %b in(%rows, %pairs) : tensor<?x3x?xf32>, tensor<?x3x8xf32> -> tensor<?x3x8xf32>
  %x = transformer.merge_heads %c0 : tensor<?x3x8xf32> -> tensor<?x24xf32>
  %s1 = transformer.contract "thd,khd->thk" %b, %a in(%pairs, %rows) : tensor<?x3x8xf32>, tensor<?x3x8xf32> -> tensor<?x3x?xf32>
  %z1 = transformer.scale %s1, 0.5 : tensor<?x3x?xf32>
  %p1 = transformer.softmax %z1 in(%rows) : tensor<?x3x?xf32>
  %c1 = transformer.contract "thk,khd->thd" %p1, %a in(%pairs, %rows) : tensor<?x3x?xf32>, tensor<?x3x8xf32> -> tensor<?x3x8xf32>
  %y = transformer.merge_heads %c1 : tensor<?x3x8xf32> -> tensor<?x24xf32>
  return %x, %y : tensor<?x24xf32>, tensor<?x24xf32>
}
