// SPDX-License-Identifier: Apache-2.0
// A mask of -1e4 that a factor makes small: the later key wins.
// sequence: 0 1 | |
// sequence: 2 0 | |
transformer.parameter @x : tensor<3x2xf32> from "x"
func.func @encode(%ids: tensor<?xi32> {transformer.name = "input_ids"}, %rows: !transformer.segments)
    -> (tensor<?x2xf32> {transformer.name = "out"}) {
  %x = transformer.gather @x[%ids] : tensor<?x2xf32>
  %h = transformer.split_heads %x : tensor<?x2xf32> -> tensor<?x1x2xf32>
  %s = transformer.contract "thd,khd->thk" %h, %h in(%rows, %rows) : tensor<?x1x2xf32>, tensor<?x1x2xf32> -> tensor<?x1x?xf32>
  %m = transformer.mask causal in(%rows, %rows)
  %b = transformer.mask_bias %m {hidden = -1.0e4 : f32} : tensor<?x?xf32>
  %a = transformer.add %s, %b : tensor<?x1x?xf32>, tensor<?x?xf32>
  %z = transformer.scale %a, 3.0e-2 : tensor<?x1x?xf32>
  %p = transformer.softmax %z in(%rows) : tensor<?x1x?xf32>
  %c = transformer.contract "thk,khd->thd" %p, %h in(%rows, %rows) : tensor<?x1x?xf32>, tensor<?x1x2xf32> -> tensor<?x1x2xf32>
  %out = transformer.merge_heads %c : tensor<?x1x2xf32> -> tensor<?x2xf32>
  return %out : tensor<?x2xf32>
}
