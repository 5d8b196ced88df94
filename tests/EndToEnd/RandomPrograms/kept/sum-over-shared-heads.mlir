// SPDX-License-Identifier: Apache-2.0
// A sum over heads that only a cache has, with one for several: as many terms as there are heads.
// sequence: 0 3 | | 4 0 3 6 1
// sequence: 1 | | 2 5 5 0 1 3 6 2 4 1 0 2 6 3 5 4 0 1
transformer.parameter @source : tensor<5x8xf32> from "source"
transformer.parameter @table : tensor<7x8xf32> from "table"
transformer.parameter @value : tensor<8x8xf32> from "value"
transformer.parameter @sum : tensor<4x8xf32> from "sum"
transformer.parameter @rest : tensor<9x4xf32> from "rest"
func.func @encode(%ids: tensor<?xi32> {transformer.name = "source"}, %rows: !transformer.segments)
    -> (tensor<?x8xf32> {transformer.name = "encoder"}) {
  %x = transformer.gather @source[%ids] : tensor<?x8xf32>
  return %x : tensor<?x8xf32>
}
func.func @decode(%ids: tensor<?xi32> {transformer.name = "target"}, %rows: !transformer.segments,
    %memory: !transformer.segments {transformer.name = "memory"},
    %values0: !transformer.cache<8> {transformer.name = "values"})
    -> (tensor<?x9xf32> {transformer.name = "logits"}, !transformer.cache<8> {transformer.name = "values"}) {
  %x = transformer.gather @table[%ids] : tensor<?x8xf32>
  %past = transformer.history %rows
  %v = transformer.linear %x, @value : tensor<?x8xf32> -> tensor<?x8xf32>
  %values = transformer.append %values0, %v in(%rows) : !transformer.cache<8>
  %vc = transformer.cached %values in(%past) : !transformer.cache<8> -> tensor<?x8xf32>
  %v2 = transformer.split_heads %vc : tensor<?x8xf32> -> tensor<?x2x4xf32>
  %v6 = transformer.repeat_heads %v2 : tensor<?x2x4xf32> -> tensor<?x6x4xf32>
  %m = transformer.mask causal in(%rows, %past)

  %rest = transformer.linear %x, @sum : tensor<?x8xf32> -> tensor<?x4xf32>
  %each = transformer.contract "td,khd->thk" %rest, %v6 in(%rows, %past) : tensor<?x4xf32>, tensor<?x6x4xf32> -> tensor<?x6x?xf32>
  %eachs = transformer.select %m, %each {hidden = 0xFF800000 : f32} : tensor<?x6x?xf32>
  %eachp = transformer.softmax %eachs in(%past) : tensor<?x6x?xf32>
  %both = transformer.contract "thk,khd->td" %eachp, %v6 in(%rows, %past) : tensor<?x6x?xf32>, tensor<?x6x4xf32> -> tensor<?x4xf32>
  %bothh = transformer.split_heads %both : tensor<?x4xf32> -> tensor<?x1x4xf32>
  %alone = transformer.contract "ted,khd->tek" %bothh, %v6 in(%rows, %past) : tensor<?x1x4xf32>, tensor<?x6x4xf32> -> tensor<?x1x?xf32>
  %alones = transformer.select %m, %alone {hidden = 0xFF800000 : f32} : tensor<?x1x?xf32>
  %alonep = transformer.softmax %alones in(%past) : tensor<?x1x?xf32>
  %bh = transformer.contract "tek,khd->ted" %alonep, %v6 in(%rows, %past) : tensor<?x1x?xf32>, tensor<?x6x4xf32> -> tensor<?x1x4xf32>
  %b = transformer.merge_heads %bh : tensor<?x1x4xf32> -> tensor<?x4xf32>

  %logits = transformer.linear %b, @rest : tensor<?x4xf32> -> tensor<?x9xf32>
  return %logits, %values : tensor<?x9xf32>, !transformer.cache<8>
}
