// SPDX-License-Identifier: Apache-2.0
// The encoder gives two states, of which the decoder takes one.
// sequence: 1 2 0 | | 2 1
// sequence: 2 | | 0 1 2 2
transformer.parameter @table : tensor<3x5xf32> from "table"
transformer.parameter @map : tensor<5x5xf32> from "map"
func.func @encode(%ids: tensor<?xi32> {transformer.name = "source"}, %rows: !transformer.segments,
                  %unread: !transformer.state<3> {transformer.name = "unread"},
                  %taken: !transformer.state<5> {transformer.name = "taken"})
    -> (tensor<?x5xf32> {transformer.name = "encoder"},
        !transformer.state<3> {transformer.name = "unread"},
        !transformer.state<5> {transformer.name = "taken"}) {
  %x = transformer.gather @table[%ids] : tensor<?x5xf32>
  %mean = transformer.pool mean %x in(%rows) : tensor<?x5xf32>
  %most = transformer.pool max %x in(%rows) : tensor<?x5xf32>
  %few = transformer.columns %most from 1 : tensor<?x5xf32> -> tensor<?x3xf32>
  %unread1 = transformer.store %unread, %few : !transformer.state<3>
  %taken1 = transformer.store %taken, %mean : !transformer.state<5>
  return %x, %unread1, %taken1 : tensor<?x5xf32>, !transformer.state<3>, !transformer.state<5>
}
func.func @decode(%ids: tensor<?xi32> {transformer.name = "target"}, %rows: !transformer.segments,
                  %memory: !transformer.segments {transformer.name = "memory"},
                  %taken: !transformer.state<5> {transformer.name = "taken"})
    -> (tensor<?x5xf32> {transformer.name = "logits"},
        !transformer.state<5> {transformer.name = "taken"}) {
  %x = transformer.gather @table[%ids] : tensor<?x5xf32>
  %first = transformer.load %taken {given} : !transformer.state<5>
  %last, %y = transformer.recurrence(%x : tensor<?x5xf32>) from(%first : tensor<?x5xf32>) in(%rows)
      -> tensor<?x5xf32>, tensor<?x5xf32> {
  ^bb0(%now: tensor<?x5xf32>, %before: tensor<?x5xf32>):
    %m = transformer.linear %before, @map : tensor<?x5xf32> -> tensor<?x5xf32>
    %s = transformer.add %m, %now : tensor<?x5xf32>, tensor<?x5xf32>
    %t = transformer.activate tanh %s : tensor<?x5xf32>
    transformer.next %t, %t : tensor<?x5xf32>, tensor<?x5xf32>
  }
  %taken1 = transformer.store %taken, %last : !transformer.state<5>
  return %y, %taken1 : tensor<?x5xf32>, !transformer.state<5>
}
