// SPDX-License-Identifier: Apache-2.0
///
/// The families' emitters write the code; this file distributes rows and columns among lanes. Teams
/// take rows in turns and exchange data only by shuffles, so they need no shared memory.
#include "compiler/Target/Cuda/WarpRows.h"

#include "compiler/Target/Cuda/DeviceKernels.h"

#include "heddle/Abi.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <memory>

using namespace mlir;

namespace heddle {

/// Rows of a team per piece, and the largest number of rows of a launch for which it is one row.
static constexpr int64_t kRowsOfTeam = 4, kFewRows = 512;

/// Returns the columns of a panel that a kernel over a state shares among the lanes of a team.
static int64_t columnsOfPanel(dataflow::KernelOp kernel, unsigned rows) {
  // A panel has 48 columns, three for each lane.
  constexpr int64_t lanes = 16;
  return std::min(lanes, kernel.getOperandBuffer(rows).getWidth());
}

/// Returns the columns of a row that is loaded from a state or stored there.
static int64_t columnsOfState(dataflow::KernelOp kernel) {
  dataflow::StateType state = kernel.getOperandState(0);
  return state.getKeyed() ? HEDDLE_BLOCK : state.getWidth();
}

namespace {
/// The columns of a row that each family iterates over, and shares among the lanes of a team;
/// nullopt if teams cannot compute the kernel. A family without an overload does not compile.
struct ColumnsOf {
  using Columns = std::optional<int64_t>;
  mutable dataflow::KernelOp kernel;

  template <typename Computes>
    requires llvm::is_one_of<Computes, dataflow::RowsAttr, dataflow::ReduceAttr,
                             dataflow::GatherAttr, dataflow::PoolAttr, dataflow::RepeatAttr,
                             dataflow::ConvolveAttr>::value
  Columns operator()(Computes computes) const {
    return computes.getWidth();
  }
  Columns operator()(dataflow::RotateAttr computes) const {
    return std::max(computes.getPairs(), computes.getSize() - 2 * computes.getPairs());
  }
  Columns operator()(dataflow::CollectAttr computes) const {
    // Rows as long as the longest sequence have no constant width. A norm of several inputs would
    // read columns with other lanes than those that wrote them.
    const bool isOne = computes.getWidths().size() == 1 || !kernel.getNorm();
    const bool isConstant = kernel.getResultBuffer().getShape().size() < 3;
    return isOne && isConstant ? Columns(*llvm::max_element(computes.getWidths())) : Columns();
  }
  Columns operator()(dataflow::AppendAttr) const {
    dataflow::CacheType cache = kernel.getOperandCache(0);
    // Those that share a scale are quantised together.
    auto codes = dyn_cast<transformer::QuantizedType>(cache.getElementType());
    return codes ? codes.getGroupOf(cache.getWidth()) : cache.getWidth();
  }
  Columns operator()(dataflow::NestAttr nest) const {
    // Those of its last axis.
    const int64_t last = kernel.getResultBuffer().getShape().back();
    return nest.getResultAxes().size() < 2 || last < 1 ? kWarpLanes : last;
  }
  Columns operator()(dataflow::SlideAttr slide) const {
    // A norm of patches would read columns with other lanes than those that wrote them.
    const bool arePatches = slide.getKind() == dataflow::SlideKind::Patches;
    return arePatches && kernel.getNorm() ? Columns() : Columns(slide.getWidth());
  }
  Columns operator()(dataflow::AnglesAttr computes) const {
    return computes.getFrequencies().size();
  }
  Columns operator()(dataflow::LoadAttr) const { return columnsOfState(kernel); }
  Columns operator()(dataflow::StoreAttr) const { return columnsOfState(kernel); }
  Columns operator()(dataflow::AccumulateAttr) const { return columnsOfPanel(kernel, /*rows=*/1); }
  Columns operator()(dataflow::KeepAttr) const { return columnsOfPanel(kernel, /*rows=*/1); }
  Columns operator()(dataflow::PrefixMeanAttr) const { return columnsOfPanel(kernel, /*rows=*/0); }
  Columns operator()(dataflow::RunningMeanAttr) const { return columnsOfPanel(kernel, /*rows=*/0); }
  Columns operator()(dataflow::TopKAttr computes) const { return computes.getColumns(); }
  Columns operator()(dataflow::PlaceColumnsAttr computes) const { return computes.getColumns(); }

  // Blocks compute these, or each thread alone.
  template <typename Computes>
    requires isOfBlocks<Computes>
  Columns operator()(Computes) const {
    return {};
  }
};
} // namespace

static std::optional<int64_t> columnsOf(dataflow::KernelOp kernel) {
  std::optional<int64_t> columns;
  dataflow::visitFamily(kernel.getComputes(),
                        [&](auto computes) { columns = ColumnsOf{kernel}(computes); });
  return columns;
}

/// Returns the lanes of a team for rows of this many columns.
static int64_t membersFor(int64_t columns) {
  return std::min<int64_t>(kWarpLanes, static_cast<int64_t>(llvm::PowerOf2Ceil(columns)));
}

/// Operands whose addresses fit into the registers of kRowBlocks.
static constexpr unsigned kFewOperands = 12;

static BlockWork workOf(dataflow::KernelOp kernel, int64_t columns) {
  const unsigned operands = kernel.getKernelType().getNumInputs();
  const int64_t teams = kRowThreads / membersFor(columns);
  // Shared memory marks a launch whose threads cooperate.
  return {kRowThreads, kSharedAlignment, {kRowsOfTeam * teams, 1},
          {teams, 1},  kFewRows,         operands <= kFewOperands ? kRowBlocks : kRowBlocks / 2};
}

std::optional<BlockWork> warpRows(dataflow::KernelOp kernel) {
  const std::optional<int64_t> columns = columnsOf(kernel);
  return columns ? std::optional(workOf(kernel, *columns)) : std::nullopt;
}

/// Divides the threads of a block into teams in the current function.
static void enterTeams(VectorCode &code, const KernelBody &body, int64_t columns) {
  const BlockWork work = workOf(body.kernel, columns);
  work.note(body.function);
  const int64_t members = kRowThreads / work.few.rows;
  auto block = std::make_shared<BlockCode>(code, body.function);
  Value mask = members == kWarpLanes ? Value() : block->teamMask(members);
  auto combine = [block, mask, members](Value number, RowTeam::Combine two) {
    for (int64_t bits = 1; bits < members; bits *= 2) {
      number = two(number, block->ofOtherLane(number, bits, mask));
    }
    return number;
  };
  code.team = RowTeam{code.remainder(block->thread, members), members,
                      code.divide(block->thread, members), work.few.rows, combine};
}

void emitWarpRows(VectorCode &code, const KernelBody &body) {
  enterTeams(code, body, *columnsOf(body.kernel));
  emitFamily(code, body);
}

void emitWarpNorms(VectorCode &code, const KernelBody &body) {
  enterTeams(code, body, body.kernel.getMappedBuffer().getWidth());
  emitRowNorms(code, body);
}

} // namespace heddle
