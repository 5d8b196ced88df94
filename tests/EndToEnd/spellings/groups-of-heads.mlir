// SPDX-License-Identifier: Apache-2.0
// Grouped-query attention: three heads of queries have one of keys and values.
transformer.parameter @word.weight : tensor<32x24xf32> from "word.weight"
transformer.parameter @query.weight : tensor<24x24xf32> from "query.weight"
transformer.parameter @query.bias : tensor<24xf32> from "query.bias"
transformer.parameter @key.weight : tensor<24x24xf32> from "key.weight"
transformer.parameter @key.bias : tensor<24xf32> from "key.bias"
transformer.parameter @value.weight : tensor<24x24xf32> from "value.weight"
transformer.parameter @value.bias : tensor<24xf32> from "value.bias"
transformer.parameter @output.weight : tensor<24x24xf32> from "output.weight"
transformer.parameter @output.bias : tensor<24xf32> from "output.bias"
transformer.parameter @norm.weight : tensor<24xf32> from "norm.weight"
transformer.parameter @norm.bias : tensor<24xf32> from "norm.bias"
transformer.parameter @key.narrow : tensor<8x24xf32> = rows(@key.weight, 5)
transformer.parameter @value.narrow : tensor<8x24xf32> = rows(@value.weight, 7)

func.func @encode(%ids: tensor<?xi32> {transformer.name = "input_ids"}, %rows: !transformer.segments)
    -> (tensor<?x24xf32> {transformer.name = "last_hidden_state"}) {
  %x = transformer.gather @word.weight[%ids] : tensor<?x24xf32>
  %mask = transformer.mask causal in(%rows, %rows)
  %q = transformer.linear %x, @query.weight, @query.bias : tensor<?x24xf32> -> tensor<?x24xf32>
  %qh = transformer.split_heads %q : tensor<?x24xf32> -> tensor<?x6x4xf32>
  %k = transformer.linear %x, @key.narrow : tensor<?x24xf32> -> tensor<?x8xf32>
  %v = transformer.linear %x, @value.narrow : tensor<?x24xf32> -> tensor<?x8xf32>
  %ks = transformer.split_heads %k : tensor<?x8xf32> -> tensor<?x2x4xf32>
  %vs = transformer.split_heads %v : tensor<?x8xf32> -> tensor<?x2x4xf32>
  %kh = transformer.repeat_heads %ks : tensor<?x2x4xf32> -> tensor<?x6x4xf32>
  %vh = transformer.repeat_heads %vs : tensor<?x2x4xf32> -> tensor<?x6x4xf32>
  %s = transformer.contract "thd,khd->thk" %qh, %kh in(%rows, %rows) : tensor<?x6x4xf32>, tensor<?x6x4xf32> -> tensor<?x6x?xf32>
  %y = transformer.select %mask, %s {hidden = 0xFF800000 : f32} : tensor<?x6x?xf32>
  %p = transformer.softmax %y in(%rows) : tensor<?x6x?xf32>
  %c = transformer.contract "thk,khd->thd" %p, %vh in(%rows, %rows) : tensor<?x6x?xf32>, tensor<?x6x4xf32> -> tensor<?x6x4xf32>
  %m = transformer.merge_heads %c : tensor<?x6x4xf32> -> tensor<?x24xf32>
  %o = transformer.linear %m, @output.weight, @output.bias : tensor<?x24xf32> -> tensor<?x24xf32>
  %r = transformer.add %o, %x : tensor<?x24xf32>, tensor<?x24xf32>
  %n = transformer.layer_norm %r, @norm.weight, @norm.bias {epsilon = 1.0e-12 : f32} : tensor<?x24xf32>
  return %n : tensor<?x24xf32>
}
