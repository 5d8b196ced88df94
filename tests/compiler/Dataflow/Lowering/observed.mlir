// SPDX-License-Identifier: Apache-2.0
// RUN: heddle-opt %s -convert-transformer-to-dataflow | FileCheck %s

// Results keep what they show; one entry hands out probabilities of different keys.
// CHECK-LABEL: dataflow.graph @decode(
// CHECK-SAME: !dataflow.buffer<[tokens, 2, longest], f32> {dataflow.name = "self", dataflow.observed = "decoder"},
// CHECK-SAME: !dataflow.buffer<[tokens, 2, longest], f32> {dataflow.name = "cross", dataflow.observed = "cross"})
// CHECK: %[[S:.*]] = dataflow.dispatch @softmax
// CHECK: %[[C:.*]] = dataflow.dispatch @softmax
// CHECK: dataflow.output %{{.*}}, %[[S]], %[[C]]
transformer.parameter @table : tensor<10x24xf32> from "table"
func.func @decode(%ids: tensor<?xi32> {transformer.name = "ids"}, %rows: !transformer.segments, %memory: !transformer.segments {transformer.name = "memory"}, %keys: !transformer.cache<24> {transformer.name = "keys"}, %source: !transformer.cache<24> {transformer.name = "source"}) -> (!transformer.cache<24> {transformer.name = "keys"}, tensor<?x2x?xf32> {transformer.name = "self", transformer.observed = "decoder"}, tensor<?x2x?xf32> {transformer.name = "cross", transformer.observed = "cross"}) {
  %x = transformer.gather @table[%ids] : tensor<?x24xf32>
  %q = transformer.split_heads %x : tensor<?x24xf32> -> tensor<?x2x12xf32>
  %seen = transformer.history %rows
  %grown = transformer.append %keys, %x in(%rows) : !transformer.cache<24>
  %k = transformer.cached %grown in(%seen) : !transformer.cache<24> -> tensor<?x24xf32>
  %kh = transformer.split_heads %k : tensor<?x24xf32> -> tensor<?x2x12xf32>
  %s = transformer.contract "thd,khd->thk" %q, %kh in(%rows, %seen) : tensor<?x2x12xf32>, tensor<?x2x12xf32> -> tensor<?x2x?xf32>
  %p = transformer.softmax %s in(%seen) : tensor<?x2x?xf32>
  %m = transformer.cached %source in(%memory) : !transformer.cache<24> -> tensor<?x24xf32>
  %mh = transformer.split_heads %m : tensor<?x24xf32> -> tensor<?x2x12xf32>
  %z = transformer.contract "thd,khd->thk" %q, %mh in(%rows, %memory) : tensor<?x2x12xf32>, tensor<?x2x12xf32> -> tensor<?x2x?xf32>
  %c = transformer.softmax %z in(%memory) : tensor<?x2x?xf32>
  return %grown, %p, %c : !transformer.cache<24>, tensor<?x2x?xf32>, tensor<?x2x?xf32>
}
