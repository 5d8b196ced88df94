// SPDX-License-Identifier: Apache-2.0
// Two maps of weights about 1e-23, whose product is no f32, beside another map.
// sequence: 0 1 | |
// sequence: 2 | |
transformer.parameter @x : tensor<4x4xf32> from "x"
transformer.parameter @a : tensor<16x4xf32> from "a"
transformer.parameter @b : tensor<4x16xf32> from "b"
transformer.parameter @c : tensor<4x4xf32> from "c"
func.func @encode(%ids: tensor<?xi32> {transformer.name = "input_ids"}, %rows: !transformer.segments)
    -> (tensor<?x4xf32> {transformer.name = "out"}) {
  %x = transformer.gather @x[%ids] : tensor<?x4xf32>
  %a = transformer.linear %x, @a : tensor<?x4xf32> -> tensor<?x16xf32>
  %b = transformer.linear %a, @b : tensor<?x16xf32> -> tensor<?x4xf32>
  %c = transformer.linear %x, @c : tensor<?x4xf32> -> tensor<?x4xf32>
  %out = transformer.add %b, %c : tensor<?x4xf32>, tensor<?x4xf32>
  return %out : tensor<?x4xf32>
}
