// SPDX-License-Identifier: Apache-2.0
// RUN: heddle-opt %s -split-input-file -verify-diagnostics

// expected-error@+1 {{'transformer.parameter' op expects either a source or an expression, got both}}
transformer.parameter @parameter_c1 : tensor<4xf32> from "a" = zeros()

// -----

// expected-error@+1 {{'transformer.parameter' op expects either a source or an expression, got neither}}
transformer.parameter @neither : tensor<4xf32>

// -----

// expected-error@+1 {{'transformer.parameter' op expects rank 1 to 4 and positive dimensions, got 'tensor<?x4xf32>'}}
transformer.parameter @parameter_c2 : tensor<?x4xf32> from "a"

// -----

// expected-error@+1 {{'transformer.parameter' op expects rank 1 to 4 and positive dimensions, got 'tensor<f32>'}}
transformer.parameter @scalar : tensor<f32> from "a"

// -----

// expected-error@+1 {{'transformer.parameter' op expects at most 2^40 elements, got 'tensor<4294967296x4294967296xf32>'}}
transformer.parameter @huge : tensor<4294967296x4294967296xf32> from "a"

// -----

// expected-error@+1 {{attribute 'type' failed to satisfy constraint: type attribute of tensor of an element type of ElementTypes.def}}
transformer.parameter @odd : tensor<4xi2> from "a"

// -----

// expected-error@+1 {{'transformer.parameter' op expects operand '@none' to be a parameter, got no such symbol}}
transformer.parameter @parameter_c3 : tensor<4xf32> = reshape(@none)

// -----

// expected-note@+1 {{the symbol is defined here}}
func.func private @function()
// expected-error@+1 {{'transformer.parameter' op expects operand '@function' to be a parameter, got 'func.func'}}
transformer.parameter @derived : tensor<4xf32> = reshape(@function)

// -----

transformer.parameter @a : tensor<4xf32> from "a"
// expected-error@+1 {{'transformer.parameter' op expects 'reshape' of 1 parameter, got 2}}
transformer.parameter @derived : tensor<4xf32> = reshape(@a, @a)

// -----

transformer.parameter @a : tensor<4xf32> from "a"
// expected-error@+1 {{'transformer.parameter' op expects 'zeros' of 0 parameters, got 1}}
transformer.parameter @derived : tensor<4xf32> = zeros(@a)

// -----

// expected-error@+1 {{'transformer.parameter' op expects 'concat' of at least one parameter, got none}}
transformer.parameter @derived : tensor<4xf32> = concat()

// -----

transformer.parameter @a : tensor<4x6xf32> from "a"
// expected-error@+1 {{'transformer.parameter' op expects shape 6x4 of its expression, got 4x6}}
transformer.parameter @parameter_c4 : tensor<4x6xf32> = transpose(@a)

// -----

transformer.parameter @a : tensor<4x6xf32> from "a"
transformer.parameter @b : tensor<4x5xf32> from "b"
// expected-error@+1 {{'transformer.parameter' op expects operands that 'concat' takes, got shapes 4x6, 4x5 for 8x6}}
transformer.parameter @derived : tensor<8x6xf32> = concat(@a, @b)

// -----

transformer.parameter @a : tensor<100x6xf32> from "a"
// expected-error@+1 {{'transformer.parameter' op expects shape 3x6x48 of its expression, got 2x6x48}}
transformer.parameter @derived : tensor<2x6x48xf32> = pack(@a, 48)

// -----

transformer.parameter @a : tensor<6xf32> from "a"
// expected-error@+1 {{'transformer.parameter' op expects operands that 'pack' takes, got shapes 6 for 1x6x48}}
transformer.parameter @derived : tensor<1x6x48xf32> = pack(@a, 48)

// -----

transformer.parameter @a : tensor<2x3x4xf32> from "a"
// expected-error@+1 {{'transformer.parameter' op expects operands that 'transpose' takes, got shapes 2x3x4 for 4x6}}
transformer.parameter @derived : tensor<4x6xf32> = transpose(@a)

// -----

transformer.parameter @a : tensor<4x6xf32> from "a"
// expected-error@+1 {{'transformer.parameter' op expects operands that 'reshape' takes, got shapes 4x6 for 5x5}}
transformer.parameter @derived : tensor<5x5xf32> = reshape(@a)

// -----

// expected-error@+1 {{'transformer.parameter' op expects operands that are declared before it, got '@later'}}
transformer.parameter @parameter_c5 : tensor<4xf32> = reshape(@later)
// expected-note@+1 {{it is declared here}}
transformer.parameter @later : tensor<2x2xf32> = reshape(@parameter_c5)

// -----

// expected-error@+1 {{'transformer.parameter' op expects operands that are declared before it, got '@self'}}
transformer.parameter @self : tensor<4xf32> = reshape(@self)

// -----

transformer.parameter @w : tensor<384x384xf32> from "w" // expected-note {{the parameter is defined here}}
func.func @weight_c1() -> tensor<384x380xf32> {
  // expected-error@+1 {{'transformer.weight' op expects weight '@w' of shape 384x380, got 384x384}}
  %0 = transformer.weight @w : tensor<384x380xf32>
  return %0 : tensor<384x380xf32>
}

// -----

// expected-error@+1 {{'transformer.parameter' op expects 'sinusoid_split' with 2 numbers, got 1}}
transformer.parameter @parameter_c6 : tensor<4x8xf32> = sinusoid_split(0)

// -----

transformer.parameter @a : tensor<8x4xf32> from "a"
// expected-error@+1 {{'transformer.parameter' op expects 'rows' with 1 number, got 0}}
transformer.parameter @part : tensor<4x4xf32> = rows(@a)

// -----

// expected-error@+1 {{'transformer.parameter' op expects 'zeros' with 0 numbers, got 1}}
transformer.parameter @part : tensor<4x4xf32> = zeros(3)

// -----

// expected-error@+1 {{'transformer.parameter' op expects the first row of 'ones_from' from 0 to 4294967296, got -1}}
transformer.parameter @table : tensor<4x8xf32> = ones_from(-1)

// -----

// expected-error@+1 {{'transformer.parameter' op expects the steps of 'sinusoid_interleaved' from 1 to 4294967296, got 0}}
transformer.parameter @table : tensor<4x8xf32> = sinusoid_interleaved(0, 0)

// -----

// expected-error@+1 {{'transformer.parameter' op expects the first position of 'sinusoid_interleaved' from 0 to 4294967296, got -1}}
transformer.parameter @table : tensor<4x8xf32> = sinusoid_interleaved(-1, 4)

// -----

// expected-error@+1 {{'transformer.parameter' op expects a table of even width for 'sinusoid_split', got 4x7}}
transformer.parameter @table : tensor<4x7xf32> = sinusoid_split(0, 3)

// -----

transformer.parameter @a : tensor<8x4xf32> from "a"
// expected-error@+1 {{'transformer.parameter' op expects bidirectional of 'relative_buckets' from 0 to 1, got 2}}
transformer.parameter @table : tensor<4x17xf32> = relative_buckets(@a, 2, 8)

// -----

transformer.parameter @a : tensor<8x4xf32> from "a"
// expected-error@+1 {{'transformer.parameter' op expects the distance of 'relative_buckets' from 1 to 4294967296, got 0}}
transformer.parameter @table : tensor<4x1xf32> = relative_buckets(@a, 1, 0)

// -----

transformer.parameter @a : tensor<7x4xf32> from "a"
// expected-error@+1 {{'transformer.parameter' op expects operands that 'relative_buckets' takes, got shapes 7x4 for 4x17}}
transformer.parameter @table : tensor<4x17xf32> = relative_buckets(@a, 1, 8)

// -----

transformer.parameter @a : tensor<8x4xf32> from "a"
// expected-error@+1 {{'transformer.parameter' op expects shape 4x17 of its expression, got 4x16}}
transformer.parameter @table : tensor<4x16xf32> = relative_buckets(@a, 1, 8)

// -----

transformer.parameter @a : tensor<8x4xf32> from "a"
// expected-error@+1 {{'transformer.parameter' op expects operands that 'rows' takes, got shapes 8x4 for 4x4}}
transformer.parameter @part : tensor<4x4xf32> = rows(@a, 5)

// -----

transformer.parameter @a : tensor<8x4xf32> from "a"
// expected-error@+1 {{expected a number after numbers}}
transformer.parameter @part : tensor<4x4xf32> = rows(4, @a)

// -----

transformer.parameter @a : tensor<4xf32> from "a"
// expected-error@+1 {{'transformer.parameter' op expects 'scale' by at least one factor, got none}}
transformer.parameter @parameter_c7 : tensor<4xf32> = scale(@a)

// -----

transformer.parameter @a : tensor<4xf32> from "a"
// expected-error@+1 {{'transformer.parameter' op expects a finite constant, got 0x7FF0000000000000 : f64}}
transformer.parameter @infinite : tensor<4xf32> = scale(@a, 0x7FF0000000000000)

// -----

transformer.parameter @a : tensor<4xf32> from "a"
// expected-error@+1 {{expected nothing after a constant}}
transformer.parameter @factors : tensor<4xf32> = scale(@a, 2.0, @a)

// -----

// expected-error@+1 {{'transformer.parameter' op expects 'scale' of at least one parameter, got none}}
transformer.parameter @scale_of_none : tensor<4xf32> = scale(2.0)

// -----

transformer.parameter @a : tensor<4xf32> from "a"
// expected-error@+1 {{'transformer.parameter' op expects operands that 'scale' takes, got shapes 4, 4 for 4}}
transformer.parameter @scale_by_vector : tensor<4xf32> = scale(@a, @a)

// -----

transformer.parameter @a : tensor<4x6xf32> from "a"
// expected-error@+1 {{'transformer.parameter' op expects operands that 'product' takes, got shapes 4x6, 4x6 for 4x6}}
transformer.parameter @product_of_others : tensor<4x6xf32> = product(@a, @a)

// -----

transformer.parameter @a : tensor<4x6xf32> from "a"
// expected-error@+1 {{'transformer.parameter' op expects 'product' of 2 parameters, got 1}}
transformer.parameter @product_of_one : tensor<4x6xf32> = product(@a)

// -----

transformer.parameter @a : tensor<4x6xf32> from "a"
transformer.parameter @b : tensor<6x4xf32> from "b"
// expected-error@+1 {{'transformer.parameter' op expects operands that 'sum' takes, got shapes 4x6, 6x4 for 4x6}}
transformer.parameter @sum_of_shapes : tensor<4x6xf32> = sum(@a, @b)

// -----

transformer.parameter @a : tensor<4x6xf32> from "a"
transformer.parameter @b : tensor<6x4xf32> from "b"
// expected-error@+1 {{'transformer.parameter' op expects operands that 'concat_columns' takes, got shapes 4x6, 6x4 for 4x10}}
transformer.parameter @columns_of_shapes : tensor<4x10xf32> = concat_columns(@a, @b)

// -----

transformer.parameter @a : tensor<4x6xf32> from "a"
// expected-error@+1 {{'transformer.parameter' op expects shape 4x12 of its expression, got 4x6}}
transformer.parameter @columns_of_width : tensor<4x6xf32> = concat_columns(@a, @a)

// -----

transformer.parameter @a : tensor<100x6xf32> from "a"
// expected-error@+1 {{'transformer.parameter' op expects operands that 'pack' takes, got shapes 100x6 for 3x6x48}}
transformer.parameter @derived : tensor<3x6x48xf32> = pack(@a, 48, 3)

// -----

transformer.parameter @a : tensor<100x6xf32> from "a"
// expected-error@+1 {{'transformer.parameter' op expects shape 4x6x48 of its expression, got 3x6x48}}
transformer.parameter @derived : tensor<3x6x48xf32> = pack(@a, 48, 2)

// -----

transformer.parameter @a : tensor<100x6xf32> from "a"
// expected-error@+1 {{'transformer.parameter' op expects the groups of 'pack' from 1 to 4294967296, got 0}}
transformer.parameter @derived : tensor<3x6x48xf32> = pack(@a, 48, 0)

// -----

transformer.parameter @a : tensor<100x6xf32> from "a"
// expected-error@+1 {{'transformer.parameter' op expects the columns of 'pack' from 1 to 4294967296, got 0}}
transformer.parameter @derived : tensor<3x6x48xf32> = pack(@a, 0)

// -----

transformer.parameter @a : tensor<100x6xf32> from "a"
// expected-error@+1 {{'transformer.parameter' op expects 'pack' with at most 3 numbers, got 4}}
transformer.parameter @derived : tensor<3x6x48xf32> = pack(@a, 48, 2, 1, 2)

// -----

transformer.parameter @a : tensor<4x6xf32> from "a"
// expected-error@+1 {{'transformer.parameter' op expects operands that 'columns' takes, got shapes 4x6 for 4x3}}
transformer.parameter @columns_beyond : tensor<4x3xf32> = columns(@a, 4)

// -----

transformer.parameter @a : tensor<4x6xf32> from "a"
// expected-error@+1 {{'transformer.parameter' op expects shape 4x3 of its expression, got 5x3}}
transformer.parameter @columns_rows : tensor<5x3xf32> = columns(@a, 3)

// -----

transformer.parameter @a : tensor<6xf32> from "a"
// expected-error@+1 {{'transformer.parameter' op expects operands that 'columns' takes, got shapes 6 for 3}}
transformer.parameter @columns_vector : tensor<3xf32> = columns(@a, 3)

// -----

transformer.parameter @a : tensor<4x6xf32> from "a"
// expected-error@+1 {{'transformer.parameter' op expects the first column of 'columns' from 0 to 4294967296, got -1}}
transformer.parameter @columns_before : tensor<4x3xf32> = columns(@a, -1)

// -----

// expected-error@+1 {{'transformer.parameter' op expects elements of f32, f16 or bf16 from a checkpoint, or a matrix of quantised ones, got 'tensor<6xi8>'}}
transformer.parameter @parameter_c8 : tensor<6xi8> from "a"

// -----

transformer.parameter @a : tensor<6xf32> from "a"
// expected-error@+1 {{'transformer.parameter' op expects elements of f32, f16 or bf16 of 'convert', or quantised ones, and of its operand, got 'tensor<6xi32>'}}
transformer.parameter @parameter_c8_convert : tensor<6xi32> = convert(@a)

// -----

transformer.parameter @a : tensor<6xf32> from "a"
transformer.parameter @narrow : tensor<6xbf16> = convert(@a)
// expected-error@+1 {{'transformer.parameter' op expects elements of 'f32' of 'sum' and its operands, got 'tensor<6xbf16>'}}
transformer.parameter @summed : tensor<6xf32> = sum(@a, @narrow)

// -----

transformer.parameter @a : tensor<6x6xf32> from "a"
// expected-error@+1 {{'transformer.parameter' op expects elements of 'f32' of 'pack' and its operands, got 'tensor<1x6x48xbf16>'}}
transformer.parameter @packed : tensor<1x6x48xbf16> = pack(@a, 48)

// -----

transformer.parameter @a : tensor<6x4xf32> from "a"
transformer.parameter @narrow : tensor<6x4xbf16> = convert(@a)
func.func @narrow_weight(%x: tensor<?x4xf32>) -> tensor<?x6xf32> {
  // expected-error@+1 {{'transformer.linear' op expects weight '@narrow' of f32, got 'tensor<6x4xbf16>'}}
  %0 = transformer.linear %x, @narrow : tensor<?x4xf32> -> tensor<?x6xf32>
  return %0 : tensor<?x6xf32>
}

// -----

transformer.parameter @a : tensor<6xf32> from "a"
transformer.parameter @codes : tensor<6x!transformer.quantized<i8, row>> = convert(@a)
// expected-error@+1 {{'transformer.parameter' op expects elements of f32, f16 or bf16 of 'convert', or quantised ones, and of its operand, got 'tensor<6x!transformer.quantized<i8, row>>'}}
transformer.parameter @parameter_c8_again : tensor<6x!transformer.quantized<i8, row>> = convert(@codes)

// -----

// expected-error@+1 {{'transformer.parameter' op expects elements of f32, f16 or bf16 from a checkpoint, or a matrix of quantised ones, got 'tensor<6x!transformer.quantized<i8, row>>'}}
transformer.parameter @parameter_c8_vector : tensor<6x!transformer.quantized<i8, row>> from "a"

// -----

transformer.parameter @a : tensor<6x40xf32> from "a"
transformer.parameter @codes : tensor<6x40x!transformer.quantized<i8, 32>> = convert(@a)
// expected-error@+1 {{'transformer.parameter' op expects elements of 'i8' of 'pack' and its operands, got 'tensor<1x2304xf32>'}}
transformer.parameter @parameter_c8_packed : tensor<1x2304xf32> = pack(@codes, 48)

// -----

transformer.parameter @a : tensor<6x40xf32> from "a"
transformer.parameter @codes : tensor<6x40x!transformer.quantized<i8, 32>> = convert(@a)
// expected-error@+1 {{'transformer.parameter' op expects shape 1x2304 of its expression, got 1x40x48}}
transformer.parameter @parameter_c4_packed : tensor<1x40x48xi8> = pack(@codes, 48)

// -----

transformer.parameter @a : tensor<6x40xf32> from "a"
transformer.parameter @codes : tensor<6x40x!transformer.quantized<i8, 32>> = convert(@a)
// expected-error@+1 {{'transformer.parameter' op expects rows of '!transformer.quantized<i8, 16>' of 'rows', as long as its own, got 'tensor<6x40x!transformer.quantized<i8, 32>>'}}
transformer.parameter @parameter_c8_rows : tensor<2x40x!transformer.quantized<i8, 16>> = rows(@codes, 1)

// -----

transformer.parameter @codes : tensor<6x40x!transformer.quantized<i8, 32, full>> from "a"
// expected-error@+1 {{'transformer.parameter' op expects rows of '!transformer.quantized<i8, 32>' of 'concat', as long as its own, got 'tensor<6x40x!transformer.quantized<i8, 32, full>>'}}
transformer.parameter @parameter_c8_full : tensor<12x40x!transformer.quantized<i8, 32>> = concat(@codes, @codes)

// -----

transformer.parameter @codes : tensor<6x40x!transformer.quantized<i8, row>> from "a"
// expected-error@+1 {{'transformer.parameter' op expects rows of '!transformer.quantized<i8, row>' of 'reshape', as long as its own, got 'tensor<6x40x!transformer.quantized<i8, row>>'}}
transformer.parameter @parameter_c8_cut : tensor<12x20x!transformer.quantized<i8, row>> = reshape(@codes)

// -----

transformer.parameter @a : tensor<6x40xf32> from "a"
// expected-error@+1 {{'transformer.parameter' op expects elements of 'f32' of 'sum' and its operands, got 'tensor<6x40x!transformer.quantized<i8, row>>'}}
transformer.parameter @parameter_c8_sum : tensor<6x40x!transformer.quantized<i8, row>> = sum(@a, @a)

// -----

// expected-error@+1 {{expects codes of i8 or i4, got 'i2'}}
func.func private @quantized_c1(tensor<6x!transformer.quantized<i2, 32>>)

// -----

// expected-error@+1 {{expects 'row' or 1 to 2^40 elements that share a scale, got 0}}
func.func private @quantized_c2(tensor<6x!transformer.quantized<i8, 0>>)

// -----

// expected-error@+1 {{expects 'row' or 1 to 2^40 elements that share a scale, got -32}}
func.func private @quantized_c2_negative(tensor<6x!transformer.quantized<i8, -32>>)

// -----

// expected-error@+1 {{expects 'row' or 1 to 2^40 elements that share a scale, got 2000000000000}}
func.func private @quantized_c2_large(tensor<6x!transformer.quantized<i8, 2000000000000>>)

// -----

// expected-error@+1 {{expects 'row' or a multiple of 8 elements of i4 that share a scale, got 12}}
func.func private @quantized_c2_halves(tensor<6x!transformer.quantized<i4, 12>>)

// -----

// expected-error@+1 {{expects scales of f32, f16 or bf16, got 'f64'}}
func.func private @quantized_c3(tensor<6x!transformer.quantized<i4, 32, f64>>)

// -----

// expected-error@+1 {{expects codes of i8 to be full, got 'i4'}}
func.func private @quantized_c4(tensor<6x!transformer.quantized<i4, 32, f16, full>>)

// -----

// expected-error@+1 {{expects 'minimums', 'full' or '>'}}
func.func private @scales_twice(tensor<6x!transformer.quantized<i8, 32, f16, f16>>)

// -----

// expected-error@+1 {{expects 'full' or '>'}}
func.func private @minimums_twice(tensor<6x!transformer.quantized<i8, 32, f16, minimums, minimums>>)

// -----

transformer.parameter @a : tensor<6x40xf32> from "a"
// expected-error@+1 {{'transformer.parameter' op expects elements without minimums of 'convert', got 'tensor<6x40x!transformer.quantized<i4, 32, minimums>>'}}
transformer.parameter @parameter_c8_minimums : tensor<6x40x!transformer.quantized<i4, 32, minimums>> = convert(@a)

// -----

transformer.parameter @a : tensor<6x40xf32> from "a"
transformer.parameter @m : tensor<40x40xf32> from "m"
// expected-error@+1 {{'transformer.parameter' op expects elements without minimums of 'compensate', got 'tensor<6x40x!transformer.quantized<i8, 8, minimums>>'}}
transformer.parameter @parameter_c8_compensate_minimums : tensor<6x40x!transformer.quantized<i8, 8, minimums>> = compensate(@a, @m)

// -----

transformer.parameter @codes : tensor<6x64x!transformer.quantized<i4, 32, f16, minimums>> from "a"
// expected-error@+1 {{'transformer.parameter' op expects rows of '!transformer.quantized<i4, 32, f16>' of 'rows', as long as its own, got 'tensor<6x64x!transformer.quantized<i4, 32, f16, minimums>>'}}
transformer.parameter @parameter_c8_other_minimums : tensor<2x64x!transformer.quantized<i4, 32, f16>> = rows(@codes, 1)

// -----

transformer.parameter @codes : tensor<6x64x!transformer.quantized<i8, 32, minimums>> from "a"
// expected-error@+1 {{'transformer.parameter' op expects operands that 'pack' takes, got shapes 6x64 for 1x3840}}
transformer.parameter @packed_minimums_by_4 : tensor<1x3840xi8> = pack(@codes, 48, 1, 4)

// -----

transformer.parameter @a : tensor<6x40xf32> from "a"
transformer.parameter @codes : tensor<6x40x!transformer.quantized<i4, 32, bf16>> = convert(@a)
// expected-error@+1 {{'transformer.parameter' op expects shape 1x1216 of its expression, got 1x1217}}
transformer.parameter @packed_halves : tensor<1x1217xi8> = pack(@codes, 48, 1, 4)

// -----

transformer.parameter @a : tensor<6x40xf32> from "a"
// expected-error@+1 {{'transformer.parameter' op expects operands that 'pack' takes, got shapes 6x40 for 1x40x48}}
transformer.parameter @packed_f32_by_4 : tensor<1x40x48xf32> = pack(@a, 48, 1, 4)

// -----

transformer.parameter @a : tensor<6x40xf32> from "a"
transformer.parameter @codes : tensor<6x40x!transformer.quantized<i8, 6>> = convert(@a)
// expected-error@+1 {{'transformer.parameter' op expects operands that 'pack' takes, got shapes 6x40 for 1x2304}}
transformer.parameter @packed_sixes_by_4 : tensor<1x2304xi8> = pack(@codes, 48, 1, 4)

// -----

transformer.parameter @a : tensor<6x40xf32> from "a"
transformer.parameter @codes : tensor<6x40x!transformer.quantized<i8, row>> = convert(@a)
// expected-error@+1 {{'transformer.parameter' op expects operands that 'pack' takes, got shapes 6x40 for 1x2304}}
transformer.parameter @packed_by_2 : tensor<1x2304xi8> = pack(@codes, 48, 1, 2)

// -----

transformer.parameter @a : tensor<6x40xf32> from "a"
transformer.parameter @codes : tensor<6x40x!transformer.quantized<i8, row>> = convert(@a)
// expected-error@+1 {{'transformer.parameter' op expects the elements together of 'pack' from 1 to 4294967296, got 0}}
transformer.parameter @packed_by_0 : tensor<1x2304xi8> = pack(@codes, 48, 1, 0)

// -----

transformer.parameter @a : tensor<6x40xbf16> from "a"
// expected-error@+1 {{'transformer.parameter' op expects operands that 'pack' takes, got shapes 6x40 for 1x10x48x4}}
transformer.parameter @packed_bf16_by_4 : tensor<1x10x48x4xbf16> = pack(@a, 48, 1, 4)

// -----

transformer.parameter @a : tensor<6x40xf32> from "a"
// expected-error@+1 {{'transformer.parameter' op expects operands that 'pack' takes, got shapes 6x40 for 1x20x48x2}}
transformer.parameter @packed_f32_by_2 : tensor<1x20x48x2xf32> = pack(@a, 48, 1, 2)

// -----

transformer.parameter @a : tensor<6x40xf32> from "a"
// expected-error@+1 {{'transformer.parameter' op expects 'compensate' of 2 parameters, got 1}}
transformer.parameter @parameter_c3_compensate : tensor<6x40x!transformer.quantized<i8, 8>> = compensate(@a)

// -----

transformer.parameter @a : tensor<6x40xf32> from "a"
transformer.parameter @moments : tensor<20x20xf32> from "m"
// expected-error@+1 {{'transformer.parameter' op expects operands that 'compensate' takes, got shapes 6x40, 20x20 for 6x40}}
transformer.parameter @parameter_c4_compensate : tensor<6x40x!transformer.quantized<i8, 8>> = compensate(@a, @moments)

// -----

// Four groups of rows that have no rows of equal number.
transformer.parameter @a : tensor<6x40xf32> from "a"
transformer.parameter @moments : tensor<160x40xf32> from "m"
// expected-error@+1 {{'transformer.parameter' op expects operands that 'compensate' takes, got shapes 6x40, 160x40 for 6x40}}
transformer.parameter @parameter_c4_groups : tensor<6x40x!transformer.quantized<i8, 8>> = compensate(@a, @moments)

// -----

transformer.parameter @a : tensor<6x40xf32> from "a"
transformer.parameter @moments : tensor<40x40xf32> from "m"
// expected-error@+1 {{'transformer.parameter' op expects shape 6x40 of its expression, got 40x6}}
transformer.parameter @parameter_c4_turned : tensor<40x6x!transformer.quantized<i8, 8>> = compensate(@a, @moments)

// -----

transformer.parameter @a : tensor<6x40xf32> from "a"
transformer.parameter @moments : tensor<40x40xf32> from "m"
// expected-error@+1 {{'transformer.parameter' op expects quantised elements of 'compensate', f32, f16 or bf16 of its matrix and f32 of its moments, got 'tensor<6x40xf32>', 'tensor<6x40xf32>' and 'tensor<40x40xf32>'}}
transformer.parameter @parameter_c8_compensate : tensor<6x40xf32> = compensate(@a, @moments)
