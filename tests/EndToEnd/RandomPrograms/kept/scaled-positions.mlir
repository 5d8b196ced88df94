// SPDX-License-Identifier: Apache-2.0
// A table of positions with a factor, and two numberings of the same rows.
// sequence: 4 8 0 1 4 10 | |
// sequence: 7 | |
module {
  transformer.parameter @w : tensor<11x6xf32> from "w"
  transformer.parameter @p : tensor<9x6xf32> from "p"
  func.func @encode(%ids: tensor<?xi32> {transformer.name = "input_ids"}, %rows: !transformer.segments) -> (tensor<?x6xf32> {transformer.name = "y"}, tensor<?x6xf32> {transformer.name = "b"}) {
    %0 = transformer.gather @w[%ids] : tensor<?x6xf32>
    %1 = transformer.positions %rows
    %2 = transformer.gather @p[%1] : tensor<?x6xf32>
    %3 = transformer.scale %2, 2.500000e-01 : tensor<?x6xf32>
    %4 = transformer.add %0, %3 : tensor<?x6xf32>, tensor<?x6xf32>
    %5 = transformer.blocks %rows, 2
    %6 = transformer.blocks %rows, 2
    %7 = transformer.positions %5
    %8 = transformer.positions %6 {offset = 3 : i64}
    %9 = transformer.gather @p[%7] : tensor<?x6xf32>
    %10 = transformer.gather @p[%8] : tensor<?x6xf32>
    %11 = transformer.add %9, %10 : tensor<?x6xf32>, tensor<?x6xf32>
    return %4, %11 : tensor<?x6xf32>, tensor<?x6xf32>
  }
}
