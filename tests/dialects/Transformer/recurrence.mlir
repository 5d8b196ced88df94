// SPDX-License-Identifier: Apache-2.0
// RUN: heddle-opt %s | heddle-opt | FileCheck %s
// RUN: heddle-opt %s --mlir-print-op-generic | heddle-opt | FileCheck %s
// RUN: heddle-opt %s --emit-bytecode | heddle-opt | FileCheck %s

transformer.parameter @input.weight : tensor<20x18xf32> from "input.weight"
transformer.parameter @input.bias : tensor<20xf32> from "input.bias"
transformer.parameter @hidden.weight : tensor<20x20xf32> from "hidden.weight"

// CHECK-LABEL: func.func @encode
// CHECK-SAME: (%[[X:.*]]: tensor<?x18xf32>, %[[ROWS:.*]]: !transformer.segments)
func.func @encode(%x: tensor<?x18xf32>, %rows: !transformer.segments) -> (tensor<?x20xf32>, tensor<?x20xf32>) {
  // CHECK: %[[R:.*]]:2 = transformer.recurrence(%[[X]] : tensor<?x18xf32>) in(%[[ROWS]]) reversed -> tensor<?x20xf32>, tensor<?x20xf32> {
  // CHECK-NEXT: ^bb0(%[[NOW:.*]]: tensor<?x18xf32>, %[[BEFORE:.*]]: tensor<?x20xf32>):
  // CHECK: transformer.linear %[[BEFORE]], @hidden.weight
  // CHECK: %[[NEW:.*]] = transformer.activate tanh
  // CHECK-NEXT: transformer.next %[[NEW]], %[[NEW]] : tensor<?x20xf32>, tensor<?x20xf32>
  // CHECK: return %[[R]]#0, %[[R]]#1
  %last, %h = transformer.recurrence(%x : tensor<?x18xf32>) in(%rows) reversed -> tensor<?x20xf32>, tensor<?x20xf32> {
  ^bb0(%now: tensor<?x18xf32>, %before: tensor<?x20xf32>):
    %a = transformer.linear %now, @input.weight, @input.bias : tensor<?x18xf32> -> tensor<?x20xf32>
    %u = transformer.linear %before, @hidden.weight : tensor<?x20xf32> -> tensor<?x20xf32>
    %sum = transformer.add %a, %u : tensor<?x20xf32>, tensor<?x20xf32>
    %new = transformer.activate tanh %sum : tensor<?x20xf32>
    transformer.next %new, %new : tensor<?x20xf32>, tensor<?x20xf32>
  }
  return %last, %h : tensor<?x20xf32>, tensor<?x20xf32>
}

// Values to begin with, and no result but the last values.
// CHECK-LABEL: func.func @sum
func.func @sum(%x: tensor<?x4xf32>, %y: tensor<?x3xf32>, %s: tensor<?x4xf32>, %rows: !transformer.segments) -> tensor<?x4xf32> {
  // CHECK: transformer.recurrence(%{{.*}}, %{{.*}} : tensor<?x4xf32>, tensor<?x3xf32>) from(%{{.*}} : tensor<?x4xf32>) in(%{{.*}}) -> tensor<?x4xf32> {
  %last = transformer.recurrence(%x, %y : tensor<?x4xf32>, tensor<?x3xf32>) from(%s : tensor<?x4xf32>) in(%rows) -> tensor<?x4xf32> {
  ^bb0(%now: tensor<?x4xf32>, %other: tensor<?x3xf32>, %before: tensor<?x4xf32>):
    %new = transformer.add %now, %before : tensor<?x4xf32>, tensor<?x4xf32>
    transformer.next %new : tensor<?x4xf32>
  }
  return %last : tensor<?x4xf32>
}

// A step looks at the memory of a source.
// CHECK-LABEL: func.func @attend
func.func @attend(%x: tensor<?x4xf32>, %rows: !transformer.segments, %source: !transformer.segments, %c: !transformer.cache<4>) -> tensor<?x4xf32> {
  %keys = transformer.cached %c in(%source) : !transformer.cache<4> -> tensor<?x4xf32>
  // CHECK: %[[KEYS:.*]] = transformer.cached
  // CHECK: transformer.recurrence
  // CHECK: transformer.contract "thd,khd->thk" %{{.*}}, %{{.*}} in(%{{.*}}, %{{.*}})
  %k = transformer.split_heads %keys : tensor<?x4xf32> -> tensor<?x1x4xf32>
  %last = transformer.recurrence(%x : tensor<?x4xf32>) in(%rows) -> tensor<?x4xf32> {
  ^bb0(%now: tensor<?x4xf32>, %before: tensor<?x4xf32>):
    %q = transformer.split_heads %before : tensor<?x4xf32> -> tensor<?x1x4xf32>
    %s = transformer.contract "thd,khd->thk" %q, %k in(%rows, %source) : tensor<?x1x4xf32>, tensor<?x1x4xf32> -> tensor<?x1x?xf32>
    %p = transformer.softmax %s in(%source) : tensor<?x1x?xf32>
    %sum = transformer.contract "thk,khd->thd" %p, %k in(%rows, %source) : tensor<?x1x?xf32>, tensor<?x1x4xf32> -> tensor<?x1x4xf32>
    %context = transformer.merge_heads %sum : tensor<?x1x4xf32> -> tensor<?x4xf32>
    %new = transformer.add %now, %context : tensor<?x4xf32>, tensor<?x4xf32>
    transformer.next %new : tensor<?x4xf32>
  }
  return %last : tensor<?x4xf32>
}

// CHECK-LABEL: func.func @both
func.func @both(%forwards: tensor<?x20xf32>, %backwards: tensor<?x20xf32>) -> tensor<?x40xf32> {
  // CHECK: transformer.concat %{{.*}}, %{{.*}} : (tensor<?x20xf32>, tensor<?x20xf32>) -> tensor<?x40xf32>
  %h = transformer.concat %forwards, %backwards : (tensor<?x20xf32>, tensor<?x20xf32>) -> tensor<?x40xf32>
  return %h : tensor<?x40xf32>
}
