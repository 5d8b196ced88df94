// SPDX-License-Identifier: Apache-2.0
// A decoder that looks at its source; both entries call an output "hidden", and one of the
// decoder is of whole sequences.
transformer.parameter @words : tensor<30x8xf32> = ones_from(0)
func.func @encode(%ids: tensor<?xi32> {transformer.name = "source"}, %rows: !transformer.segments, %c: !transformer.cache<8> {transformer.name = "k"}) -> (tensor<?x8xf32> {transformer.name = "hidden"}, !transformer.cache<8> {transformer.name = "k"}) {
  %x = transformer.gather @words[%ids] : tensor<?x8xf32>
  %c1 = transformer.append %c, %x in(%rows) : !transformer.cache<8>
  return %x, %c1 : tensor<?x8xf32>, !transformer.cache<8>
}
func.func @decode(%ids: tensor<?xi32> {transformer.name = "target"}, %rows: !transformer.segments, %memory: !transformer.segments {transformer.name = "memory"}, %c: !transformer.cache<8> {transformer.name = "k"}) -> (tensor<?x8xf32> {transformer.name = "hidden"}, tensor<?x8xf32> {transformer.name = "mean"}, tensor<?x30xf32> {transformer.name = "logits"}) {
  %x = transformer.gather @words[%ids] : tensor<?x8xf32>
  %k = transformer.cached %c in(%memory) : !transformer.cache<8> -> tensor<?x8xf32>
  %q = transformer.split_heads %x : tensor<?x8xf32> -> tensor<?x1x8xf32>
  %h = transformer.split_heads %k : tensor<?x8xf32> -> tensor<?x1x8xf32>
  %s = transformer.contract "thd,khd->thk" %q, %h in(%rows, %memory) : tensor<?x1x8xf32>, tensor<?x1x8xf32> -> tensor<?x1x?xf32>
  %p = transformer.softmax %s in(%memory) : tensor<?x1x?xf32>
  %o = transformer.contract "thk,khd->thd" %p, %h in(%rows, %memory) : tensor<?x1x?xf32>, tensor<?x1x8xf32> -> tensor<?x1x8xf32>
  %y = transformer.merge_heads %o : tensor<?x1x8xf32> -> tensor<?x8xf32>
  %l = transformer.linear %y, @words : tensor<?x8xf32> -> tensor<?x30xf32>
  %m = transformer.pool mean %y in(%rows) : tensor<?x8xf32>
  return %y, %m, %l : tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x30xf32>
}
