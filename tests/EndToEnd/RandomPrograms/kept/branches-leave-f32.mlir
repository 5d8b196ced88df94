// SPDX-License-Identifier: Apache-2.0
// y = 1e37 (A x) + B x, where 1e37 A is no f32.
// sequence: 0 1 | |
// sequence: 2 | |
transformer.parameter @x : tensor<4x4xf32> from "x"
transformer.parameter @a : tensor<4x4xf32> from "a"
transformer.parameter @b : tensor<4x4xf32> from "b"
func.func @encode(%ids: tensor<?xi32> {transformer.name = "input_ids"}, %rows: !transformer.segments)
    -> (tensor<?x4xf32> {transformer.name = "out"}) {
  %x = transformer.gather @x[%ids] : tensor<?x4xf32>
  %a = transformer.linear %x, @a : tensor<?x4xf32> -> tensor<?x4xf32>
  %s = transformer.scale %a, 1.0e37 : tensor<?x4xf32>
  %b = transformer.linear %x, @b : tensor<?x4xf32> -> tensor<?x4xf32>
  %out = transformer.add %s, %b : tensor<?x4xf32>, tensor<?x4xf32>
  return %out : tensor<?x4xf32>
}
