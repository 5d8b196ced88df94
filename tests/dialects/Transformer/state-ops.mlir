// SPDX-License-Identifier: Apache-2.0
// RUN: heddle-opt %s | heddle-opt | FileCheck %s
// RUN: heddle-opt %s --mlir-print-op-generic | heddle-opt | FileCheck %s
// RUN: heddle-opt %s --emit-bytecode | heddle-opt | FileCheck %s

// CHECK-LABEL: func.func @decode
// CHECK-SAME: %[[S:[a-z0-9]+]]: !transformer.state<512>
func.func @decode(%y: tensor<?x512xf32>, %rows: !transformer.segments,
                  %s0: !transformer.state<512> {transformer.name = "sum"})
    -> (tensor<?x512xf32>, !transformer.state<512> {transformer.name = "sum"}) {
  // CHECK: transformer.accumulate %[[S]], %{{.*}} in(%{{.*}}) : !transformer.state<512>
  %s1 = transformer.accumulate %s0, %y in(%rows) : !transformer.state<512>
  // A value: what was accumulated does not change it.
  // CHECK: transformer.prefix_mean %{{.*}}, %[[S]] in(%{{.*}}) : !transformer.state<512>
  %g = transformer.prefix_mean %y, %s0 in(%rows) : !transformer.state<512>
  return %g, %s1 : tensor<?x512xf32>, !transformer.state<512>
}

// CHECK-LABEL: func.func @window
// CHECK-SAME: %[[S:[a-z0-9]+]]: !transformer.state<768>
func.func @window(%x: tensor<?x384xf32>, %rows: !transformer.segments,
                  %s0: !transformer.state<768> {transformer.name = "last"})
    -> (!transformer.state<768> {transformer.name = "last"}) {
  // CHECK: transformer.keep %[[S]], %{{.*}} in(%{{.*}}) : !transformer.state<768>, tensor<?x384xf32>
  %s1 = transformer.keep %s0, %x in(%rows) : !transformer.state<768>, tensor<?x384xf32>
  return %s1 : !transformer.state<768>
}

// What another entry gives, and what goes on from run to run.
// CHECK-LABEL: func.func @carry
// CHECK-SAME: %[[S:[a-z0-9]+]]: !transformer.state<512>
func.func @carry(%s0: !transformer.state<512> {transformer.name = "h"}, %s1: !transformer.state<512> {transformer.name = "c"})
    -> (tensor<?x512xf32>, !transformer.state<512> {transformer.name = "h"}) {
  // CHECK: %[[H:.*]] = transformer.load %[[S]] : !transformer.state<512>
  %h = transformer.load %s0 : !transformer.state<512>
  // CHECK: transformer.load %{{.*}} {given} : !transformer.state<512>
  %start = transformer.load %s1 {given} : !transformer.state<512>
  // CHECK: transformer.store %[[S]], %[[H]] : !transformer.state<512>
  %after = transformer.store %s0, %h : !transformer.state<512>
  return %start, %after : tensor<?x512xf32>, !transformer.state<512>
}

func.func @change(%s0: !transformer.state<512> {transformer.name = "h"}, %h: tensor<?x512xf32>)
    -> (!transformer.state<512> {transformer.name = "h"}) {
  %s1 = transformer.store %s0, %h : !transformer.state<512>
  return %s1 : !transformer.state<512>
}

// Numbers of the keys of a memory.
// CHECK-LABEL: func.func @look
// CHECK-SAME: %[[S:[a-z0-9]+]]: !transformer.state<1, keys>
func.func @look(%s2: !transformer.state<1, keys> {transformer.name = "looked"}, %rows: !transformer.segments, %memory: !transformer.segments)
    -> (!transformer.state<1, keys> {transformer.name = "looked"}) {
  // CHECK: %[[L:.*]] = transformer.load %[[S]] over(%{{.*}}) : !transformer.state<1, keys>
  %looked = transformer.load %s2 over(%memory) : !transformer.state<1, keys>
  // CHECK: transformer.store %[[S]], %[[L]] : !transformer.state<1, keys>
  %s3 = transformer.store %s2, %looked : !transformer.state<1, keys>
  return %s3 : !transformer.state<1, keys>
}
