// SPDX-License-Identifier: Apache-2.0
// Attention of bf16 on Hopper: by warpgroups. Others, and other targets, have the spans of warps.
// RUN: heddle-opt %s -convert-dataflow-to-kernels="targets=sm_90a" --remarks-filter=heddle 2>%t | FileCheck %s
// RUN: FileCheck %s --check-prefix=REPORT < %t
// RUN: heddle-opt %s -convert-dataflow-to-kernels="targets=sm_80" | FileCheck %s --check-prefix=AMPERE

// AMPERE-NOT: wgmma
// AMPERE-NOT: mbarrier

!x = !dataflow.buffer<[tokens, 192], f32>
!y = !dataflow.buffer<[tokens, 64], f32>
!keys = !dataflow.cache<[192], f32, keys>
!values = !dataflow.cache<[64], f32, rows>

// REPORT-DAG: what="sm_90a: blocks of 384 threads for tiles of 128 rows and spans of 64 keys, products of bf16 by warpgroups"{{.*}}where=rounded
// CHECK: llvm.mlir.global external @shared() {addr_space = 3 : i32, alignment = 1024 : i64}
// Queries of 96 elements take two chunks of 64; a stage has 64 keys of that size and 32 values.
// CHECK: func.func @rounded.sm_90a({{.*}}) attributes {dataflow.block_work = array<i64: 384, 118992, 128, 1, 2, 1, 64, 0, 1>}
// A full and an empty mbarrier for each stage.
// CHECK-COUNT-8: nvvm.mbarrier.init
// The producer has loaded the first keys when it comes to the barrier.
// CHECK: llvm.load {{.*}} !llvm.ptr<1> -> f32
// CHECK: nvvm.barrier0
// CHECK: nvvm.mbarrier.try_wait
// CHECK: nvvm.convert.f32x2.to.bf16x2
// CHECK: nvvm.fence.proxy
// CHECK: nvvm.mbarrier.arrive
// The other warpgroups store their queries, and multiply the first keys: six steps of 16 elements.
// CHECK: nvvm.convert.f32x2.to.bf16x2
// CHECK: nvvm.fence.proxy
// CHECK-NEXT: nvvm.barrier0
// CHECK: nvvm.mbarrier.try_wait
// CHECK: nvvm.wgmma.fence.aligned
// CHECK: wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {{.*}}, $32, $33, adds,
// CHECK-COUNT-5: wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {{.*}}, $64, $65, adds,
// CHECK: wgmma.wait_group.sync.aligned
// A span: softmax, the end of the products with the values before, and the next products.
// CHECK: math.exp2 {{.*}} : vector<16xf32>
// CHECK: nvvm.convert.f32x2.to.bf16x2
// CHECK-NEXT: llvm.bitcast
// CHECK-NEXT: llvm.inline_asm has_side_effects {{.*}}"", "=r,0"
// CHECK: wgmma.wait_group.sync.aligned
// CHECK-NOT: nvvm.convert.f32x2.to.bf16x2
// CHECK: nvvm.mbarrier.arrive
// CHECK: nvvm.mbarrier.try_wait
// CHECK: wgmma.fence.sync.aligned
// CHECK-COUNT-6: wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16
// CHECK: nvvm.wgmma.commit.group.sync.aligned
// Weights come from registers: four steps of 16 keys.
// CHECK-COUNT-4: wgmma.mma_async.sync.aligned.m64n32k16.f32.bf16.bf16 {{.*}}, {$32, $33, $34, $35}, $36, adds,
// CHECK-NOT: wgmma.mma_async
// CHECK: nvvm.wgmma.commit.group.sync.aligned
// CHECK: wgmma.wait_group.sync.aligned
// CHECK: wgmma.wait_group.sync.aligned
// CHECK-COUNT-8: nvvm.mbarrier.inval
dataflow.kernel @rounded : (!x, !keys, !values) -> !y
    computes #dataflow.attention<heads = 2, keySize = 96, valueSize = 32, scale = 0.25 : f32, visibility = <causal>> attributes {dataflow.float_products = "bf16"} {
^bb0(%score: f32):
  dataflow.yield %score
} loc("rounded")

// REPORT-DAG: what="sm_90a: blocks of 64 threads for tiles of 64 rows and spans of 16 keys, products of f32"{{.*}}where=exact
// CHECK: func.func @exact.sm_90a(
// CHECK-NOT: mma
dataflow.kernel @exact : (!y, !y, !y) -> !y
    computes #dataflow.attention<heads = 1, keySize = 64, valueSize = 64, scale = 0.25 : f32, visibility = <all>> {
^bb0(%score: f32):
  dataflow.yield %score
} loc("exact")
