// SPDX-License-Identifier: Apache-2.0
// RUN: heddle-opt %s | heddle-opt | FileCheck %s
// RUN: heddle-opt %s --mlir-print-op-generic | heddle-opt | FileCheck %s
// RUN: heddle-opt %s --emit-bytecode | heddle-opt | FileCheck %s

// CHECK: transformer.parameter @query.weight : tensor<384x384xf32> from "layer.0.query.weight"
transformer.parameter @query.weight : tensor<384x384xf32> from "layer.0.query.weight"
// CHECK: transformer.parameter @key.weight : tensor<384x384xf32> from "key"
transformer.parameter @key.weight : tensor<384x384xf32> from "key"

// CHECK: transformer.parameter @both.weight : tensor<768x384xf32> = concat(@query.weight, @key.weight)
transformer.parameter @both.weight : tensor<768x384xf32> = concat(@query.weight, @key.weight)
// CHECK: transformer.parameter @heads.weight : tensor<12x32x384xf32> = reshape(@query.weight)
transformer.parameter @heads.weight : tensor<12x32x384xf32> = reshape(@query.weight)
// CHECK: transformer.parameter @turned.weight : tensor<384x768xf32> = transpose(@both.weight)
transformer.parameter @turned.weight : tensor<384x768xf32> = transpose(@both.weight)
// 384 columns fill 8 panels of 48, and 400 need a ninth.
// CHECK: transformer.parameter @packed.weight : tensor<8x384x48xf32> = pack(@query.weight, 48)
transformer.parameter @packed.weight : tensor<8x384x48xf32> = pack(@query.weight, 48)
transformer.parameter @wide.weight : tensor<400x384xf32> from "wide"
// CHECK: transformer.parameter @filled.weight : tensor<9x384x48xf32> = pack(@wide.weight, 48)
transformer.parameter @filled.weight : tensor<9x384x48xf32> = pack(@wide.weight, 48)
// Two groups of 200 columns fill 5 panels each.
// CHECK: transformer.parameter @grouped.weight : tensor<10x384x48xf32> = pack(@wide.weight, 48, 2)
transformer.parameter @grouped.weight : tensor<10x384x48xf32> = pack(@wide.weight, 48, 2)
// CHECK: transformer.parameter @none.bias : tensor<384xf32> = zeros()
transformer.parameter @none.bias : tensor<384xf32> = zeros()

// Two that need the same one are no cycle.
// CHECK: transformer.parameter @twice.weight : tensor<1536x384xf32> = concat(@both.weight, @both.weight)
transformer.parameter @twice.weight : tensor<1536x384xf32> = concat(@both.weight, @both.weight)

// CHECK: transformer.parameter @copy.weight : tensor<384x384xf32> from "layer.1.query.weight" {content = "query"}
transformer.parameter @copy.weight : tensor<384x384xf32> from "layer.1.query.weight" {content = "query"}

// CHECK: transformer.parameter @positions : tensor<512x384xf32> = sinusoid_interleaved(0, 192)
transformer.parameter @positions : tensor<512x384xf32> = sinusoid_interleaved(0, 192)
// CHECK: transformer.parameter @halves : tensor<512x384xf32> = sinusoid_split(1, 191)
transformer.parameter @halves : tensor<512x384xf32> = sinusoid_split(1, 191)
transformer.parameter @buckets : tensor<32x12xf32> from "buckets"
// CHECK: transformer.parameter @distances : tensor<12x257xf32> = relative_buckets(@buckets, 1, 128)
transformer.parameter @distances : tensor<12x257xf32> = relative_buckets(@buckets, 1, 128)
// CHECK: transformer.parameter @later : tensor<500x384xf32> = rows(@positions, 2)
transformer.parameter @later : tensor<500x384xf32> = rows(@positions, 2)
// CHECK: transformer.parameter @not_first : tensor<512x384xf32> = ones_from(1)
transformer.parameter @not_first : tensor<512x384xf32> = ones_from(1)
// CHECK: transformer.parameter @right : tensor<768x100xf32> = columns(@both.weight, 284)
transformer.parameter @right : tensor<768x100xf32> = columns(@both.weight, 284)

transformer.parameter @query.bias : tensor<384xf32> from "query.bias"
transformer.parameter @weights : tensor<8xf32> from "weights"
// CHECK: transformer.parameter @kappa : tensor<1xf32> = rows(@weights, 3)
transformer.parameter @kappa : tensor<1xf32> = rows(@weights, 3)
// CHECK: transformer.parameter @square.weight : tensor<384x768xf32> = product(@query.weight, @turned.weight)
transformer.parameter @square.weight : tensor<384x768xf32> = product(@query.weight, @turned.weight)
// CHECK: transformer.parameter @moved.bias : tensor<768xf32> = product(@both.weight, @query.bias)
transformer.parameter @moved.bias : tensor<768xf32> = product(@both.weight, @query.bias)
// CHECK: transformer.parameter @folded : tensor<384xf32> = scale(@query.bias, @kappa, 1.250000e-01)
transformer.parameter @folded : tensor<384xf32> = scale(@query.bias, @kappa, 1.250000e-01)
// CHECK: transformer.parameter @scaled : tensor<384xf32> = scale(@query.bias, @kappa, @kappa)
transformer.parameter @scaled : tensor<384xf32> = scale(@query.bias, @kappa, @kappa)
// CHECK: transformer.parameter @third : tensor<384xf32> = scale(@query.bias, 0.33333333333333331)
transformer.parameter @third : tensor<384xf32> = scale(@query.bias, 0.33333333333333331)
// CHECK: transformer.parameter @minus : tensor<384xf32> = scale(@query.bias, -1.000000e+00)
transformer.parameter @minus : tensor<384xf32> = scale(@query.bias, -1.0)
// CHECK: transformer.parameter @total : tensor<384xf32> = sum(@query.bias, @folded, @scaled)
transformer.parameter @total : tensor<384xf32> = sum(@query.bias, @folded, @scaled)
// CHECK: transformer.parameter @wider.weight : tensor<384x1152xf32> = concat_columns(@query.weight, @turned.weight)
transformer.parameter @wider.weight : tensor<384x1152xf32> = concat_columns(@query.weight, @turned.weight)

transformer.parameter @query.heads : tensor<12x32x384xf32> from "query.heads"

// CHECK-LABEL: func.func @weight
func.func @weight() -> tensor<12x32x384xf32> {
  // CHECK: transformer.weight @query.heads : tensor<12x32x384xf32>
  %w = transformer.weight @query.heads : tensor<12x32x384xf32>
  return %w : tensor<12x32x384xf32>
}

// CHECK: transformer.parameter @narrow.weight : tensor<384x384xbf16> = convert(@query.weight)
transformer.parameter @narrow.weight : tensor<384x384xbf16> = convert(@query.weight)

// CHECK: transformer.parameter @narrow.packed : tensor<8x384x48xbf16> = pack(@narrow.weight, 48)
transformer.parameter @narrow.packed : tensor<8x384x48xbf16> = pack(@narrow.weight, 48)

// CHECK: transformer.parameter @narrow.pairs : tensor<8x192x48x2xbf16> = pack(@narrow.weight, 48, 2, 2)
transformer.parameter @narrow.pairs : tensor<8x192x48x2xbf16> = pack(@narrow.weight, 48, 2, 2)

// CHECK: transformer.parameter @out.weight.f16 : tensor<384x384xf16> from "layer.0.out.weight"
transformer.parameter @out.weight.f16 : tensor<384x384xf16> from "layer.0.out.weight"
// CHECK: transformer.parameter @out.weight : tensor<384x384xf32> = convert(@out.weight.f16)
transformer.parameter @out.weight : tensor<384x384xf32> = convert(@out.weight.f16)
// CHECK: transformer.parameter @out.i8 : tensor<384x384x!transformer.quantized<i8, 32>> = convert(@out.weight)
transformer.parameter @out.i8 : tensor<384x384x!transformer.quantized<i8, 32>> = convert(@out.weight)
// CHECK: transformer.parameter @out.rows : tensor<384x384x!transformer.quantized<i8, row>> = convert(@out.weight.f16)
transformer.parameter @out.rows : tensor<384x384x!transformer.quantized<i8, row>> = convert(@out.weight.f16)
// CHECK: transformer.parameter @in.codes : tensor<8x64x!transformer.quantized<i4, 32, f16>> from "in.weight"
transformer.parameter @in.codes : tensor<8x64x!transformer.quantized<i4, 32, f16>> from "in.weight"
// CHECK: transformer.parameter @in.weight : tensor<8x64xf32> = convert(@in.codes)
transformer.parameter @in.weight : tensor<8x64xf32> = convert(@in.codes)
// CHECK: transformer.parameter @full.codes : tensor<8x64x!transformer.quantized<i8, row, full>> from "full"
transformer.parameter @full.codes : tensor<8x64x!transformer.quantized<i8, row, full>> from "full"
// CHECK: transformer.parameter @some.codes : tensor<8x64x!transformer.quantized<i8, row>> from "some"
transformer.parameter @some.codes : tensor<8x64x!transformer.quantized<i8, row>> from "some"
// CHECK: transformer.parameter @both.codes : tensor<16x64x!transformer.quantized<i8, row, full>> = concat(@full.codes, @some.codes)
transformer.parameter @both.codes : tensor<16x64x!transformer.quantized<i8, row, full>> = concat(@full.codes, @some.codes)
// CHECK: transformer.parameter @last.codes : tensor<4x64x!transformer.quantized<i8, row, full>> = rows(@both.codes, 12)
transformer.parameter @last.codes : tensor<4x64x!transformer.quantized<i8, row, full>> = rows(@both.codes, 12)
// CHECK: transformer.parameter @least.codes : tensor<8x64x!transformer.quantized<i4, 32, f16, minimums>> from "least"
transformer.parameter @least.codes : tensor<8x64x!transformer.quantized<i4, 32, f16, minimums>> from "least"
// CHECK: transformer.parameter @least.row : tensor<8x64x!transformer.quantized<i8, row, minimums, full>> from "least.row"
transformer.parameter @least.row : tensor<8x64x!transformer.quantized<i8, row, minimums, full>> from "least.row"
// CHECK: transformer.parameter @least : tensor<8x64xf32> = convert(@least.codes)
transformer.parameter @least : tensor<8x64xf32> = convert(@least.codes)
// Two scales and two minimums of 48 columns before 32 codes, in halves.
// CHECK: transformer.parameter @least.packed : tensor<1x1920xi8> = pack(@least.codes, 48)
transformer.parameter @least.packed : tensor<1x1920xi8> = pack(@least.codes, 48)
// CHECK: transformer.parameter @out.nearest : tensor<384x384x!transformer.quantized<i4, 32, bf16>> = convert(@out.weight)
transformer.parameter @out.nearest : tensor<384x384x!transformer.quantized<i4, 32, bf16>> = convert(@out.weight)
// CHECK: transformer.parameter @out.halves : tensor<8x10752xi8> = pack(@out.nearest, 48, 1, 4)
transformer.parameter @out.halves : tensor<8x10752xi8> = pack(@out.nearest, 48, 1, 4)
// CHECK: transformer.parameter @out.packed : tensor<8x20736xi8> = pack(@out.i8, 48)
transformer.parameter @out.packed : tensor<8x20736xi8> = pack(@out.i8, 48)

// CHECK: transformer.parameter @out.moments : tensor<384x384xf32> from "moments of rows 0"
transformer.parameter @out.moments : tensor<384x384xf32> from "moments of rows 0"
// CHECK: transformer.parameter @out.i4 : tensor<384x384x!transformer.quantized<i4, 32, bf16>> = compensate(@out.weight, @out.moments)
transformer.parameter @out.i4 : tensor<384x384x!transformer.quantized<i4, 32, bf16>> = compensate(@out.weight, @out.moments)
