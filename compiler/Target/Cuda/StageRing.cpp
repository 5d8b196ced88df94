// SPDX-License-Identifier: Apache-2.0
///
/// Implements stages: all "full" mbarriers come first, then all "empty" ones.
#include "compiler/Target/Cuda/StageRing.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace heddle {

Value StageRing::full(Value number) {
  return code.add(code.multiply(number, kMbarrierBytes), begin);
}
Value StageRing::empty(Value number) { return code.add(full(number), stages * kMbarrierBytes); }

void StageRing::create(Value fills, Value reads) {
  code.when(code.equal(warpgroups.block.thread, code.integer(0)), [&] {
    for (int64_t stage = 0; stage < stages; ++stage) {
      warpgroups.createMbarrier(full(code.integer(stage)), fills);
      warpgroups.createMbarrier(empty(code.integer(stage)), reads);
    }
  });
}

void StageRing::destroy() {
  code.when(code.equal(warpgroups.block.thread, code.integer(0)), [&] {
    for (int64_t stage = 0; stage < stages; ++stage) {
      warpgroups.destroyMbarrier(full(code.integer(stage)));
      warpgroups.destroyMbarrier(empty(code.integer(stage)));
    }
  });
}

Value StageRing::otherParity(Value parity) {
  return arith::XOrIOp::create(code.builder, code.location, parity, warpgroups.constant(1));
}

Stage StageRing::first() { return {code.integer(0), warpgroups.constant(0)}; }

Stage StageRing::after(const Stage &stage) {
  Value next = code.add(stage.number, 1);
  Value isInside = code.less(next, code.integer(stages));
  return {code.select(isInside, next, code.integer(0)),
          code.select(isInside, stage.parity, otherParity(stage.parity))};
}

Value StageRing::numberBefore(Value number) {
  return code.select(code.equal(number, code.integer(0)), code.integer(stages - 1),
                     code.subtract(number, 1));
}

void StageRing::awaitEmpty(const Stage &stage) {
  // Before a stage is filled first, the phase before the first one counts as complete.
  warpgroups.awaitPhase(empty(stage.number), otherParity(stage.parity));
}

} // namespace heddle
