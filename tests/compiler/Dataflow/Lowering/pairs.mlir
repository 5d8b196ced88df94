// SPDX-License-Identifier: Apache-2.0
// The maths of pairs is the second region of an attention; no buffer has an element for each of them.
// RUN: heddle-opt %s -convert-transformer-to-dataflow | FileCheck %s --implicit-check-not="longest, 20"
// RUN: heddle-opt %s -convert-transformer-to-dataflow -dataflow-merge-kernels | FileCheck %s --check-prefix=NAMES

transformer.parameter @v : tensor<1x20xf32> from "v"
transformer.parameter @w : tensor<1x20xf32> from "w"
transformer.parameter @near : tensor<1x9xf32> from "near"
transformer.parameter @lines : tensor<20x4xf32> from "lines"
transformer.parameter @filters : tensor<4x12xf32> from "filters"

// CHECK: dataflow.kernel @attention : (!dataflow.buffer<[tokens, 20], f32>, !dataflow.buffer<[tokens, 20], f32>, !dataflow.buffer<[tokens, 20], f32>, !dataflow.buffer<[1, 9], f32>, !dataflow.buffer<[1, 20], f32>) -> !dataflow.buffer<[tokens, 20], f32> computes #dataflow.attention<heads = 1, keySize = 20, valueSize = 20, scale = 1.000000e+00 : f32, visibility = <all>, biasDistance = 4, pairs = true>
// CHECK-NEXT: ^bb0(%[[S:.*]]: f32):
// CHECK-NEXT:   dataflow.yield %[[S]]
// CHECK-NEXT: } pairs {
// CHECK-NEXT: ^bb0(%[[Q:.*]]: f32, %[[K:.*]]: f32):
// CHECK-NEXT:   %[[A:.*]] = arith.addf %[[Q]], %[[K]] fastmath<contract> : f32
// CHECK-NEXT:   %[[T:.*]] = math.tanh %[[A]] : f32
// CHECK-NEXT:   dataflow.yield %[[T]]
// NAMES: dataflow.kernel @attention_1x20_pairs_bias_add_tanh :
// NAMES: dataflow.kernel @attention_weights_1x20_pairs_raw_add_abs_tanh :
// Kernels that differ in the maths of pairs alone are two, those that differ in weights are one.
// NAMES: dataflow.kernel @attention_weights_1x20_pairs_raw_add_tanh :
// NAMES-NOT: dataflow.kernel @attention_weights
// NAMES: dataflow.graph @scores
// NAMES: dataflow.kernel @attention_weights_1x20_pairs_locations7x5_filters4_cached_add_tanh :
// CHECK: dataflow.dispatch @attention(%{{.*}}, %{{.*}}, %{{.*}}, %[[NEAR:.*]], %[[V:.*]]) :
func.func @scores(%q: tensor<?x20xf32> {transformer.name = "q"}, %k: tensor<?x20xf32> {transformer.name = "k"}, %rows: !transformer.segments)
    -> (tensor<?x20xf32> {transformer.name = "y"}, tensor<?x1x?xf32> {transformer.name = "s"}, tensor<?x1x?xf32> {transformer.name = "t"}, tensor<?x1x?xf32> {transformer.name = "u"}) {
  %y = transformer.attention %q, %k, %k in(%rows, %rows) {bias = @near, heads = 1 : i64, pair_weights = @v, pairs = #transformer.score<tanh(s0)>, scale = 1.0 : f32, visibility = #transformer.visibility<all>} : tensor<?x20xf32>, tensor<?x20xf32>, tensor<?x20xf32> -> tensor<?x20xf32>
  %s = transformer.attention_weights %q, %k in(%rows, %rows) {heads = 1 : i64, pair_weights = @v, pairs = #transformer.score<abs(s0), tanh(s1)>, raw, scale = 1.0 : f32, visibility = #transformer.visibility<all>} : tensor<?x20xf32>, tensor<?x20xf32> -> tensor<?x1x?xf32>
  %t = transformer.attention_weights %q, %k in(%rows, %rows) {heads = 1 : i64, pair_weights = @v, pairs = #transformer.score<tanh(s0)>, raw, scale = 1.0 : f32, visibility = #transformer.visibility<all>} : tensor<?x20xf32>, tensor<?x20xf32> -> tensor<?x1x?xf32>
  %u = transformer.attention_weights %q, %k in(%rows, %rows) {heads = 1 : i64, pair_weights = @w, pairs = #transformer.score<tanh(s0)>, raw, scale = 1.0 : f32, visibility = #transformer.visibility<all>} : tensor<?x20xf32>, tensor<?x20xf32> -> tensor<?x1x?xf32>
  return %y, %s, %t, %u : tensor<?x20xf32>, tensor<?x1x?xf32>, tensor<?x1x?xf32>, tensor<?x1x?xf32>
}

// A cache that only a step reads as keys lies as keys, in the entry that writes it too.
// CHECK-LABEL: dataflow.graph @encode(
// CHECK-SAME: !dataflow.cache<[20], f32, keys> {dataflow.name = "c"}
func.func @encode(%x: tensor<?x20xf32> {transformer.name = "x"}, %rows: !transformer.segments, %c: !transformer.cache<20> {transformer.name = "c"})
    -> (!transformer.cache<20> {transformer.name = "c"}) {
  %c1 = transformer.append %c, %x in(%rows) : !transformer.cache<20>
  return %c1 : !transformer.cache<20>
}
// CHECK-LABEL: dataflow.graph @decode(
// CHECK-SAME: !dataflow.cache<[20], f32, keys> {dataflow.name = "c"}
// CHECK: dataflow.loop
// CHECK: dataflow.dispatch @attention{{.*}} : (!dataflow.buffer<[steps, 20], f32>, !dataflow.cache<[20], f32, keys>, !dataflow.cache<[20], f32, rows>, !dataflow.buffer<[1, 20], f32>) -> !dataflow.buffer<[steps, 20], f32>
func.func @decode(%x: tensor<?x20xf32> {transformer.name = "x"}, %rows: !transformer.segments, %source: !transformer.segments {transformer.name = "memory"},
    %c: !transformer.cache<20> {transformer.name = "c"}, %d: !transformer.cache<20> {transformer.name = "d"}, %s: !transformer.state<20> {transformer.name = "s"})
    -> (tensor<?x20xf32> {transformer.name = "y"}, !transformer.state<20> {transformer.name = "s"}) {
  %keys = transformer.cached %c in(%source) : !transformer.cache<20> -> tensor<?x20xf32>
  %values = transformer.cached %d in(%source) : !transformer.cache<20> -> tensor<?x20xf32>
  %begin = transformer.load %s {given} : !transformer.state<20>
  %last, %y = transformer.recurrence(%x : tensor<?x20xf32>) from(%begin : tensor<?x20xf32>) in(%rows) -> tensor<?x20xf32>, tensor<?x20xf32> {
  ^bb0(%now: tensor<?x20xf32>, %before: tensor<?x20xf32>):
    %a = transformer.attention %before, %keys, %values in(%rows, %source) {heads = 1 : i64, pair_weights = @v, pairs = #transformer.score<tanh(s0)>, scale = 1.0 : f32, visibility = #transformer.visibility<all>} : tensor<?x20xf32>, tensor<?x20xf32>, tensor<?x20xf32> -> tensor<?x20xf32>
    %new = transformer.add %a, %now : tensor<?x20xf32>, tensor<?x20xf32>
    transformer.next %new, %new : tensor<?x20xf32>, tensor<?x20xf32>
  }
  %s1 = transformer.store %s, %last : !transformer.state<20>
  return %y, %s1 : tensor<?x20xf32>, !transformer.state<20>
}

// Numbers of keys that a step looks at are those of the step before; tables come after them.
// CHECK-LABEL: dataflow.graph @look(
// CHECK: dataflow.loop
// CHECK: ^bb0(%{{.*}}, %[[BEFORE:[a-z0-9]*]]: !dataflow.buffer<[steps, 1, longest], f32>):
// CHECK: dataflow.dispatch @{{.*}}(%{{.*}}, %{{.*}}, %[[BEFORE]], %[[BEFORE]], %[[F:.*]], %[[L:.*]], %{{.*}}) : (!dataflow.buffer<[steps, 20], f32>, !dataflow.cache<[20], f32, keys>, !dataflow.buffer<[steps, 1, longest], f32>, !dataflow.buffer<[steps, 1, longest], f32>, !dataflow.buffer<[4, 12], f32>, !dataflow.buffer<[20, 4], f32>, !dataflow.buffer<[1, 20], f32>) -> !dataflow.buffer<[steps, 1, longest], f32>
func.func @look(%x: tensor<?x20xf32> {transformer.name = "x"}, %rows: !transformer.segments, %source: !transformer.segments {transformer.name = "memory"},
    %c: !transformer.cache<20> {transformer.name = "c"}, %d: !transformer.cache<20> {transformer.name = "d"}, %s: !transformer.state<20> {transformer.name = "s"}, %l: !transformer.state<1, keys> {transformer.name = "l"})
    -> (tensor<?x20xf32> {transformer.name = "y"}, !transformer.state<20> {transformer.name = "s"}, !transformer.state<1, keys> {transformer.name = "l"}) {
  %keys = transformer.cached %c in(%source) : !transformer.cache<20> -> tensor<?x20xf32>
  %values = transformer.cached %d in(%source) : !transformer.cache<20> -> tensor<?x20xf32>
  %begin = transformer.load %s {given} : !transformer.state<20>
  %looked = transformer.load %l over(%source) : !transformer.state<1, keys>
  %last, %look, %y = transformer.recurrence(%x : tensor<?x20xf32>) from(%begin, %looked : tensor<?x20xf32>, tensor<?x1x?xf32>) in(%rows) -> tensor<?x20xf32>, tensor<?x1x?xf32>, tensor<?x20xf32> {
  ^bb0(%now: tensor<?x20xf32>, %state: tensor<?x20xf32>, %before: tensor<?x1x?xf32>):
    %p = transformer.attention_weights %state, %keys in(%rows, %source) locations(%before, %before : tensor<?x1x?xf32>, tensor<?x1x?xf32>) {heads = 1 : i64, location_filters = @filters, location_taps = array<i64: 7, 5>, location_weights = @lines, pair_weights = @v, pairs = #transformer.score<tanh(s0)>, scale = 1.0 : f32, visibility = #transformer.visibility<all>} : tensor<?x20xf32>, tensor<?x20xf32> -> tensor<?x1x?xf32>
    %a = transformer.attend %p, %values in(%rows, %source) {visibility = #transformer.visibility<all>} : tensor<?x1x?xf32>, tensor<?x20xf32> -> tensor<?x20xf32>
    %new = transformer.add %a, %now : tensor<?x20xf32>, tensor<?x20xf32>
    transformer.next %new, %p, %new : tensor<?x20xf32>, tensor<?x1x?xf32>, tensor<?x20xf32>
  }
  %s1 = transformer.store %s, %last : !transformer.state<20>
  %l1 = transformer.store %l, %look : !transformer.state<1, keys>
  return %y, %s1, %l1 : tensor<?x20xf32>, !transformer.state<20>, !transformer.state<1, keys>
}
