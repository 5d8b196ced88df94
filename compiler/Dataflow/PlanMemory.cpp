// SPDX-License-Identifier: Apache-2.0
///
/// Gives every result a place in the arena that is a number times the run-time sizes, so that one
/// plan serves every batch. Results share memory when their lives do not overlap. A result never
/// overlaps what its own dispatch reads, but it may take the place of an element-wise operand that
/// nothing else reads: each element is read on the way to the one that replaces it, and a line of
/// memory comes to the cache once instead of twice.
///
/// The arena has a stretch for each size that buffers are proportional to: `tokens`, `sequences`,
/// other row spaces, then products such as `tokens * longest`. Within a stretch the largest buffers
/// are placed first, each at the lowest offset free during its whole life.
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
/// Results that the graph outputs lie in the caller's buffers, caches and states in memory of their
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

/// Stretches in the order in which they lie in the arena.
struct InOrder {
  bool operator()(const Stretch &left, const Stretch &right) const {
    return SizeTerm{left.first, left.second, 0} < SizeTerm{right.first, right.second, 0};
  }
};

/// One number for each stretch.
using Sizes = std::map<Stretch, uint64_t, InOrder>;

/// A place that is needed: for a result and those that replace it one after the other, of one size;
/// their life in positions of the graph, and where it is.
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

/// The stretch that a buffer of this type lies in; none if its size is no multiple of the sizes
/// that the plan knows.
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

/// What a size that rows of all spaces add up to is for each token, at most.
uint64_t bytesPerToken(const Sizes &sizes) {
  uint64_t bytes = 0;
  for (const auto &[stretch, size] : sizes) {
    bytes += stretch.second == 0 ? rowSpaceOf(stretch.first)->perToken(size) : 0;
  }
  return bytes;
}

/// Makes every output of the graph the result of a dispatch of its own, which can lie in the
/// caller's buffer: an argument, a view or a second output of one value is copied.
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

/// What holds a value of a graph: it through any number of views and loops, of which the results
/// are what their last operations leave.
Value storedValue(Value value) {
  Value viewed = viewedValue(value);
  auto loop = viewed.getDefiningOp<LoopOp>();
  return loop ? loop.getNext(cast<OpResult>(viewed)) : viewed;
}

/// The dispatches of a graph with the stretch of time in which each may run, in positions of the
/// graph: one in a loop runs at any time while the loop does, or those that run beside it.
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

/// How many operands of a graph each stored value is, views of it included; those that a loop
/// carries to its next step count.
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

/// Which of the places the result of a dispatch may take: that of an element-wise operand of the
/// same type that nothing else reads. Epilogues read each element once, before they write what is
/// made of it.
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

/// The places that a graph needs. With `reuse`, results replace what they can.
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

/// What was placed at one offset of a stretch: lives that do not overlap, by their begin.
class Shelf {
public:
  explicit Shelf(uint64_t offset) : offset(offset) {}

  /// The end of what is here while `interval` lives; nothing if it is free.
  std::optional<uint64_t> endDuring(const Interval &interval) const {
    // What came last most often is in the way of what comes next, and most are of one size.
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

/// One stretch while it is filled: a chain of a hundred thousand results has few shelves.
class Shelves {
public:
  /// The lowest offset at which `interval` overlaps none of those placed that live when it does.
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
  /// By offset.
  std::vector<std::unique_ptr<Shelf>> shelves;
};

/// Places the intervals of each stretch; gives the sizes of the stretches, without `reuse` those
/// that all results would need side by side.
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

/// Where an interval begins: after the stretches before its own.
Sizes startOf(const Interval &interval, const Sizes &sizes) {
  Sizes start(sizes.begin(), sizes.find(interval.stretch));
  start[interval.stretch] = interval.offset;
  return start;
}

/// Notes the place of one result of a dispatch; the others have theirs or none.
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
