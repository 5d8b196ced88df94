// SPDX-License-Identifier: Apache-2.0
// RUN: heddle-opt %s -split-input-file -convert-transformer-to-dataflow -verify-diagnostics | FileCheck %s

// The most rows of a sequence; a table of positions may allow fewer.

// CHECK-LABEL: dataflow.graph @most(
// CHECK-SAME: attributes {max_length = 7 : i64}
func.func @most(%x: tensor<?x8xf32> {transformer.name = "x"}, %rows: !transformer.segments {transformer.most_rows = 7 : i64}) -> (tensor<?x8xf32> {transformer.name = "y"}) {
  %y = transformer.activate relu %x : tensor<?x8xf32>
  return %y : tensor<?x8xf32>
}

// -----

transformer.parameter @positions : tensor<5x8xf32> from "positions"

// CHECK-LABEL: dataflow.graph @table(
// CHECK-SAME: attributes {max_length = 5 : i64}
func.func @table(%x: tensor<?x8xf32> {transformer.name = "x"}, %rows: !transformer.segments {transformer.most_rows = 7 : i64}) -> (tensor<?x8xf32> {transformer.name = "y"}) {
  %p = transformer.positions %rows
  %t = transformer.gather @positions[%p] : tensor<?x8xf32>
  %y = transformer.add %x, %t : tensor<?x8xf32>, tensor<?x8xf32>
  return %y : tensor<?x8xf32>
}

// -----

// expected-error@+1 {{entry 'none' has 'transformer.most_rows' 0 : i64, expected an integer from 1 to 2147483647}}
func.func @none(%x: tensor<?x8xf32> {transformer.name = "x"}, %rows: !transformer.segments {transformer.most_rows = 0 : i64}) -> (tensor<?x8xf32> {transformer.name = "y"}) {
  %y = transformer.activate relu %x : tensor<?x8xf32>
  return %y : tensor<?x8xf32>
}
