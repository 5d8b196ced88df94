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
