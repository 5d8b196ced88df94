// SPDX-License-Identifier: Apache-2.0
///
/// The attributes of ports about tensors in files.
#include "compiler/Link/PortTensors.h"

#include "heddle/RectangleEntries.h"

#include <limits>

using namespace mlir;

namespace heddle {

FailureOr<PortTensorFields> writePortTensor(dataflow::GraphOp graph, unsigned index, bool isInput,
                                            dataflow::BufferType type,
                                            flatbuffers::FlatBufferBuilder &builder) {
  const auto attributeOf = [&](StringRef name) {
    return isInput ? graph.getArgAttr(index, name) : graph.getResultAttr(index, name);
  };
  const Attribute axes = attributeOf("dataflow.axes"), after = attributeOf("dataflow.after"),
                  rows = attributeOf("dataflow.rows");
  const auto refuse = [&](StringRef what, Attribute value) {
    return graph.emitError(isInput ? "input " : "output ")
           << attributeOf("dataflow.name") << " of entry '" << graph.getSymName() << "' has "
           << what << " " << value;
  };
  PortTensorFields result;
  if (axes) {
    int64_t width = 1;
    for (const int64_t size : type.getShape().drop_front()) {
      width *= size > 0 ? size : 1;
    }
    const auto list = dyn_cast<DenseI64ArrayAttr>(axes);
    const ArrayRef<int64_t> sizes = list ? list.asArrayRef() : ArrayRef<int64_t>();
    if (!list || !arePortAxes({sizes.data(), sizes.size()}, width, type.hasLongest())) {
      return refuse("the axes", axes)
             << ", expected an i64 array with " << rowsAxis << " for rows"
             << (type.hasLongest() ? ", one for keys" : "") << " and " << width << " columns";
    }
    result.axes = builder.CreateVector(sizes.data(), sizes.size());
  }
  if (after) {
    const auto name = dyn_cast<StringAttr>(after);
    if (!name || name.empty() || isInput) {
      return refuse("rows after", after) << ", expected the name of an input, on an output";
    }
    result.after = builder.CreateString(name.data(), name.size());
  }
  if (rows) {
    const auto count = dyn_cast<IntegerAttr>(rows);
    constexpr int64_t most = std::numeric_limits<int32_t>::max();
    if (!count || !count.getType().isSignlessInteger(64) || count.getInt() < 1 ||
        count.getInt() > most || !isInput) {
      return refuse("rows", rows) << ", expected an i64 of 1 to " << most << ", on an input";
    }
    result.rows = static_cast<uint64_t>(count.getInt());
  }
  return result;
}

} // namespace heddle
