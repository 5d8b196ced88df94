// SPDX-License-Identifier: Apache-2.0
// A layer as PyTorch exports it: the causal mask by selection, zeros where probabilities are no
// numbers, and the norm as its formula.
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

func.func @encode(%ids: tensor<?xi32> {transformer.name = "input_ids"}, %rows: !transformer.segments)
    -> (tensor<?x24xf32> {transformer.name = "last_hidden_state"}) {
  %x = transformer.gather @word.weight[%ids] : tensor<?x24xf32>
  %q = transformer.linear %x, @query.weight, @query.bias : tensor<?x24xf32> -> tensor<?x24xf32>
  %k = transformer.linear %x, @key.weight, @key.bias : tensor<?x24xf32> -> tensor<?x24xf32>
  %v = transformer.linear %x, @value.weight, @value.bias : tensor<?x24xf32> -> tensor<?x24xf32>
  %qh = transformer.split_heads %q : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %kh = transformer.split_heads %k : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %vh = transformer.split_heads %v : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %s = transformer.contract "thd,khd->thk" %qh, %kh in(%rows, %rows) : tensor<?x3x8xf32>, tensor<?x3x8xf32> -> tensor<?x3x?xf32>
  %z = transformer.scale %s, 3.5355339e-01 : tensor<?x3x?xf32>
  %mask = transformer.mask causal in(%rows, %rows)
  %y = transformer.select %mask, %z {hidden = 0xFF800000 : f32} : tensor<?x3x?xf32>
  %p = transformer.softmax %y in(%rows) : tensor<?x3x?xf32>
  %g = transformer.activate nan_to_zero %p : tensor<?x3x?xf32>
  %c = transformer.contract "thk,khd->thd" %g, %vh in(%rows, %rows) : tensor<?x3x?xf32>, tensor<?x3x8xf32> -> tensor<?x3x8xf32>
  %m = transformer.merge_heads %c : tensor<?x3x8xf32> -> tensor<?x24xf32>
  %o = transformer.linear %m, @output.weight, @output.bias : tensor<?x24xf32> -> tensor<?x24xf32>
  %r = transformer.add %o, %x : tensor<?x24xf32>, tensor<?x24xf32>
  %mean = transformer.reduce mean %r : tensor<?x24xf32> -> tensor<?x1xf32>
  %d = transformer.combine subtract %r, %mean : tensor<?x24xf32>, tensor<?x1xf32>
  %square = transformer.multiply %d, %d : tensor<?x24xf32>
  %variance = transformer.reduce mean %square : tensor<?x24xf32> -> tensor<?x1xf32>
  %shifted = transformer.shift %variance, 1.0e-12 : tensor<?x1xf32>
  %root = transformer.activate sqrt %shifted : tensor<?x1xf32>
  %unit = transformer.combine divide %d, %root : tensor<?x24xf32>, tensor<?x1xf32>
  %gain = transformer.weight @norm.weight : tensor<24xf32>
  %bias = transformer.weight @norm.bias : tensor<24xf32>
  %scaled = transformer.multiply %unit, %gain : tensor<?x24xf32>, tensor<24xf32>
  %n = transformer.add %scaled, %bias : tensor<?x24xf32>, tensor<24xf32>
  return %n : tensor<?x24xf32>
}
