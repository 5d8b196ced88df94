// SPDX-License-Identifier: Apache-2.0
// Heads split, and merged, by products with weights of rank 3.
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
transformer.parameter @query.heads : tensor<3x8x24xf32> = reshape(@query.weight)
transformer.parameter @query.bias.heads : tensor<3x8xf32> = reshape(@query.bias)
transformer.parameter @key.heads : tensor<3x8x24xf32> = reshape(@key.weight)
transformer.parameter @key.bias.heads : tensor<3x8xf32> = reshape(@key.bias)
transformer.parameter @value.heads : tensor<3x8x24xf32> = reshape(@value.weight)
transformer.parameter @value.bias.heads : tensor<3x8xf32> = reshape(@value.bias)
transformer.parameter @output.heads : tensor<24x3x8xf32> = reshape(@output.weight)

func.func @encode(%ids: tensor<?xi32> {transformer.name = "input_ids"}, %rows: !transformer.segments)
    -> (tensor<?x24xf32> {transformer.name = "last_hidden_state"}) {
  %x = transformer.gather @word.weight[%ids] : tensor<?x24xf32>
  %qw = transformer.weight @query.heads : tensor<3x8x24xf32>
  %qp = transformer.contract "tm,hdm->thd" %x, %qw : tensor<?x24xf32>, tensor<3x8x24xf32> -> tensor<?x3x8xf32>
  %qb = transformer.weight @query.bias.heads : tensor<3x8xf32>
  %qh = transformer.add %qp, %qb : tensor<?x3x8xf32>, tensor<3x8xf32>
  %kw = transformer.weight @key.heads : tensor<3x8x24xf32>
  %kp = transformer.contract "tm,hdm->thd" %x, %kw : tensor<?x24xf32>, tensor<3x8x24xf32> -> tensor<?x3x8xf32>
  %kb = transformer.weight @key.bias.heads : tensor<3x8xf32>
  %kh = transformer.add %kp, %kb : tensor<?x3x8xf32>, tensor<3x8xf32>
  %vw = transformer.weight @value.heads : tensor<3x8x24xf32>
  %vp = transformer.contract "tm,hdm->thd" %x, %vw : tensor<?x24xf32>, tensor<3x8x24xf32> -> tensor<?x3x8xf32>
  %vb = transformer.weight @value.bias.heads : tensor<3x8xf32>
  %vh = transformer.add %vp, %vb : tensor<?x3x8xf32>, tensor<3x8xf32>
  %s = transformer.contract "thd,khd->thk" %qh, %kh in(%rows, %rows) : tensor<?x3x8xf32>, tensor<?x3x8xf32> -> tensor<?x3x?xf32>
  %z = transformer.scale %s, 3.5355339e-01 : tensor<?x3x?xf32>
  %p = transformer.softmax %z in(%rows) : tensor<?x3x?xf32>
  %c = transformer.contract "thk,khd->thd" %p, %vh in(%rows, %rows) : tensor<?x3x?xf32>, tensor<?x3x8xf32> -> tensor<?x3x8xf32>
  %ow = transformer.weight @output.heads : tensor<24x3x8xf32>
  %op = transformer.contract "thd,mhd->tm" %c, %ow : tensor<?x3x8xf32>, tensor<24x3x8xf32> -> tensor<?x24xf32>
  %ob = transformer.weight @output.bias : tensor<24xf32>
  %o = transformer.add %op, %ob : tensor<?x24xf32>, tensor<24xf32>
  %r = transformer.add %o, %x : tensor<?x24xf32>, tensor<?x24xf32>
  %n = transformer.layer_norm %r, @norm.weight, @norm.bias {epsilon = 1.0e-12 : f32} : tensor<?x24xf32>
  return %n : tensor<?x24xf32>
}
