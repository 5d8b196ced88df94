// SPDX-License-Identifier: Apache-2.0
///
/// The table of targets. Tiles are those measured fastest, see docs/performance.md.
#include "compiler/Target/Target.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

namespace heddle {

/// Three registers of 16 lanes and six of 8, so that x86-64 targets share stored weights.
static constexpr int64_t kPanelColumns = 48;

static constexpr ElementType kWeightElements[] = {ElementType::F32, ElementType::BF16};
static constexpr ElementType kCacheElements[] = {ElementType::F32};

llvm::ArrayRef<TargetDescription> allTargets() {
  static constexpr llvm::StringLiteral triple = "x86_64-unknown-linux-gnu";
  static const TargetDescription targets[] = {
      // 16 registers: 6 x 2 accumulators, 2 weights, 1 broadcast.
      {"x86-64-v3", triple, "x86-64-v3", /*lanes=*/8, /*tileRows=*/6, /*tileVectors=*/2,
       kPanelColumns, /*hasScale=*/false, /*cacheBytes=*/512 * 1024, kWeightElements,
       kCacheElements},
      // 32 registers: 8 x 3 accumulators, 3 weights; broadcasts are memory operands.
      {"x86-64-v4", triple, "x86-64-v4", /*lanes=*/16, /*tileRows=*/8, /*tileVectors=*/3,
       kPanelColumns, /*hasScale=*/true, /*cacheBytes=*/1024 * 1024, kWeightElements,
       kCacheElements},
  };
  return targets;
}

const TargetDescription *findTarget(llvm::StringRef name) {
  for (const TargetDescription &target : allTargets()) {
    if (target.name == name) {
      return &target;
    }
  }
  return nullptr;
}

std::string targetNames() {
  return llvm::join(
      llvm::map_range(allTargets(), [](const TargetDescription &t) { return t.name.str(); }), ", ");
}

const TargetDescription *nativeTarget() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("x86-64-v4")) {
    return findTarget("x86-64-v4");
  }
  if (__builtin_cpu_supports("x86-64-v3")) {
    return findTarget("x86-64-v3");
  }
#endif
  return nullptr;
}

} // namespace heddle
