// SPDX-License-Identifier: Apache-2.0
// A kernel for families.test whose threads work alone: its heads are larger than those of blocks.

!x = !dataflow.buffer<[tokens, 260], f32>

dataflow.kernel @large : (!x, !x, !x) -> !x
    computes #dataflow.attention<heads = 1, keySize = 260, valueSize = 260, scale = 0.25 : f32, visibility = <all>> {
^bb0(%score: f32):
  dataflow.yield %score
}

dataflow.graph @encode(%x: !x {dataflow.name = "x"}) -> (!x {dataflow.name = "large"}) {
  %0 = dataflow.dispatch @large(%x, %x, %x) : (!x, !x, !x) -> !x
  dataflow.output %0 : !x
}
