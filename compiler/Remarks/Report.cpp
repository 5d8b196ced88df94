// SPDX-License-Identifier: Apache-2.0
///
/// The listener on MLIR's remark engine, and the text and JSON forms of the collected remarks.
#include "compiler/Remarks/Report.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Operation.h"
#include "mlir/IR/Remarks.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace heddle {
namespace {

// One category for all passes: `--remarks-filter=heddle` selects it.
constexpr llvm::StringLiteral category = "heddle";
constexpr llvm::StringLiteral whereKey = "where";
constexpr llvm::StringLiteral whatKey = "what";
constexpr llvm::StringLiteral reasonKey = "reason";

/// Each field of the savings: its name in JSON and in the summary.
struct SavingField {
  int64_t Savings::*value;
  llvm::StringLiteral key;
  llvm::StringLiteral text;
};
constexpr SavingField savingFields[] = {
    {&Savings::flopsPerToken, "flops_per_token", "flops per token"},
    {&Savings::weightBytes, "weight_bytes", "bytes of weights"},
    {&Savings::activationBytesPerToken, "activation_bytes_per_token",
     "bytes of activations per token"},
    {&Savings::cacheBytesPerToken, "cache_bytes_per_token", "bytes of caches per token"},
    {&Savings::flopsPerTokenAndKey, "flops_per_token_and_key", "flops per token and key"},
};

int64_t toNumber(llvm::StringRef text) {
  int64_t value = 0;
  text.getAsInteger(10, value);
  return value;
}

Report::Entry toEntry(const remark::detail::Remark &remark) {
  Report::Entry entry;
  entry.pass = remark.getRemarkName().str();
  entry.taken = remark.getRemarkType() == llvm::remarks::Type::Passed;
  for (const remark::detail::Remark::Arg &argument : remark.getArgs()) {
    if (argument.key == whereKey) {
      entry.where = argument.val;
    } else if (argument.key == whatKey || argument.key == reasonKey) {
      entry.text = argument.val;
    }
    for (const SavingField &field : savingFields) {
      if (argument.key == field.key) {
        entry.savings.*field.value = toNumber(argument.val);
      }
    }
  }
  return entry;
}

std::string commonDottedPrefix(llvm::StringRef first, llvm::StringRef second) {
  llvm::SmallVector<llvm::StringRef> left;
  llvm::SmallVector<llvm::StringRef> right;
  first.split(left, '.');
  second.split(right, '.');
  size_t length = 0;
  while (length < left.size() && length < right.size() && left[length] == right[length]) {
    ++length;
  }
  return llvm::join(llvm::ArrayRef(left).take_front(length), ".");
}

/// Returns `file:line:column` of the first position in a location, empty if it has none. Uses the
/// file name without its folder, so that equal files give equal reports and binaries.
std::string textPosition(Location location) {
  std::string position;
  location->walk([&](Location part) {
    auto line = llvm::dyn_cast<FileLineColLoc>(part);
    if (!line) {
      return WalkResult::advance();
    }
    llvm::raw_string_ostream(position) << llvm::sys::path::filename(line.getFilename().getValue())
                                       << ':' << line.getLine() << ':' << line.getColumn();
    return WalkResult::interrupt();
  });
  return position;
}

std::string countsLine(llvm::StringRef pass, llvm::ArrayRef<Report::Entry> entries) {
  Savings sum;
  size_t taken = 0;
  for (const Report::Entry &entry : entries) {
    taken += entry.taken ? 1 : 0;
    for (const SavingField &field : savingFields) {
      sum.*field.value += entry.savings.*field.value;
    }
  }
  std::string line;
  llvm::raw_string_ostream stream(line);
  stream << pass << ": " << taken << " of " << entries.size() << " taken";
  for (const SavingField &field : savingFields) {
    if (sum.*field.value != 0) {
      stream << ", " << sum.*field.value << ' ' << field.text << " saved";
    }
  }
  return line;
}

} // namespace

void reportTaken(Location location, llvm::StringRef pass, const llvm::Twine &what,
                 const Savings &savings) {
  using remark::detail::Remark;
  auto remark = remark::passed(location, remark::RemarkOpts::name(pass).category(category));
  if (!remark) {
    return;
  }
  remark << Remark::Arg(whereKey, placeName(location)) << Remark::Arg(whatKey, what.str());
  for (const SavingField &field : savingFields) {
    remark << Remark::Arg(field.key, savings.*field.value);
  }
}

void reportDeclined(Location location, llvm::StringRef pass, const llvm::Twine &reason) {
  using remark::detail::Remark;
  auto remark = remark::missed(location, remark::RemarkOpts::name(pass).category(category));
  if (!remark) {
    return;
  }
  remark << Remark::Arg(whereKey, placeName(location)) << Remark::Arg(reasonKey, reason.str());
}

std::string checkpointName(Location location) {
  if (auto named = llvm::dyn_cast<NameLoc>(location)) {
    return named.getName().str();
  }
  if (auto call = llvm::dyn_cast<CallSiteLoc>(location)) {
    std::string name = checkpointName(call.getCallee());
    return name.empty() ? checkpointName(call.getCaller()) : name;
  }
  auto fused = llvm::dyn_cast<FusedLoc>(location);
  if (!fused) {
    return {};
  }
  std::string first;
  std::string common;
  for (Location part : fused.getLocations()) {
    std::string name = checkpointName(part);
    if (name.empty()) {
      continue;
    }
    common = first.empty() ? name : commonDottedPrefix(common, name);
    first = first.empty() ? name : first;
  }
  return common.empty() ? first : common;
}

llvm::StringRef layerPrefix(llvm::StringRef name) {
  for (size_t begin = 0; begin < name.size();) {
    size_t end = std::min(name.find('.', begin), name.size());
    llvm::StringRef part = name.slice(begin, end);
    if (!part.empty() && llvm::all_of(part, llvm::isDigit)) {
      return name.take_front(end);
    }
    begin = end + 1;
  }
  return {};
}

std::string placeName(Location location) {
  std::string name = checkpointName(location);
  return name.empty() ? textPosition(location) : name;
}

std::string placeInBrackets(Location location) {
  std::string name = placeName(location);
  return name.empty() ? name : " (" + name + ")";
}

std::string describe(Operation *operation) {
  std::string text = operation->getName().getStringRef().str();
  std::string name = checkpointName(operation->getLoc());
  return name.empty() ? text : text + " of " + name;
}

/// Passes remarks of the project's category to the report. The context owns it and may outlive the
/// report, so they share the entries.
class Report::Collector final : public remark::detail::MLIRRemarkStreamerBase {
public:
  explicit Collector(std::shared_ptr<Collected> collected) : collected(std::move(collected)) {}

  void streamOptimizationRemark(const remark::detail::Remark &remark) override {
    if (collected->listens && remark.getCategoryName() == category) {
      collected->entries.push_back(toEntry(remark));
    }
  }

private:
  std::shared_ptr<Collected> collected;
};

Report::Report(MLIRContext &context) : collected(std::make_shared<Collected>()) {
  remark::RemarkCategories categories;
  categories.passed = category.str();
  categories.missed = category.str();
  // Fails only for a malformed category expression.
  LogicalResult enabled = remark::enableOptimizationRemarks(
      context, std::make_unique<Collector>(collected),
      std::make_unique<remark::RemarkEmittingPolicyAll>(), categories);
  (void)enabled;
  assert(succeeded(enabled) && "the category is a valid expression");
}

Report::~Report() = default;

std::vector<Report::Entry> Report::entries() const {
  llvm::StringMap<size_t> passOrder;
  for (const Entry &entry : collected->entries) {
    passOrder.try_emplace(entry.pass, passOrder.size());
  }
  // Pointers into one array, as tie-breakers: equal places keep the order of reports.
  std::vector<const Entry *> order;
  for (const Entry &entry : collected->entries) {
    order.push_back(&entry);
  }
  llvm::sort(order, [&](const Entry *left, const Entry *right) {
    if (left->pass != right->pass) {
      return passOrder.lookup(left->pass) < passOrder.lookup(right->pass);
    }
    int places = llvm::StringRef(left->where).compare_numeric(right->where);
    return places != 0 ? places < 0 : left < right;
  });
  std::vector<Entry> sorted;
  for (const Entry *entry : order) {
    sorted.push_back(*entry);
  }
  return sorted;
}

void Report::writeEntry(llvm::json::OStream &json, const Entry &entry,
                        llvm::function_ref<void()> further) {
  json.object([&] {
    json.attribute("pass", entry.pass);
    json.attribute("where", llvm::json::fixUTF8(entry.where));
    json.attribute("taken", entry.taken);
    json.attribute(entry.taken ? whatKey : reasonKey, llvm::json::fixUTF8(entry.text));
    json.attributeObject("savings", [&] {
      for (const SavingField &field : savingFields) {
        json.attribute(field.key, entry.savings.*field.value);
      }
    });
    if (further) {
      further();
    }
  });
}

void Report::writeJson(llvm::raw_ostream &stream,
                       llvm::function_ref<void(llvm::json::OStream &)> further) const {
  llvm::json::OStream json(stream, 2);
  json.array([&] {
    for (const Entry &entry : entries()) {
      writeEntry(json, entry);
    }
    if (further) {
      further(json);
    }
  });
  stream << '\n';
}

std::vector<std::string> Report::summary() const {
  std::vector<Entry> sorted = entries();
  std::vector<std::string> lines;
  llvm::ArrayRef<Entry> rest = sorted;
  while (!rest.empty()) {
    llvm::ArrayRef<Entry> ofPass =
        rest.take_while([&](const Entry &entry) { return entry.pass == rest.front().pass; });
    lines.push_back(countsLine(rest.front().pass, ofPass));
    rest = rest.drop_front(ofPass.size());
  }
  for (const Entry &entry : sorted) {
    if (!entry.taken) {
      lines.push_back(entry.where + ": " + entry.text);
    }
  }
  return lines;
}

} // namespace heddle
