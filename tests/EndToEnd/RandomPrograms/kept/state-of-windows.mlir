// SPDX-License-Identifier: Apache-2.0
// The state that a decoder begins with is the mean of windows over the source, whose rows derive
// from its tokens; other windows are of no use.
// sequence: 4 0 3 3 1 2 4 | | 2 1
// sequence: 2 | | 0 1 2 4 3
transformer.parameter @table : tensor<5x3xf32> from "table"
transformer.parameter @mix : tensor<3x9xf32> from "mix"
transformer.parameter @unused : tensor<3x9xf32> from "unused"
transformer.parameter @output : tensor<5x3xf32> from "output"
func.func @encode(%ids: tensor<?xi32> {transformer.name = "source"}, %rows: !transformer.segments,
                  %given: !transformer.state<3> {transformer.name = "given"})
    -> (tensor<?x3xf32> {transformer.name = "encoder"},
        !transformer.state<3> {transformer.name = "given"}) {
  %x = transformer.gather @table[%ids] : tensor<?x3xf32>
  %half = transformer.strided %rows down 2
  %windows = transformer.slide patches %x in(%rows) to(%half) window<height = 3, strideDown = 2> : tensor<?x3xf32> -> tensor<?x9xf32>
  %mixed = transformer.linear %windows, @mix : tensor<?x9xf32> -> tensor<?x3xf32>
  %mean = transformer.pool mean %mixed in(%half) : tensor<?x3xf32>
  %third = transformer.strided %rows down 3
  %others = transformer.slide patches %x in(%rows) to(%third) window<height = 3, strideDown = 3> : tensor<?x3xf32> -> tensor<?x9xf32>
  %never = transformer.linear %others, @unused : tensor<?x9xf32> -> tensor<?x3xf32>
  %stored = transformer.store %given, %mean : !transformer.state<3>
  return %x, %stored : tensor<?x3xf32>, !transformer.state<3>
}
func.func @decode(%ids: tensor<?xi32> {transformer.name = "target"}, %rows: !transformer.segments,
                  %memory: !transformer.segments {transformer.name = "memory"},
                  %given: !transformer.state<3> {transformer.name = "given"})
    -> (tensor<?x5xf32> {transformer.name = "logits"},
        !transformer.state<3> {transformer.name = "given"}) {
  %x = transformer.gather @table[%ids] : tensor<?x3xf32>
  %first = transformer.load %given {given} : !transformer.state<3>
  %last, %all = transformer.recurrence(%x : tensor<?x3xf32>) from(%first : tensor<?x3xf32>) in(%rows) -> tensor<?x3xf32>, tensor<?x3xf32> {
  ^bb0(%token: tensor<?x3xf32>, %before: tensor<?x3xf32>):
    %sum = transformer.add %token, %before : tensor<?x3xf32>, tensor<?x3xf32>
    %next = transformer.activate tanh %sum : tensor<?x3xf32>
    transformer.next %next, %next : tensor<?x3xf32>, tensor<?x3xf32>
  }
  %stored = transformer.store %given, %last : !transformer.state<3>
  %logits = transformer.linear %all, @output : tensor<?x3xf32> -> tensor<?x5xf32>
  return %logits, %stored : tensor<?x5xf32>, !transformer.state<3>
}
