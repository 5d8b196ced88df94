// SPDX-License-Identifier: Apache-2.0
// Which attentions blocks compute, how, and what the report says of the others.
// RUN: heddle-opt %s -convert-dataflow-to-kernels="targets=sm_80" --remarks-filter=heddle 2>%t | FileCheck %s
// RUN: FileCheck %s --check-prefix=REPORT < %t
// RUN: heddle-opt %s -convert-dataflow-to-kernels="targets=x86-64-v3" --remarks-filter=heddle 2>&1 | FileCheck %s --check-prefix=CPU

// CPU-NOT: remark
// CPU-NOT: block_work

!x = !dataflow.buffer<[tokens, 64], f32>
!keys = !dataflow.cache<[64], f32, keys>
!values = !dataflow.cache<[64], f32, rows>

// Two warps with 32 rows each: queries, then 32 keys and as many values.
// REPORT-DAG: what="sm_80: blocks of 64 threads for tiles of 64 rows and spans of 32 keys, products of f32"{{.*}}where=exact
// CHECK: func.func @exact.sm_80({{.*}}) attributes {dataflow.block_work = array<i64: 64, 20624, 64, 1, 16, 1, 64, 1, 1>}
// The place of the block: stored once, and before the spans of each tile.
// CHECK: nvvm.barrier0
// CHECK: scf.while
// CHECK-COUNT-2: nvvm.barrier0
// Keys are loaded four numbers at a time where they lie so, else one by one.
// CHECK: llvm.load {{.*}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xf32>
// CHECK: llvm.load {{.*}} {alignment = 4 : i64} : !llvm.ptr<1> -> f32
// Two barriers a span.
// CHECK: nvvm.barrier0
// CHECK: math.fma
// CHECK: nvvm.barrier0
// CHECK: nvvm.shfl.sync bfly
// CHECK: math.exp2 {{.*}} : vector<8xf32>
// CHECK: nvvm.shfl.sync idx
// CHECK: math.fma
// CHECK-NOT: nvvm.barrier0
// CHECK: nvvm.shfl.sync bfly
// CHECK: arith.divf
// Another function merges the partial results of sections of keys, a block for each row and head.
// CHECK: func.func @exact.merge.sm_80({{.*}}) attributes {dataflow.block_work = array<i64: 128, 16, 1, 1, 1, 1, 0, 6, 0>}
// CHECK: math.exp2
// CHECK: arith.divf
dataflow.kernel @exact : (!x, !x, !x) -> !x
    computes #dataflow.attention<heads = 2, keySize = 32, valueSize = 32, scale = 0.25 : f32, visibility = <all>> {
^bb0(%score: f32):
  dataflow.yield %score
} loc("exact")

// Four warps with 16 rows each, spans of 32 keys in bf16. Scores become the first matrix of a product
// without leaving their lanes.
// REPORT-DAG: what="sm_80: blocks of 128 threads for tiles of 64 rows and spans of 32 keys, products of bf16"{{.*}}where=rounded
// CHECK: func.func @rounded.sm_80({{.*}}) attributes {dataflow.block_work = array<i64: 128, 7312, 64, 1, 2, 1, 64, 1, 1>}
// CHECK: nvvm.barrier0
// CHECK: nvvm.ldmatrix {{.*}}layout = #nvvm.mma_layout<row>
// CHECK: nvvm.mma.sync {{.*}}multiplicandAPtxType = #nvvm.mma_type<bf16>
// CHECK: nvvm.barrier0
// CHECK: math.exp2 {{.*}} : vector<8xf32>
// CHECK: nvvm.convert.f32x2.to.bf16x2
// CHECK: nvvm.ldmatrix {{.*}}layout = #nvvm.mma_layout<col>
// CHECK: nvvm.mma.sync
dataflow.kernel @rounded : (!x, !keys, !values) -> !x
    computes #dataflow.attention<heads = 2, keySize = 32, valueSize = 32, scale = 0.25 : f32, visibility = <causal>> attributes {dataflow.float_products = "bf16"} {
^bb0(%score: f32):
  dataflow.yield %score
} loc("rounded")

// REPORT-DAG: , products of tf32, three for each"{{.*}}where=tf32
// CHECK: func.func @tf32.sm_80(
// CHECK: nvvm.mma.sync {{.*}}multiplicandAPtxType = #nvvm.mma_type<tf32>
dataflow.kernel @tf32 : (!x, !x, !x) -> !x
    computes #dataflow.attention<heads = 2, keySize = 32, valueSize = 32, scale = 0.25 : f32, visibility = <all>> attributes {dataflow.float_products = "tf32x3"} {
^bb0(%score: f32):
  dataflow.yield %score
} loc("tf32")

// Heads that share keys are in one tile, and work is cut by all of them.
// CHECK: func.func @shared.sm_80({{.*}}) attributes {dataflow.block_work = array<i64: 64, {{[0-9]+}}, 16, 4, 16, 4, 64, 1, 1>}
dataflow.kernel @shared : (!x, !dataflow.buffer<[tokens, 16], f32>, !dataflow.buffer<[tokens, 16], f32>) -> !x
    computes #dataflow.attention<heads = 4, keySize = 16, valueSize = 16, scale = 0.25 : f32, visibility = <all>, keyShare = 4, valueShare = 4> {
^bb0(%score: f32):
  dataflow.yield %score
}

// Heads too large for the registers of tensor cores' sums.
// REPORT-DAG: what="sm_80: blocks of 128 threads for tiles of 32 rows and spans of 16 keys, products of f32"{{.*}}where=large
// CHECK: func.func @large.sm_80({{.*}}) attributes {dataflow.block_work
// CHECK-NOT: mma
!large = !dataflow.buffer<[tokens, 256], f32>
dataflow.kernel @large : (!large, !large, !large) -> !large
    computes #dataflow.attention<heads = 1, keySize = 256, valueSize = 256, scale = 0.25 : f32, visibility = <all>> attributes {dataflow.float_products = "bf16"} {
^bb0(%score: f32):
  dataflow.yield %score
} loc("large")

// Four warps with eight rows each. A lane sums up the pairs of its four keys of a span.
// CHECK: func.func @pairs.sm_80({{.*}}) attributes {dataflow.block_work = array<i64: 128, 10384, 32, 1, 16, 1, 64, 1, 1>}
// CHECK-NOT: arith.constant dense<{{.*}}> : vector<8xf32>
// CHECK: %[[PAIR:.*]] = arith.subf {{.*}} : vector<4xf32>
// CHECK: math.fma %{{.*}}, %[[PAIR]], %{{.*}} : vector<4xf32>
// REPORT-DAG: what="sm_80: blocks of 128 threads for tiles of 32 rows and spans of 16 keys, sums over pairs in f32"{{.*}}where=pairs
dataflow.kernel @pairs : (!x, !x, !x, !dataflow.buffer<[2, 32], f32>) -> !x
    computes #dataflow.attention<heads = 2, keySize = 32, valueSize = 32, scale = 1.0 : f32, visibility = <all>, pairs = true> {
^bb0(%score: f32):
  dataflow.yield %score
} pairs {
^bb0(%query: f32, %key: f32):
  %0 = arith.subf %query, %key : f32
  dataflow.yield %0
} loc("pairs")

// The rows of a step, in the order of time, see the keys of their sequences in a cache.
// CHECK: func.func @steps.sm_80({{.*}}) attributes {dataflow.block_work = array<i64: 64, {{[0-9]+}}, 64, 1, 2, 1, 64, 1, 1>}
// REPORT-DAG: what="sm_80: blocks of 64 threads for tiles of 64 rows and spans of 32 keys, products of f32"{{.*}}where=steps
!steps = !dataflow.buffer<[steps, 64], f32>
dataflow.kernel @steps : (!steps, !keys, !values) -> !steps
    computes #dataflow.attention<heads = 2, keySize = 32, valueSize = 32, scale = 0.25 : f32, visibility = <all>> {
^bb0(%score: f32):
  dataflow.yield %score
} loc("steps")

// Weights: the maximum and the sum of a row, then its scores again. Each pass has two barriers, after
// the three of the place.
// CHECK: func.func @weights.sm_80({{.*}}) attributes {dataflow.block_work = array<i64: 64, {{[0-9]+}}, 64, 1, 16, 1, 64, 1, 1>}
// CHECK-COUNT-5: nvvm.barrier0
// CHECK: nvvm.shfl.sync bfly
// CHECK: arith.divf
// CHECK-COUNT-2: nvvm.barrier0
// CHECK: math.exp2
// CHECK-NOT: nvvm.barrier0
// REPORT-DAG: what="sm_80: blocks of 64 threads for tiles of 64 rows and spans of 32 keys, products of f32"{{.*}}where=weights
!scores = !dataflow.buffer<[tokens, 2, longest], f32>
dataflow.kernel @weights : (!x, !x) -> !scores
    computes #dataflow.attention_weights<heads = 2, keySize = 32, scale = 0.25 : f32, visibility = <causal>> {
^bb0(%score: f32):
  dataflow.yield %score
} loc("weights")

// Sums of values with given weights: the same tiles, without queries and keys.
// CHECK: func.func @values.sm_80({{.*}}) attributes {dataflow.block_work = array<i64: 64, {{[0-9]+}}, 64, 1, 2, 1, 64, 1, 1>}
// CHECK-COUNT-5: nvvm.barrier0
// CHECK-NOT: nvvm.barrier0
// REPORT-DAG: what="sm_80: blocks of 64 threads for tiles of 64 rows and spans of 32 keys, products of f32"{{.*}}where=values
dataflow.kernel @values : (!scores, !values) -> !x
    computes #dataflow.attend<heads = 2, valueSize = 32, visibility = <causal>> {
^bb0(%sum: f32):
  dataflow.yield %sum
} loc("values")

// CHECK: func.func @huge.sm_80
// CHECK-NOT: block_work
// REPORT-DAG: reason="sm_80: each thread computes rows alone: heads have 264 elements, expected at most 256"{{.*}}where=huge
!huge = !dataflow.buffer<[tokens, 264], f32>
dataflow.kernel @huge : (!huge, !huge, !huge) -> !huge
    computes #dataflow.attention<heads = 1, keySize = 264, valueSize = 264, scale = 0.25 : f32, visibility = <all>> {
^bb0(%score: f32):
  dataflow.yield %score
} loc("huge")

// Filters of numbers near a key: a warp with eight rows, whose lines take as much memory as those of
// fewer filters in a block of four warps.
// CHECK: func.func @locations.sm_80({{.*}}) attributes {dataflow.block_work = array<i64: 32, {{[0-9]+}}, 8, 1, 8, 1, 64, 1, 1>}
// CHECK: scf.for
// REPORT-DAG: what="sm_80: blocks of 32 threads for tiles of 8 rows and spans of 16 keys, sums over pairs in f32"{{.*}}where=locations
dataflow.kernel @locations : (!x, !x, !scores, !dataflow.buffer<[33, 6], f32>, !dataflow.buffer<[32, 33], f32>, !dataflow.buffer<[2, 32], f32>) -> !scores
    computes #dataflow.attention_weights<heads = 2, keySize = 32, scale = 1.0 : f32, visibility = <all>, pairs = true, locationHeads = [2], locationTaps = [3], locationFilters = 33> {
^bb0(%score: f32):
  dataflow.yield %score
} pairs {
^bb0(%query: f32, %key: f32):
  %0 = arith.addf %query, %key : f32
  dataflow.yield %0
} loc("locations")

// CHECK: func.func @many_lines.sm_80
// CHECK-NOT: block_work
// REPORT-DAG: reason="sm_80: each thread computes rows alone: a score depends on 130 numbers of the keys nearby, expected at most 96"{{.*}}where=many_lines
dataflow.kernel @many_lines : (!x, !x, !scores, !dataflow.buffer<[32, 130], f32>, !dataflow.buffer<[2, 32], f32>) -> !scores
    computes #dataflow.attention_weights<heads = 2, keySize = 32, scale = 1.0 : f32, visibility = <all>, pairs = true, locationHeads = [2], locationTaps = [65]> {
^bb0(%score: f32):
  dataflow.yield %score
} pairs {
^bb0(%query: f32, %key: f32):
  %0 = arith.addf %query, %key : f32
  dataflow.yield %0
} loc("many_lines")
