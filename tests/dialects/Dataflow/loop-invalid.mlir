// SPDX-License-Identifier: Apache-2.0
// RUN: heddle-opt %s -split-input-file -verify-diagnostics

!tokens = !dataflow.buffer<[tokens, 4], f32>
dataflow.graph @loop_c1() -> () {
  // expected-error@+1 {{'dataflow.loop' op expects results that are dense rows of f32, or numbers of keys, of 'steps' or all of 'steps_reversed', got '!dataflow.buffer<[tokens, 4], f32>'}}
  %0 = dataflow.loop() : () -> !tokens {
  ^bb0(%before: !tokens):
    dataflow.next %before : !tokens
  }
  dataflow.output
}

// -----

!steps = !dataflow.buffer<[steps, 4], f32>
dataflow.graph @loop_c2() -> () {
  // expected-error@+1 {{'dataflow.loop' op expects arguments of its region of the types of the first results ('!dataflow.buffer<[steps, 4], f32>'), at least one, got ()}}
  %0 = dataflow.loop() : () -> !steps {
    %1 = "dataflow.reshape"(%0) : (!steps) -> !steps
    dataflow.next %1 : !steps
  }
  dataflow.output
}

// -----

!steps = !dataflow.buffer<[steps, 4], f32>
transformer.parameter @w : tensor<4x4xf32> from "w"
dataflow.graph @loop_c3() -> () {
  %0 = dataflow.loop() : () -> !steps {
  ^bb0(%before: !steps):
    // expected-error@+1 {{'dataflow.parameter' op in a loop: expects views and dispatches, got 'dataflow.parameter'}}
    %w = dataflow.parameter @w : !dataflow.buffer<[4, 4], f32>
    dataflow.next %before : !steps
  }
  dataflow.output
}

// -----

!steps = !dataflow.buffer<[steps, 4], f32>
dataflow.graph @loop_c4() -> () {
  %0 = dataflow.loop() : () -> !steps {
  ^bb0(%before: !steps):
    // expected-error@+1 {{'dataflow.next' op expects each operand to be another result of a dispatch of the loop, got operand #0}}
    dataflow.next %before : !steps
  }
  dataflow.output
}

// -----

!steps = !dataflow.buffer<[steps, 4], f32>
dataflow.graph @loop_c4_types() -> () {
  %0 = dataflow.loop() : () -> !steps {
  ^bb0(%before: !steps):
    // expected-error@+1 {{'dataflow.next' op expects the types of the loop's results ('!dataflow.buffer<[steps, 4], f32>'), got ('!dataflow.buffer<[steps, 4], f32>', '!dataflow.buffer<[steps, 4], f32>')}}
    dataflow.next %before, %before : !steps, !steps
  }
  dataflow.output
}

// -----

!steps = !dataflow.buffer<[steps, 4], f32>
!tokens = !dataflow.buffer<[tokens, 4], f32>
dataflow.graph @loop_c5(%x: !tokens {dataflow.name = "x"}) -> () {
  // expected-error@+1 {{'dataflow.loop' op expects no operands, or those that its carried values begin with, ('!dataflow.buffer<[ranks, 4], f32>'), got ('!dataflow.buffer<[tokens, 4], f32>')}}
  %0 = dataflow.loop(%x) : (!tokens) -> !steps {
  ^bb0(%before: !steps):
    dataflow.next %before : !steps
  }
  dataflow.output
}

// -----

!steps = !dataflow.buffer<[steps, 4], f32>
!tokens = !dataflow.buffer<[tokens, 4], f32>
dataflow.kernel @collect : (!tokens) -> !steps computes #dataflow.collect<[4]> {
^bb0(%x: f32):
  dataflow.yield %x
}
dataflow.graph @dispatch_c12(%x: !tokens {dataflow.name = "x"}) -> () {
  %0 = dataflow.loop() : () -> !steps {
  ^bb0(%before: !steps):
    // expected-error@+1 {{'dataflow.dispatch' op in a loop: expects a kernel of which each row reads that row of its inputs or a cache that is only read, got others of operand #0}}
    %1 = dataflow.dispatch @collect(%x) : (!tokens) -> !steps
    dataflow.next %1 : !steps
  }
  dataflow.output
}

// -----

!steps = !dataflow.buffer<[steps, 4], f32>
!tokens = !dataflow.buffer<[tokens, 4], f32>
dataflow.kernel @copy : (!tokens) -> !tokens computes #dataflow.rows<width = 4> {
^bb0(%x: f32):
  dataflow.yield %x
}
dataflow.kernel @copy_steps : (!steps) -> !steps computes #dataflow.rows<width = 4> {
^bb0(%x: f32):
  dataflow.yield %x
}
dataflow.graph @dispatch_c12_rows(%x: !tokens {dataflow.name = "x"}) -> () {
  %0 = dataflow.loop() : () -> !steps {
  ^bb0(%before: !steps):
    // expected-error@+1 {{'dataflow.dispatch' op in a loop: expects the rows of the loop, steps, got tokens}}
    %1 = dataflow.dispatch @copy(%x) : (!tokens) -> !tokens
    %2 = dataflow.dispatch @copy_steps(%before) : (!steps) -> !steps
    dataflow.next %2 : !steps
  }
  dataflow.output
}

// -----

// expected-error@+1 {{'dataflow.kernel' op expects rows in the order of time only where each row of the work reads that row of its inputs, got others of operand #0}}
dataflow.kernel @kernel_c13 : (!dataflow.buffer<[steps, 8], f32>, !dataflow.buffer<[3, 8], f32>) -> !dataflow.buffer<[steps, 8], f32>
    computes #dataflow.convolve<width = 8, kernel = 3, dilation = 1, causal = true> {
^bb0(%x: f32):
  dataflow.yield %x
}

// -----

// expected-error@+1 {{'dataflow.kernel' op expects input #0 to have the rows of the result, tokens, in some order, got ranks}}
dataflow.kernel @kernel_c5_collect : (!dataflow.buffer<[ranks, 8], f32>) -> !dataflow.buffer<[tokens, 8], f32>
    computes #dataflow.collect<[8]> {
^bb0(%x: f32):
  dataflow.yield %x
}

// -----

// expected-error@+1 {{'dataflow.kernel' op expects 1 to 64 widths above 0 of at most 2^30 in all, got [0]}}
dataflow.kernel @kernel_c9_collect : (!dataflow.buffer<[tokens, 8], f32>) -> !dataflow.buffer<[tokens, 8], f32>
    computes #dataflow.collect<[0]> {
^bb0(%x: f32):
  dataflow.yield %x
}

// -----

// expected-error@+1 {{expects a space with several rows a sequence, got 'steps'}}
func.func private @longest_of_steps(!dataflow.buffer<[tokens, longest(steps)], f32>)

// -----

// expected-error@+1 {{'dataflow.graph' op expects argument #0 to be a cache, a state or a dense buffer of rows, such as tokens, got '!dataflow.buffer<[steps, 8], f32>'}}
dataflow.graph @graph_c1_steps(%x: !dataflow.buffer<[steps, 8], f32> {dataflow.name = "x"}) -> () {
  dataflow.output
}

// -----

!keys = !dataflow.buffer<[steps, 1, longest], f32>
dataflow.kernel @halve : (!keys) -> !keys computes #dataflow.collect<[1]> {
^bb0(%x: f32):
  dataflow.yield %x
}
dataflow.graph @loop_c5_keys() -> () {
  // expected-error@+1 {{'dataflow.loop' op expects operands where it carries numbers of keys, got none}}
  %0 = dataflow.loop() : () -> !keys {
  ^bb0(%before: !keys):
    %1 = dataflow.dispatch @halve(%before) : (!keys) -> !keys
    dataflow.next %1 : !keys
  }
  dataflow.output
}

// -----

// expected-error@+1 {{'dataflow.kernel' op expects one operand where rows are numbers of keys, got 2}}
dataflow.kernel @kernel_c5_collected_keys : (!dataflow.buffer<[steps, 1, longest], f32>, !dataflow.buffer<[steps, 1, longest], f32>) -> !dataflow.buffer<[tokens, 2, longest], f32>
    computes #dataflow.collect<[1, 1]> {
^bb0(%x: f32):
  dataflow.yield %x
}

// -----

// expected-error@+1 {{'dataflow.kernel' op expects a norm of rows of one width, got '!dataflow.buffer<[tokens, 1, longest], f32>'}}
dataflow.kernel @kernel_c6_keys : (!dataflow.buffer<[steps, 1, longest], f32>) -> !dataflow.buffer<[tokens, 1, longest], f32>
    computes #dataflow.collect<[1]> norm #dataflow.norm<softmax, 0.0 : f32> {
^bb0(%x: f32):
  dataflow.yield %x
}

// -----

// expected-error@+1 {{'dataflow.kernel' op expects a state without keys to be given, got '!dataflow.state<[1], f32, keys>'}}
dataflow.kernel @load_given_keys : (!dataflow.state<[1], f32, keys>) -> !dataflow.buffer<[ranks, 1, longest], f32> computes #dataflow.load<given true> {
^bb0(%x: f32):
  dataflow.yield %x
}

// -----

!steps = !dataflow.buffer<[steps, 4], f32>
dataflow.kernel @copy_steps : (!steps) -> !steps computes #dataflow.rows<width = 4> {
^bb0(%x: f32):
  dataflow.yield %x
}
dataflow.graph @loop_c6() -> () {
  // expected-error@+1 {{'dataflow.loop' op expects a loop right before it that it runs beside, got 'nothing'}}
  %0 = dataflow.loop() beside : () -> !steps {
  ^bb0(%before: !steps):
    %1 = dataflow.dispatch @copy_steps(%before) : (!steps) -> !steps
    dataflow.next %1 : !steps
  }
  dataflow.output
}

// -----

!steps = !dataflow.buffer<[steps, 4], f32>
dataflow.kernel @copy_steps : (!steps) -> !steps computes #dataflow.rows<width = 4> {
^bb0(%x: f32):
  dataflow.yield %x
}
dataflow.graph @loop_c6_apart() -> () {
  %0 = dataflow.loop() : () -> !steps {
  ^bb0(%before: !steps):
    %1 = dataflow.dispatch @copy_steps(%before) : (!steps) -> !steps
    dataflow.next %1 : !steps
  }
  %2 = dataflow.dispatch @copy_steps(%0) : (!steps) -> !steps
  // expected-error@+1 {{'dataflow.loop' op expects a loop right before it that it runs beside, got 'dataflow.dispatch'}}
  %3 = dataflow.loop() beside : () -> !steps {
  ^bb0(%before: !steps):
    %4 = dataflow.dispatch @copy_steps(%before) : (!steps) -> !steps
    dataflow.next %4 : !steps
  }
  dataflow.output
}

// -----

!steps = !dataflow.buffer<[steps, 4], f32>
dataflow.kernel @copy_steps : (!steps) -> !steps computes #dataflow.rows<width = 4> {
^bb0(%x: f32):
  dataflow.yield %x
}
dataflow.kernel @add_steps : (!steps, !steps) -> !steps computes #dataflow.rows<width = 4> {
^bb0(%x: f32, %y: f32):
  %0 = arith.addf %x, %y : f32
  dataflow.yield %0
}
dataflow.graph @loop_c6_reads() -> () {
  %0 = dataflow.loop() : () -> !steps {
  ^bb0(%before: !steps):
    %1 = dataflow.dispatch @copy_steps(%before) : (!steps) -> !steps
    dataflow.next %1 : !steps
  }
  %2 = dataflow.loop() beside : () -> !steps {
  ^bb0(%before: !steps):
    %3 = dataflow.dispatch @copy_steps(%before) : (!steps) -> !steps
    dataflow.next %3 : !steps
  }
  // expected-error@+1 {{'dataflow.loop' op expects nothing to be read of the loops that it runs beside}}
  %4 = dataflow.loop() beside : () -> !steps {
  ^bb0(%before: !steps):
    %5 = dataflow.dispatch @add_steps(%before, %0) : (!steps, !steps) -> !steps
    dataflow.next %5 : !steps
  }
  dataflow.output
}
