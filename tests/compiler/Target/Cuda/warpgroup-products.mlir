// SPDX-License-Identifier: Apache-2.0
// Products of bf16 on Hopper: by warpgroups if k is a multiple of 16, with panels of their own.
// RUN: heddle-opt %s -dataflow-encode-weights="targets=sm_80,sm_90a" | FileCheck %s --check-prefix=ENCODED
// RUN: heddle-opt %s -dataflow-encode-weights="targets=sm_90a" -convert-dataflow-to-kernels="targets=sm_90a" | FileCheck %s
// RUN: heddle-opt %s -dataflow-encode-weights="targets=sm_90a" -convert-dataflow-to-kernels="targets=sm_90a" --remarks-filter=heddle 2>&1 | FileCheck %s --check-prefix=REPORT
// RUN: heddle-opt %s -dataflow-encode-weights="targets=sm_80" -convert-dataflow-to-kernels="targets=sm_80" | FileCheck %s --check-prefix=AMPERE
// Weights in the panels of another target are refused.
// RUN: not heddle-opt %s -dataflow-encode-weights="targets=sm_80" -convert-dataflow-to-kernels="targets=sm_90a" 2>&1 | FileCheck %s --check-prefix=REFUSED

// REFUSED: reads weights that are not stored as target 'sm_90a' reads them

// AMPERE-NOT: wgmma
// AMPERE-NOT: mbarrier

// REPORT: sm_90a: by warpgroups, in tiles of 128 x 192, up to 256 rows of 64 x 48
// REPORT: sm_90a: not by warpgroups: its k, 24, is no multiple of 16
// REPORT: sm_90a: by warpgroups, in tiles of 128 x 192, up to 256 rows of 64 x 48; launches of at least 32741 rows round them in a separate kernel first

transformer.parameter @f : tensor<100x96xf32> from "f"
transformer.parameter @w : tensor<100x96xbf16> = convert(@f)
transformer.parameter @g : tensor<100x24xf32> from "g"
transformer.parameter @v : tensor<100x24xbf16> = convert(@g)
// ENCODED-DAG: transformer.parameter @w.packed48by2 : tensor<3x48x48x2xbf16> = pack(@w, 48, 1, 2)
// ENCODED-DAG: transformer.parameter @w.packed48by8 : tensor<3x12x48x8xbf16> = pack(@w, 48, 1, 8)
// ENCODED-DAG: transformer.parameter @v.packed48by2 : tensor<3x12x48x2xbf16> = pack(@v, 48, 1, 2)
// ENCODED-NOT: @v.packed48by8

transformer.parameter @h : tensor<2304x96xf32> from "h"
transformer.parameter @u : tensor<2304x96xbf16> = convert(@h)

!x = !dataflow.buffer<[tokens, 96], f32>
!w = !dataflow.buffer<[100, 96], bf16>
!s = !dataflow.buffer<[tokens, 24], f32>
!v = !dataflow.buffer<[100, 24], bf16>
!y = !dataflow.buffer<[tokens, 100], f32>
!u = !dataflow.buffer<[2304, 96], bf16>
!z = !dataflow.buffer<[tokens, 2304], f32>

// CHECK: llvm.mlir.global external @shared() {addr_space = 3 : i32, alignment = 1024 : i64}
dataflow.kernel @product : (!x, !w) -> !y computes #dataflow.contract<n = 100, k = 96, arithmetic = bf16> {
^bb0(%sum: f32):
  dataflow.yield %sum
}
// 384 threads. Slabs have 32 steps; the few tile, first in the code, has 64 rows and a panel.
// CHECK: func.func @product.sm_90a({{.*}}) attributes {dataflow.block_work = array<i64: 384, 135232, 128, 4, 64, 1, 256, 0, 1>}
// CHECK-COUNT-16: nvvm.mbarrier.init
// CHECK: nvvm.fence.proxy
// CHECK-NEXT: nvvm.barrier0
// The producer: its tiles, and the slabs of each.
// CHECK: nvvm.read.ptx.sreg.ctaid.x
// CHECK: scf.for
// CHECK: scf.for
// CHECK: nvvm.mbarrier.try_wait
// CHECK: nvvm.mbarrier.arrive.expect_tx
// CHECK: nvvm.cp.async.bulk.shared.cluster.global
// CHECK: nvvm.convert.f32x2.to.bf16x2
// CHECK: nvvm.fence.proxy
// CHECK: nvvm.mbarrier.arrive
// A consumer: two products for a slab of 32 steps.
// CHECK: nvvm.mbarrier.try_wait
// CHECK: nvvm.wgmma.fence.aligned
// CHECK-COUNT-2: wgmma.mma_async.sync.aligned.m64n48k16.f32.bf16.bf16
// CHECK: nvvm.wgmma.commit.group.sync.aligned
// CHECK: nvvm.wgmma.wait.group.sync.aligned 1
// CHECK: nvvm.mbarrier.arrive
// CHECK: wgmma.wait_group.sync.aligned
// The last stage is released before the sums are finished.
// CHECK: nvvm.mbarrier.arrive
// CHECK: nvvm.bar.warp.sync
// CHECK: nvvm.bar.warp.sync
// CHECK-NOT: nvvm.barrier0
// CHECK-COUNT-8: nvvm.mbarrier.init
// CHECK-COUNT-2: wgmma.mma_async.sync.aligned.m64n192k16.f32.bf16.bf16
// It has few columns, so no separate kernel rounds its rows.
// CHECK-NOT: wgmma.mma_async
// CHECK-NOT: @product.round

dataflow.kernel @short : (!s, !v) -> !y computes #dataflow.contract<n = 100, k = 24, arithmetic = bf16> {
^bb0(%sum: f32):
  dataflow.yield %sum
}
// CHECK: func.func @short.sm_90a({{.*}}) attributes {dataflow.block_work = array<i64: 128,
// CHECK-NOT: wgmma
// CHECK: nvvm.mma.sync

// A wide product, whose rows a separate kernel may have rounded: then one warp copies them.
dataflow.kernel @wide : (!x, !u) -> !z computes #dataflow.contract<n = 2304, k = 96, arithmetic = bf16> {
^bb0(%sum: f32):
  dataflow.yield %sum
}
// CHECK: func.func @wide.sm_90a(
// CHECK: wgmma.mma_async.sync.aligned.m64n48k16.f32.bf16.bf16
// The producer of the large tile, which rounds or copies.
// CHECK: nvvm.cp.async.bulk.shared.cluster.global
// CHECK: nvvm.convert.f32x2.to.bf16x2
// CHECK-COUNT-2: nvvm.cp.async.bulk.shared.cluster.global
// CHECK-NOT: nvvm.convert.f32x2.to.bf16x2
// CHECK-COUNT-2: wgmma.mma_async.sync.aligned.m64n192k16.f32.bf16.bf16
// CHECK-NOT: wgmma.mma_async
// CHECK: func.func @wide.round.sm_90a({{.*}}) attributes {dataflow.block_work = array<i64: 256, 16, 1, 1, 1, 1, 0, 0, 1>}
// CHECK-COUNT-4: nvvm.convert.f32x2.to.bf16x2

dataflow.graph @encode(%x: !x {dataflow.name = "x"}, %s: !s {dataflow.name = "s"}) -> (!y {dataflow.name = "a"}, !y {dataflow.name = "b"}, !z {dataflow.name = "c"}) {
  %w = dataflow.parameter @w : !w
  %v = dataflow.parameter @v : !v
  %0 = dataflow.dispatch @product(%x, %w) : (!x, !w) -> !y
  %u = dataflow.parameter @u : !u
  %1 = dataflow.dispatch @short(%s, %v) : (!s, !v) -> !y
  %2 = dataflow.dispatch @wide(%x, %u) : (!x, !u) -> !z
  dataflow.output %0, %1, %2 : !y, !y, !z
}
