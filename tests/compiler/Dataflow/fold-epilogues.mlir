// SPDX-License-Identifier: Apache-2.0
// RUN: heddle-opt %s -dataflow-fold-epilogues --remarks-filter=heddle 2>%t | FileCheck %s
// RUN: FileCheck %s --check-prefix=REPORT < %t

// Element-wise maths and norms go into the kernel that produces their input. Those that stay say why.

#norm = #dataflow.norm<layer_norm, 9.99999996E-13 : f32>
!x = !dataflow.buffer<[tokens, 48], f32>
!pair = !dataflow.buffer<[tokens, 96], f32>
!left = !dataflow.buffer<[tokens, 48] in 96, f32>
!w = !dataflow.buffer<[48, 48], f32>
!v = !dataflow.buffer<[48], f32>

transformer.parameter @weight : tensor<48x48xf32> from "weight"
transformer.parameter @vector : tensor<48xf32> from "vector"

dataflow.kernel @contract : (!x, !w, !v) -> !x computes #dataflow.contract<n = 48, k = 48> {
^bb0(%sum: f32, %bias: f32):
  %0 = arith.addf %sum, %bias fastmath<contract> : f32
  dataflow.yield %0
}
dataflow.kernel @relu : (!x) -> !x computes #dataflow.rows<width = 48> {
^bb0(%x: f32):
  %zero = arith.constant 0.0 : f32
  %0 = arith.maximumf %x, %zero : f32
  dataflow.yield %0
}
dataflow.kernel @add : (!x, !x) -> !x computes #dataflow.rows<width = 48> {
^bb0(%x: f32, %y: f32):
  %0 = arith.addf %x, %y fastmath<contract> : f32
  dataflow.yield %0
}
dataflow.kernel @subtract : (!x, !x) -> !x computes #dataflow.rows<width = 48> {
^bb0(%x: f32, %y: f32):
  %0 = arith.subf %x, %y fastmath<contract> : f32
  dataflow.yield %0
}
dataflow.kernel @layer_norm : (!x, !v, !v) -> !x computes #dataflow.rows<width = 48> norm #norm {
^bb0(%x: f32):
  dataflow.yield %x
}
dataflow.kernel @attention : (!x, !x, !x) -> !x computes #dataflow.attention<heads = 3, keySize = 16, valueSize = 16, scale = 2.500000e-01 : f32, visibility = <all>> {
^bb0(%x: f32):
  dataflow.yield %x
}
dataflow.kernel @nest : (!x) -> !x computes #dataflow.nest<"th->th", none> {
^bb0(%x: f32):
  dataflow.yield %x
}
dataflow.kernel @left : (!left) -> !x computes #dataflow.rows<width = 48> {
^bb0(%x: f32):
  dataflow.yield %x
}
dataflow.kernel @pair : (!pair) -> !pair computes #dataflow.rows<width = 96> {
^bb0(%x: f32):
  dataflow.yield %x
}
dataflow.kernel @pool : (!x) -> !dataflow.buffer<[sequences, 48], f32> computes #dataflow.pool<mean, width = 48> {
^bb0(%x: f32):
  dataflow.yield %x
}
dataflow.kernel @normalize : (!dataflow.buffer<[sequences, 48], f32>) -> !dataflow.buffer<[sequences, 48], f32> computes #dataflow.rows<width = 48> norm #dataflow.norm<normalize, 9.99999996E-13 : f32> {
^bb0(%x: f32):
  dataflow.yield %x
}

// Bias, activation, residual and norm: one dispatch.
dataflow.graph @chain(%x: !x {dataflow.name = "x"}) -> (!x {dataflow.name = "y"}) {
  %w = dataflow.parameter @weight : !w
  %v = dataflow.parameter @vector : !v
  %0 = dataflow.dispatch @contract(%x, %w, %v) : (!x, !w, !v) -> !x loc("chain.dense")
  %1 = dataflow.dispatch @relu(%0) : (!x) -> !x loc("chain.relu")
  %2 = dataflow.dispatch @add(%1, %x) : (!x, !x) -> !x loc("chain.residual")
  %3 = dataflow.dispatch @layer_norm(%2, %v, %v) : (!x, !v, !v) -> !x loc("chain.norm")
  dataflow.output %3 : !x
}

// CHECK: dataflow.kernel @[[KERNEL:contract.*]] : {{.*}} computes #dataflow.contract<n = 48, k = 48> norm {{(#dataflow.norm)?}}<layer_norm, 9.99999996E-13 : f32> {
// CHECK-NEXT: ^bb0(%[[SUM:.*]]: f32, %[[BIAS:.*]]: f32, %[[X:.*]]: f32):
// CHECK-NEXT:   %[[BIASED:.*]] = arith.addf %[[SUM]], %[[BIAS]] fastmath<contract> : f32
// CHECK-NEXT:   %[[ZERO:.*]] = arith.constant 0.000000e+00 : f32
// CHECK-NEXT:   %[[RELU:.*]] = arith.maximumf %[[BIASED]], %[[ZERO]] : f32
// CHECK-NEXT:   %[[ADDED:.*]] = arith.addf %[[RELU]], %[[X]] fastmath<contract> : f32
// CHECK-NEXT:   dataflow.yield %[[ADDED]]
// CHECK-LABEL: dataflow.graph @chain(
// CHECK-SAME: %[[X:.*]]: !dataflow.buffer<[tokens, 48], f32>
// CHECK:      %[[W:.*]] = dataflow.parameter @weight
// CHECK:      %[[V:.*]] = dataflow.parameter @vector
// CHECK-NEXT: %[[Y:.*]] = dataflow.dispatch @[[KERNEL]](%[[X]], %[[W]], %[[V]], %[[X]], %[[V]], %[[V]])
// CHECK-NEXT: dataflow.output %[[Y]]
// REPORT: [Passed] fold-epilogues {{.*}} activation_bytes_per_token=384, {{.*}} what="element-wise maths folded into contract (chain.dense)", where=chain.relu
// REPORT: [Passed] fold-epilogues {{.*}} what="element-wise maths folded into contract{{.*}} (chain)", where=chain.residual
// REPORT: [Passed] fold-epilogues {{.*}} what="norm folded into contract{{.*}} (chain)", where=chain.norm

// The later of two producers takes the difference; the earlier is an operand. Order matters.
dataflow.graph @later(%x: !x {dataflow.name = "x"}) -> (!x {dataflow.name = "y"}) {
  %w = dataflow.parameter @weight : !w
  %v = dataflow.parameter @vector : !v
  %0 = dataflow.dispatch @contract(%x, %w, %v) : (!x, !w, !v) -> !x
  %1 = dataflow.dispatch @contract(%0, %w, %v) : (!x, !w, !v) -> !x
  %2 = dataflow.dispatch @contract(%x, %w, %v) : (!x, !w, !v) -> !x
  %3 = dataflow.dispatch @subtract(%1, %2) : (!x, !x) -> !x
  dataflow.output %3 : !x
}

// CHECK: dataflow.kernel @[[KERNEL:contract.*]] : {{.*}} {
// CHECK-NEXT: ^bb0(%[[SUM:.*]]: f32, %[[BIAS:.*]]: f32, %[[LEFT:.*]]: f32):
// CHECK-NEXT:   %[[RIGHT:.*]] = arith.addf %[[SUM]], %[[BIAS]] fastmath<contract> : f32
// CHECK-NEXT:   arith.subf %[[LEFT]], %[[RIGHT]] fastmath<contract> : f32
// CHECK-LABEL: dataflow.graph @later(
// CHECK:      dataflow.dispatch @contract(
// CHECK:      %[[LEFT:.*]] = dataflow.dispatch @contract(
// CHECK-NEXT: dataflow.dispatch @[[KERNEL]](%{{.*}}, %{{.*}}, %{{.*}}, %[[LEFT]])

// The operand defined after the producer: the producer moves down.
dataflow.graph @moves(%x: !x {dataflow.name = "x"}) -> (!x {dataflow.name = "y"}) {
  %w = dataflow.parameter @weight : !w
  %v = dataflow.parameter @vector : !v
  %0 = dataflow.dispatch @contract(%x, %w, %v) : (!x, !w, !v) -> !x
  %1 = dataflow.dispatch @attention(%x, %x, %x) : (!x, !x, !x) -> !x
  %2 = dataflow.dispatch @add(%1, %0) : (!x, !x) -> !x
  dataflow.output %2 : !x
}

// CHECK-LABEL: dataflow.graph @moves(
// CHECK-NOT:  dataflow.dispatch @contract
// CHECK:      %[[A:.*]] = dataflow.dispatch @attention(
// CHECK-NEXT: dataflow.dispatch @contract_{{.*}}(%{{.*}}, %{{.*}}, %{{.*}}, %[[A]])

dataflow.graph @pooled(%x: !x {dataflow.name = "x"}) -> (!dataflow.buffer<[sequences, 48], f32> {dataflow.name = "y"}) {
  %0 = dataflow.dispatch @pool(%x) : (!x) -> !dataflow.buffer<[sequences, 48], f32>
  %1 = dataflow.dispatch @normalize(%0) : (!dataflow.buffer<[sequences, 48], f32>) -> !dataflow.buffer<[sequences, 48], f32>
  dataflow.output %1 : !dataflow.buffer<[sequences, 48], f32>
}

// CHECK: dataflow.kernel @[[KERNEL:pool.*]] : {{.*}} computes #dataflow.pool<mean, width = 48> norm {{(#dataflow.norm)?}}<normalize, 9.99999996E-13 : f32>
// CHECK-LABEL: dataflow.graph @pooled(
// CHECK-NEXT: dataflow.dispatch @[[KERNEL]](
// CHECK-NEXT: dataflow.output

// Nothing here folds.
dataflow.graph @declined(%x: !x {dataflow.name = "x"}, %p: !pair {dataflow.name = "p"}) -> (!x {dataflow.name = "y"}, !x {dataflow.name = "z"}) {
  %w = dataflow.parameter @weight : !w
  %v = dataflow.parameter @vector : !v
  %0 = dataflow.dispatch @contract(%x, %w, %v) : (!x, !w, !v) -> !x loc("shared.dense")
  %1 = dataflow.dispatch @relu(%0) : (!x) -> !x loc("second.user")
  %2 = dataflow.dispatch @nest(%0) : (!x) -> !x loc("shared.nest")
  %3 = dataflow.dispatch @relu(%2) : (!x) -> !x loc("of.nest")
  %4 = dataflow.dispatch @attention(%1, %1, %3) : (!x, !x, !x) -> !x loc("attention")
  %5 = dataflow.dispatch @relu(%4) : (!x) -> !x loc("of.attention")
  %6 = dataflow.dispatch @contract(%5, %w, %v) : (!x, !w, !v) -> !x loc("double.dense")
  %7 = dataflow.dispatch @add(%6, %6) : (!x, !x) -> !x loc("double.add")
  %8 = dataflow.dispatch @layer_norm(%7, %v, %v) : (!x, !v, !v) -> !x loc("normed")
  %9 = dataflow.dispatch @relu(%8) : (!x) -> !x loc("of.norm")
  %10 = dataflow.dispatch @pair(%p) : (!pair) -> !pair loc("of.input")
  %11 = dataflow.columns %10 from 48 : !pair -> !left
  %12 = dataflow.dispatch @left(%11) : (!left) -> !x loc("of.view")
  dataflow.output %9, %12 : !x, !x
}

// A kernel goes when nothing runs it any more.
// CHECK-NOT: dataflow.kernel @layer_norm
// CHECK-LABEL: dataflow.graph @declined(
// CHECK:      dataflow.dispatch @contract(
// CHECK-NEXT: dataflow.dispatch @relu(
// CHECK-NEXT: dataflow.dispatch @nest(
// CHECK-NEXT: dataflow.dispatch @relu(
// CHECK-NEXT: dataflow.dispatch @attention(
// CHECK-NEXT: dataflow.dispatch @relu(
// CHECK-NEXT: dataflow.dispatch @contract(
// CHECK-NEXT: dataflow.dispatch @rows(
// CHECK-NEXT: dataflow.dispatch @relu(
// CHECK-NEXT: dataflow.dispatch @pair(
// CHECK-NEXT: dataflow.columns
// CHECK-NEXT: dataflow.dispatch @left(
// REPORT: [Missed] fold-epilogues {{.*}} reason="not folded: its input has a second user (shared.nest)", where=second.user
// REPORT: [Missed] fold-epilogues {{.*}} reason="not folded: its input is a loop nest, which has no epilogue", where=of.nest
// REPORT: [Missed] fold-epilogues {{.*}} reason="not folded: its input is an attention, which has no epilogue", where=of.attention
// REPORT: [Missed] fold-epilogues {{.*}} reason="not folded: it reads its input twice", where=double.add
// REPORT: [Passed] fold-epilogues {{.*}} what="norm folded into add (double.add)", where=normed
// REPORT: [Missed] fold-epilogues {{.*}} reason="not folded: its input is normalised rows (double.add)", where=of.norm
// REPORT: [Missed] fold-epilogues {{.*}} reason="not folded: no kernel produces its input", where=of.input
// REPORT: [Missed] fold-epilogues {{.*}} reason="not folded: a view lies between it and what produces its input", where=of.view
