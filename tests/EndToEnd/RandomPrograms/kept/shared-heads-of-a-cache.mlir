// SPDX-License-Identifier: Apache-2.0
// A cache with one head for several, read as contractions stand: heads before rows and after them,
// heads of the result alone, an axis more than attention has.
// sequence: 0 3 | | 4 0 3 6 1
// sequence: 1 | | 2 5 5 0 1 3 6 2 4 1 0 2 6 3 5 4 0 1
transformer.parameter @source : tensor<5x8xf32> from "source"
transformer.parameter @table : tensor<7x8xf32> from "table"
transformer.parameter @key : tensor<4x8xf32> from "key"
transformer.parameter @value : tensor<8x8xf32> from "value"
transformer.parameter @sum : tensor<4x8xf32> from "sum"
transformer.parameter @logits : tensor<9x8xf32> from "logits"
transformer.parameter @rest : tensor<9x4xf32> from "rest"
func.func @encode(%ids: tensor<?xi32> {transformer.name = "source"}, %rows: !transformer.segments)
    -> (tensor<?x8xf32> {transformer.name = "encoder"}) {
  %x = transformer.gather @source[%ids] : tensor<?x8xf32>
  return %x : tensor<?x8xf32>
}
func.func @decode(%ids: tensor<?xi32> {transformer.name = "target"}, %rows: !transformer.segments,
    %memory: !transformer.segments {transformer.name = "memory"},
    %keys0: !transformer.cache<4> {transformer.name = "keys"},
    %values0: !transformer.cache<8> {transformer.name = "values"})
    -> (tensor<?x9xf32> {transformer.name = "logits"}, !transformer.cache<4> {transformer.name = "keys"},
        !transformer.cache<8> {transformer.name = "values"}) {
  %x = transformer.gather @table[%ids] : tensor<?x8xf32>
  %past = transformer.history %rows
  %k = transformer.linear %x, @key : tensor<?x8xf32> -> tensor<?x4xf32>
  %v = transformer.linear %x, @value : tensor<?x8xf32> -> tensor<?x8xf32>
  %keys = transformer.append %keys0, %k in(%rows) : !transformer.cache<4>
  %values = transformer.append %values0, %v in(%rows) : !transformer.cache<8>
  %kc = transformer.cached %keys in(%past) : !transformer.cache<4> -> tensor<?x4xf32>
  %vc = transformer.cached %values in(%past) : !transformer.cache<8> -> tensor<?x8xf32>
  %k1 = transformer.split_heads %kc : tensor<?x4xf32> -> tensor<?x1x4xf32>
  %k2 = transformer.repeat_heads %k1 : tensor<?x1x4xf32> -> tensor<?x2x4xf32>
  %kt = transformer.transpose %k2 [1, 2, 0] : tensor<?x2x4xf32> -> tensor<2x4x?xf32>
  %v2 = transformer.split_heads %vc : tensor<?x8xf32> -> tensor<?x2x4xf32>
  %v6 = transformer.repeat_heads %v2 : tensor<?x2x4xf32> -> tensor<?x6x4xf32>
  %m = transformer.mask causal in(%rows, %past)

  // Attention with heads before rows.
  %q = transformer.split_heads %x : tensor<?x8xf32> -> tensor<?x2x4xf32>
  %qt = transformer.transpose %q [1, 0, 2] : tensor<?x2x4xf32> -> tensor<2x?x4xf32>
  %s = transformer.contract "htd,hdk->thk" %qt, %kt in(%rows, %past) : tensor<2x?x4xf32>, tensor<2x4x?xf32> -> tensor<?x2x?xf32>
  %ss = transformer.select %m, %s {hidden = 0xFF800000 : f32} : tensor<?x2x?xf32>
  %p = transformer.softmax %ss in(%past) : tensor<?x2x?xf32>
  %ot = transformer.contract "thk,khd->htd" %p, %k2 in(%rows, %past) : tensor<?x2x?xf32>, tensor<?x2x4xf32> -> tensor<2x?x4xf32>
  %o = transformer.transpose %ot [1, 0, 2] : tensor<2x?x4xf32> -> tensor<?x2x4xf32>
  %a = transformer.merge_heads %o : tensor<?x2x4xf32> -> tensor<?x8xf32>

  // One query for all heads.
  %rest = transformer.linear %x, @sum : tensor<?x8xf32> -> tensor<?x4xf32>
  %each = transformer.contract "td,khd->thk" %rest, %v6 in(%rows, %past) : tensor<?x4xf32>, tensor<?x6x4xf32> -> tensor<?x6x?xf32>
  %eachs = transformer.select %m, %each {hidden = 0xFF800000 : f32} : tensor<?x6x?xf32>
  %eachp = transformer.softmax %eachs in(%past) : tensor<?x6x?xf32>

  // Four axes, as many as a buffer has.
  %weights = transformer.contract "te,thk->tehk" %rest, %eachp in(%rows, %past) : tensor<?x4xf32>, tensor<?x6x?xf32> -> tensor<?x4x6x?xf32>
  %four = transformer.contract "tehk,khd->tehd" %weights, %v6 in(%rows, %past) : tensor<?x4x6x?xf32>, tensor<?x6x4xf32> -> tensor<?x4x6x4xf32>
  %c = transformer.contract "tehd,te->td" %four, %rest : tensor<?x4x6x4xf32>, tensor<?x4xf32> -> tensor<?x4xf32>

  %y = transformer.linear %a, @logits : tensor<?x8xf32> -> tensor<?x9xf32>
  %z = transformer.linear %c, @rest : tensor<?x4xf32> -> tensor<?x9xf32>
  %logits = transformer.add %y, %z : tensor<?x9xf32>, tensor<?x9xf32>
  return %logits, %keys, %values : tensor<?x9xf32>, !transformer.cache<4>, !transformer.cache<8>
}
