// SPDX-License-Identifier: Apache-2.0
///
/// Assigns every result an offset in the arena, as a linear function of the run-time sizes, so that
/// one plan serves every batch. Results with disjoint live ranges share memory. A result never
/// overlaps the operands of its own dispatch, with one exception: it may replace an element-wise
/// operand without other users. Each of its elements is read before it is overwritten, and the
/// cache line is loaded once instead of twice.
///
/// The arena has a stretch for each size that buffers are proportional to: `tokens`, `sequences`,
/// other row spaces, then products such as `tokens * longest`. Within a stretch the largest buffers
/// are placed first, each at the lowest offset that is free during its whole live range.
///
/// ```mlir
/// dataflow.graph @encode(...) {
///   %1 = dataflow.dispatch @contract_1152x384(%0, ...) : ...
/// ```
/// becomes
/// ```mlir
/// dataflow.graph @encode(...) attributes {arena = #dataflow.size<tokens = 9216>} {
///   %1 = dataflow.dispatch @contract_1152x384(%0, ...) at <tokens = 1536> : ...
/// ```
/// Results that the graph outputs are in the caller's buffers, caches and states in memory of their
/// own. Tests: tests/compiler/Dataflow/plan-memory.mlir
#include "heddle/Abi.h"

#include "compiler/Dataflow/KernelBuilder.h"
#include "compiler/Passes.h"
#include "compiler/Remarks/Report.h"

#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <map>
#include <memory>
#include <utility>
#include <vector>

using namespace mlir;
using namespace heddle::dataflow;

namespace heddle {

#define GEN_PASS_DEF_PLANMEMORYPASS
#include "compiler/Passes.h.inc"

namespace {

/// The run-time size that a buffer is proportional to, a SizeTerm without its bytes: rows of a
/// space, and the most keys of a row or 0.
using Stretch = std::pair<int64_t, int64_t>;

/// Orders stretches as in the arena.
struct InOrder {
  bool operator()(const Stretch &left, const Stretch &right) const {
    return SizeTerm{left.first, left.second, 0} < SizeTerm{right.first, right.second, 0};
  }
};

/// One number for each stretch.
using Sizes = std::map<Stretch, uint64_t, InOrder>;

/// The live range of a result, and of results that replace it in turn, all of the same size: from
/// begin to end in positions of the graph, and its offset.
struct Interval {
  SmallVector<OpResult, 1> results;
  Stretch stretch;
  uint64_t size;
  size_t begin;
  size_t end;
  uint64_t offset = 0;
};

SizeAttr toAttribute(MLIRContext *context, const Sizes &sizes) {
  SmallVector<SizeTerm> terms;
  for (const auto &[stretch, bytes] : sizes) {
    if (bytes != 0) {
      terms.push_back({stretch.first, stretch.second, bytes});
    }
  }
  return SizeAttr::get(context, terms);
}

/// Returns the stretch of a buffer of this type; nothing if its size is no multiple of the sizes
/// that the plan supports.
std::optional<Stretch> stretchOf(BufferType type) {
  Stretch stretch = {0, 0};
  for (int64_t size : type.getShape()) {
    if (size > 0) {
      continue;
    }
    int64_t &place = isLongest(size) ? stretch.second : stretch.first;
    if (place != 0) {
      return std::nullopt;
    }
    place = size;
  }
  return stretch.first != 0 ? std::optional(stretch) : std::nullopt;
}

/// Returns an upper bound, per token, of a size that is a sum over row spaces.
uint64_t bytesPerToken(const Sizes &sizes) {
  uint64_t bytes = 0;
  for (const auto &[stretch, size] : sizes) {
    bytes += stretch.second == 0 ? rowSpaceOf(stretch.first)->perToken(size) : 0;
  }
  return bytes;
}

/// Makes every output of the graph the result of a separate dispatch, which can write to the
/// caller's buffer: copies arguments, views, and repeated outputs of one value.
LogicalResult separateOutputs(GraphOp graph, SymbolTable &symbols) {
  auto output = cast<OutputOp>(graph.getBody().front().getTerminator());
  llvm::DenseSet<Value> written;
  OpBuilder builder(output);
  for (OpOperand &operand : output->getOpOperands()) {
    Value value = operand.get();
    if (!isa<BufferType>(value.getType())) {
      continue;
    }
    auto dispatch = value.getDefiningOp<DispatchOp>();
    if (dispatch && written.insert(value).second) {
      continue;
    }
    if (!cast<BufferType>(value.getType()).getElementType().isF32()) {
      return graph.emitError("graph '")
             << graph.getSymName() << "' outputs its input " << operand.getOperandNumber()
             << " of integers, expected f32";
    }
    Location location = dispatch ? dispatch.getLoc() : graph.getLoc();
    operand.set(createCopy(builder, symbols, location, value).getResult(0));
  }
  return success();
}

/// Returns the value whose memory holds a value of a graph, looking through any number of views and
/// loops. The results of a loop are those of its last operations.
Value storedValue(Value value) {
  Value viewed = viewedValue(value);
  auto loop = viewed.getDefiningOp<LoopOp>();
  return loop ? loop.getNext(cast<OpResult>(viewed)) : viewed;
}

/// The dispatches of a graph with the range in which each may run, in positions of the graph: a
/// dispatch in a loop may run at any time while the loop, or one beside it, runs.
struct Running {
  DispatchOp dispatch;
  size_t begin;
  size_t end;
};

SmallVector<Running> runningTimes(GraphOp graph) {
  SmallVector<Running> times;
  Operation *loop = nullptr;
  for (DispatchOp dispatch : graph.getDispatches()) {
    size_t position = times.size() + 1;
    Operation *parent = dispatch->getParentOp();
    auto inner = dyn_cast<LoopOp>(parent);
    bool isInSame = inner && (inner == loop || inner.getBeside());
    times.push_back({dispatch, isInSame ? times.back().begin : position, position});
    loop = parent;
  }
  for (size_t i = times.size(); i-- > 1;) {
    if (times[i - 1].begin == times[i].begin) {
      times[i - 1].end = times[i].end;
    }
  }
  return times;
}

/// Counts the uses of each stored value as operand, including uses of views and values that a loop
/// carries.
llvm::DenseMap<Value, unsigned> countReaders(GraphOp graph) {
  llvm::DenseMap<Value, unsigned> readers;
  graph.walk([&](Operation *op) {
    if (!isa<ColumnsOp, ReshapeOp>(op)) {
      for (Value operand : op->getOperands()) {
        ++readers[storedValue(operand)];
      }
    }
  });
  return readers;
}

/// Returns which interval the result of a dispatch may replace: that of an element-wise operand of
/// the same type without other users. Epilogues read each element once, before they write the
/// result.
std::optional<size_t> replacedBy(DispatchOp dispatch, SymbolTable &symbols,
                                 const llvm::DenseMap<Value, unsigned> &readers,
                                 const llvm::DenseMap<Value, size_t> &places) {
  auto kernel = symbols.lookup<KernelOp>(dispatch.getKernel());
  if (!kernel || dispatch->getNumResults() != 1) {
    return std::nullopt;
  }
  Type type = dispatch->getResult(0).getType();
  unsigned first = kernel.getNumInputs();
  for (Value operand : dispatch.getInputs().slice(first, kernel.getNumElementwise())) {
    Value stored = storedValue(operand);
    auto place = places.find(stored);
    if (operand.getType() == type && stored.getType() == type && readers.lookup(stored) == 1 &&
        place != places.end()) {
      return place->second;
    }
  }
  return std::nullopt;
}

/// Returns the intervals of a graph. With `reuse`, results replace operands where possible.
FailureOr<SmallVector<Interval>> findIntervals(GraphOp graph, SymbolTable &symbols, bool reuse) {
  SmallVector<Interval> intervals;
  llvm::DenseMap<Value, unsigned> readers = countReaders(graph);
  llvm::DenseMap<Value, size_t> indices;
  llvm::DenseSet<Value> outputs;
  outputs.insert_range(graph.getBody().front().getTerminator()->getOperands());
  for (Running running : runningTimes(graph)) {
    SmallVector<Value> read(running.dispatch.getInputs());
    if (auto loop = dyn_cast<LoopOp>(running.dispatch->getParentOp())) {
      llvm::append_range(read, loop.getInitial());
    }
    for (Value input : read) {
      if (auto found = indices.find(storedValue(input)); found != indices.end()) {
        intervals[found->second].end = running.end;
      }
    }
    for (OpResult result : running.dispatch->getResults()) {
      auto type = dyn_cast<BufferType>(result.getType());
      if (!type || outputs.contains(result)) {
        continue;
      }
      std::optional<Stretch> stretch = stretchOf(type);
      if (!stretch) {
        return running.dispatch.emitOpError("has a result ")
               << type
               << " whose size is no multiple of the rows of a space, or of those times the "
                  "most keys of a row";
      }
      std::optional<size_t> replaced =
          reuse ? replacedBy(running.dispatch, symbols, readers, indices) : std::nullopt;
      if (replaced) {
        intervals[*replaced].results.push_back(result);
        indices[result] = *replaced;
        continue;
      }
      uint64_t size =
          llvm::alignTo(type.getConstantElements() * type.getElementBytes(), HEDDLE_ALIGNMENT);
      indices[result] = intervals.size();
      intervals.push_back({{result}, *stretch, size, running.begin, running.end});
    }
  }
  return intervals;
}

/// The intervals placed at one offset of a stretch, which are disjoint in time, by begin.
class Shelf {
public:
  explicit Shelf(uint64_t offset) : offset(offset) {}

  /// Returns the end of the memory used here during `interval`; nothing if it is free.
  std::optional<uint64_t> endDuring(const Interval &interval) const {
    // Fast path: the last interval is the most likely conflict, and most intervals have one size.
    if (isUniform && last.begin <= interval.end && interval.begin <= last.end) {
      return offset + last.size;
    }
    std::optional<uint64_t> end;
    auto next = lives.upper_bound(interval.begin);
    if (next != lives.begin() && std::prev(next)->second.end >= interval.begin) {
      --next;
    }
    for (; next != lives.end() && next->first <= interval.end; ++next) {
      end = std::max(end.value_or(0), offset + next->second.size);
      if (isUniform) {
        break;
      }
    }
    return end;
  }

  void add(const Interval &interval) {
    isUniform = isUniform && (lives.empty() || last.size == interval.size);
    last = {interval.begin, interval.end, interval.size};
    lives[interval.begin] = last;
  }

  const uint64_t offset;

private:
  struct Life {
    size_t begin;
    size_t end;
    uint64_t size;
  };
  std::map<size_t, Life> lives;
  Life last = {};
  bool isUniform = true;
};

/// The intervals placed in one stretch so far: even a chain of a hundred thousand results has few
/// shelves.
class Shelves {
public:
  /// Returns the lowest offset at which `interval` overlaps no placed interval that is live at the
  /// same time.
  uint64_t lowestFree(const Interval &interval) const {
    uint64_t offset = 0;
    for (const std::unique_ptr<Shelf> &shelf : shelves) {
      if (offset + interval.size <= shelf->offset) {
        break;
      }
      if (std::optional<uint64_t> end = shelf->endDuring(interval)) {
        offset = std::max(offset, *end);
      }
    }
    return offset;
  }

  void add(const Interval &interval) {
    auto isBelow = [](const std::unique_ptr<Shelf> &shelf, uint64_t offset) {
      return shelf->offset < offset;
    };
    auto place = std::lower_bound(shelves.begin(), shelves.end(), interval.offset, isBelow);
    if (place == shelves.end() || (*place)->offset != interval.offset) {
      place = shelves.insert(place, std::make_unique<Shelf>(interval.offset));
    }
    (*place)->add(interval);
  }

private:
  /// Sorted by offset.
  std::vector<std::unique_ptr<Shelf>> shelves;
};

/// Places the intervals of each stretch; returns the sizes of the stretches, without `reuse` those
/// of all results side by side.
Sizes place(MutableArrayRef<Interval> intervals, bool reuse) {
  SmallVector<Interval *> order;
  for (Interval &interval : intervals) {
    order.push_back(&interval);
  }
  if (reuse) {
    llvm::sort(order, [](Interval *left, Interval *right) {
      return std::pair(right->size, left->begin) < std::pair(left->size, right->begin);
    });
  }
  Sizes sizes = {};
  std::map<Stretch, Shelves, InOrder> placed;
  for (Interval *interval : order) {
    uint64_t &size = sizes[interval->stretch];
    interval->offset = reuse ? placed[interval->stretch].lowestFree(*interval) : size;
    uint64_t count = reuse ? 1 : interval->results.size();
    size = std::max(size, interval->offset + interval->size * count);
    if (reuse) {
      placed[interval->stretch].add(*interval);
    }
  }
  return sizes;
}

/// Returns the start of an interval's stretch: the sum of the stretches before it.
Sizes startOf(const Interval &interval, const Sizes &sizes) {
  Sizes start(sizes.begin(), sizes.find(interval.stretch));
  start[interval.stretch] = interval.offset;
  return start;
}

/// Sets the place of one result of a dispatch; those of the others are unchanged.
void setPlace(OpResult result, SizeAttr place) {
  auto dispatch = cast<DispatchOp>(result.getOwner());
  SmallVector<Attribute> places(dispatch->getNumResults(), UnitAttr::get(dispatch.getContext()));
  if (ArrayAttr known = dispatch.getAtAttr()) {
    places.assign(known.begin(), known.end());
  }
  places[result.getResultNumber()] = place;
  dispatch.setAtAttr(ArrayAttr::get(dispatch.getContext(), places));
}

struct PlanMemory : impl::PlanMemoryPassBase<PlanMemory> {
  using Base::Base;

  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    for (auto graph : getOperation().getOps<GraphOp>()) {
      if (failed(plan(graph, symbols))) {
        return signalPassFailure();
      }
    }
  }

  LogicalResult plan(GraphOp graph, SymbolTable &symbols) {
    if (failed(separateOutputs(graph, symbols))) {
      return failure();
    }
    for (auto dispatch : graph.getDispatches()) {
      dispatch.removeAtAttr();
    }
    FailureOr<SmallVector<Interval>> intervals = findIntervals(graph, symbols, reuse);
    if (failed(intervals)) {
      return failure();
    }
    Sizes apart = place(*intervals, /*reuse=*/false);
    Sizes sizes = reuse ? place(*intervals, /*reuse=*/true) : apart;
    for (Interval &interval : *intervals) {
      for (OpResult result : interval.results) {
        setPlace(result, toAttribute(&getContext(), startOf(interval, sizes)));
      }
    }
    graph.setArenaAttr(toAttribute(&getContext(), sizes));
    Savings savings;
    uint64_t perToken = bytesPerToken(sizes);
    uint64_t perTokenApart = bytesPerToken(apart);
    savings.activationBytesPerToken = perTokenApart - perToken;
    Location location = NameLoc::get(graph.getSymNameAttr(), graph.getLoc());
    reportTaken(location, passNames::planMemory,
                llvm::Twine("arena of ") + llvm::Twine(perToken) + " bytes per token, " +
                    llvm::Twine(perTokenApart) + " without reuse",
                savings);
    return success();
  }
};

} // namespace
} // namespace heddle
