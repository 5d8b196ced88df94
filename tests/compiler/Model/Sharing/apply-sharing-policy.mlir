// SPDX-License-Identifier: Apache-2.0
// RUN: not heddle-opt %s -transformer-apply-sharing 2>&1 | FileCheck %s --check-prefix=EMPTY
// RUN: not heddle-opt %s -transformer-apply-sharing="policy=1,2" 2>&1 | FileCheck %s --check-prefix=KIND
// RUN: not heddle-opt %s -transformer-apply-sharing="policy=decoder:1" 2>&1 | FileCheck %s --check-prefix=NAME
// RUN: not heddle-opt %s -transformer-apply-sharing="policy=self:1,self:2" 2>&1 | FileCheck %s --check-prefix=TWICE
// RUN: not heddle-opt %s -transformer-apply-sharing="policy=self:1,0" 2>&1 | FileCheck %s --check-prefix=SIZE
// RUN: not heddle-opt %s -transformer-apply-sharing="policy=self:" 2>&1 | FileCheck %s --check-prefix=NONE

// What is no policy.
// EMPTY: error: the sharing policy has "" before any kind, expected for example self:1,5
// KIND: error: the sharing policy has "1" before any kind, expected for example self:1,5
// NAME: error: the sharing policy has kind "decoder", expected encoder, self or cross
// TWICE: error: the sharing policy has kind "self" again, expected it once
// SIZE: error: the sharing policy has "0" as the size of a block, expected a number from 1 to 100000
// NONE: error: the sharing policy has "" as the size of a block, expected a number from 1 to 100000
module {
}
