// SPDX-License-Identifier: Apache-2.0
///
/// Reads protobuf's wire format. The library for it throws: all exceptions are caught at the end of
/// this file.
#include "formats/Onnx/OnnxFields.h"
#include "formats/Onnx/OnnxTensorReader.h"

#include "base/Utf8.h"

#include <protozero/pbf_message.hpp>

#include <algorithm>
#include <cstring>
#include <fmt/format.h>

namespace heddle {

using namespace onnx;
using protozero::data_view;
using protozero::pbf_message;
using protozero::pbf_wire_type;
using protozero::tag_and_type;

static constexpr auto bytesType = pbf_wire_type::length_delimited;
static constexpr auto numberType = pbf_wire_type::varint;
static constexpr auto floatType = pbf_wire_type::fixed32;
static constexpr auto doubleType = pbf_wire_type::fixed64;

static std::string_view textOf(data_view view) { return {view.data(), view.size()}; }

/// Returns a name, checking that it is not too long for messages and maps.
static std::string_view nameOf(data_view view) {
  if (view.size() > onnxNameLimit) {
    throw OnnxRefusal(
        fmt::format("a name has {} bytes, expected at most {}", view.size(), onnxNameLimit));
  }
  return textOf(view);
}

/// Normalises the default domain, which has two names.
static std::string_view domainOf(data_view view) {
  const std::string_view name = nameOf(view);
  return name == "ai.onnx" ? std::string_view() : name;
}

/// Reads messages; counts items that take memory.
class OnnxReader {
public:
  void model(data_view bytes, OnnxModel &result);

private:
  void graph(data_view bytes, OnnxGraph &result);
  OnnxNode node(data_view bytes);
  OnnxAttribute attribute(data_view bytes);
  OnnxTensor tensor(data_view bytes);
  OnnxFunction function(data_view bytes);
  void count();

  size_t counted = 0;
  size_t depth = 0;
};

void OnnxReader::count() {
  if (++counted > onnxNodeLimit) {
    throw OnnxRefusal(fmt::format("more than {} nodes and tensors", onnxNodeLimit));
  }
}

static void readOpset(data_view bytes, OnnxOpsets &opsets) {
  std::string_view domain;
  int64_t version = 0;
  for (pbf_message<OperatorSetIdProto> in(bytes); in.next();) {
    switch (in.tag_and_type()) {
    case tag_and_type(OperatorSetIdProto::domain, bytesType):
      domain = domainOf(in.get_view());
      break;
    case tag_and_type(OperatorSetIdProto::version, numberType):
      version = in.get_int64();
      break;
    default:
      in.skip();
    }
  }
  if (!opsets.emplace(domain, version).second) {
    throw OnnxRefusal(fmt::format("two opsets of domain {}", quote(domain)));
  }
}

static OnnxSize readSize(data_view bytes) {
  OnnxSize size;
  for (pbf_message<TensorShapeProto_Dimension> in(bytes); in.next();) {
    switch (in.tag_and_type()) {
    case tag_and_type(TensorShapeProto_Dimension::dim_value, numberType):
      size = {in.get_int64(), {}};
      break;
    case tag_and_type(TensorShapeProto_Dimension::dim_param, bytesType):
      size = {std::nullopt, nameOf(in.get_view())};
      break;
    default:
      in.skip();
    }
  }
  return size;
}

static std::vector<OnnxSize> readShape(data_view bytes) {
  std::vector<OnnxSize> sizes;
  for (pbf_message<TensorShapeProto> in(bytes); in.next();) {
    if (in.tag_and_type() != tag_and_type(TensorShapeProto::dim, bytesType)) {
      in.skip();
      continue;
    }
    if (sizes.size() == onnxRankLimit) {
      throw OnnxRefusal(fmt::format("a shape with more than {} axes", onnxRankLimit));
    }
    sizes.push_back(readSize(in.get_view()));
  }
  return sizes;
}

static void readTensorType(data_view bytes, OnnxPort &port) {
  for (pbf_message<TypeProto_Tensor> in(bytes); in.next();) {
    switch (in.tag_and_type()) {
    case tag_and_type(TypeProto_Tensor::elem_type, numberType):
      port.dtype = onnxElementType(in.get_int32());
      break;
    case tag_and_type(TypeProto_Tensor::shape, bytesType):
      port.shape = readShape(in.get_view());
      break;
    default:
      in.skip();
    }
  }
}

static OnnxPort readPort(data_view bytes) {
  OnnxPort port;
  for (pbf_message<ValueInfoProto> in(bytes); in.next();) {
    switch (in.tag_and_type()) {
    case tag_and_type(ValueInfoProto::name, bytesType):
      port.name = nameOf(in.get_view());
      break;
    case tag_and_type(ValueInfoProto::type, bytesType):
      for (pbf_message<TypeProto> type(in.get_view()); type.next();) {
        if (type.tag_and_type() == tag_and_type(TypeProto::tensor_type, bytesType)) {
          readTensorType(type.get_view(), port);
        } else {
          type.skip();
        }
      }
      break;
    default:
      in.skip();
    }
  }
  return port;
}

static void readExternal(data_view bytes, OnnxTensorReader &reader) {
  std::string_view key, value;
  for (pbf_message<StringStringEntryProto> in(bytes); in.next();) {
    switch (in.tag_and_type()) {
    case tag_and_type(StringStringEntryProto::key, bytesType):
      key = textOf(in.get_view());
      break;
    case tag_and_type(StringStringEntryProto::value, bytesType):
      value = nameOf(in.get_view());
      break;
    default:
      in.skip();
    }
  }
  reader.external(key, value);
}

/// Reads a field that is a list of numbers, each of which may be packed or not; returns false for
/// other fields.
static bool readNumbers(pbf_message<TensorProto> &in, OnnxTensorReader &reader) {
  const auto addAll = [](auto range, auto add) {
    for (const auto value : range) {
      add(value);
    }
  };
  const auto addInteger = [&](auto value) { reader.integer(static_cast<uint64_t>(value)); };
  switch (in.tag_and_type()) {
  case tag_and_type(TensorProto::dims, numberType):
    reader.dimension(in.get_int64());
    return true;
  case tag_and_type(TensorProto::dims, bytesType):
    addAll(in.get_packed_int64(), [&](int64_t size) { reader.dimension(size); });
    return true;
  case tag_and_type(TensorProto::float_data, bytesType):
    addAll(in.get_packed_float(), [&](float value) { reader.real(value); });
    return true;
  case tag_and_type(TensorProto::float_data, floatType):
    reader.real(in.get_float());
    return true;
  case tag_and_type(TensorProto::double_data, bytesType):
    addAll(in.get_packed_double(), [&](double value) { reader.wide(value); });
    return true;
  case tag_and_type(TensorProto::double_data, doubleType):
    reader.wide(in.get_double());
    return true;
  case tag_and_type(TensorProto::int32_data, bytesType):
  case tag_and_type(TensorProto::int64_data, bytesType):
  case tag_and_type(TensorProto::uint64_data, bytesType):
    reader.list(static_cast<TensorProto>(in.tag()));
    addAll(in.get_packed_int64(), addInteger);
    return true;
  case tag_and_type(TensorProto::int32_data, numberType):
  case tag_and_type(TensorProto::int64_data, numberType):
  case tag_and_type(TensorProto::uint64_data, numberType):
    reader.list(static_cast<TensorProto>(in.tag()));
    addInteger(in.get_int64());
    return true;
  default:
    return false;
  }
}

OnnxTensor OnnxReader::tensor(data_view bytes) {
  count();
  OnnxTensorReader reader;
  pbf_message<TensorProto> in(bytes);
  while (in.next()) {
    switch (in.tag_and_type()) {
    case tag_and_type(TensorProto::name, bytesType):
      reader.name = nameOf(in.get_view());
      break;
    case tag_and_type(TensorProto::data_type, numberType):
      reader.type = in.get_int32();
      break;
    case tag_and_type(TensorProto::data_location, numberType):
      reader.location = in.get_int32();
      break;
    case tag_and_type(TensorProto::raw_data, bytesType):
      reader.raw(std::as_bytes(std::span(textOf(in.get_view()))));
      break;
    case tag_and_type(TensorProto::external_data, bytesType):
      readExternal(in.get_view(), reader);
      break;
    case tag_and_type(TensorProto::segment, bytesType):
      reader.fail("is a segment of a tensor, expected a whole one");
      break;
    case tag_and_type(TensorProto::string_data, bytesType):
      reader.fail("has strings, expected numbers");
      break;
    default:
      if (!readNumbers(in, reader)) {
        in.skip();
      }
    }
  }
  return reader.finish();
}

/// Returns the kind of a number in files; None for lists of tensors, types and others.
static OnnxAttributeKind attributeKind(int32_t number) {
  switch (number) {
  case 1:
    return OnnxAttributeKind::Float;
  case 2:
    return OnnxAttributeKind::Int;
  case 3:
    return OnnxAttributeKind::String;
  case 4:
    return OnnxAttributeKind::Tensor;
  case 5:
    return OnnxAttributeKind::Graph;
  case 6:
    return OnnxAttributeKind::Floats;
  case 7:
    return OnnxAttributeKind::Ints;
  case 8:
    return OnnxAttributeKind::Strings;
  default:
    return OnnxAttributeKind::None;
  }
}

OnnxAttribute OnnxReader::attribute(data_view bytes) {
  OnnxAttribute result;
  pbf_message<AttributeProto> in(bytes);
  while (in.next()) {
    switch (in.tag_and_type()) {
    case tag_and_type(AttributeProto::name, bytesType):
      result.name = nameOf(in.get_view());
      break;
    case tag_and_type(AttributeProto::type, numberType):
      result.kind = attributeKind(in.get_int32());
      break;
    case tag_and_type(AttributeProto::ref_attr_name, bytesType):
      result.reference = nameOf(in.get_view());
      break;
    case tag_and_type(AttributeProto::f, floatType):
      result.real = in.get_float();
      break;
    case tag_and_type(AttributeProto::i, numberType):
      result.integer = in.get_int64();
      break;
    case tag_and_type(AttributeProto::s, bytesType):
      result.text = textOf(in.get_view());
      break;
    case tag_and_type(AttributeProto::t, bytesType):
      result.tensor = std::make_shared<OnnxTensor>(tensor(in.get_view()));
      break;
    case tag_and_type(AttributeProto::g, bytesType):
      result.graph = std::make_shared<OnnxGraph>();
      graph(in.get_view(), *result.graph);
      break;
    case tag_and_type(AttributeProto::floats, floatType):
      result.reals.push_back(in.get_float());
      break;
    case tag_and_type(AttributeProto::floats, bytesType):
      for (const float value : in.get_packed_float()) {
        result.reals.push_back(value);
      }
      break;
    case tag_and_type(AttributeProto::ints, numberType):
      result.integers.push_back(in.get_int64());
      break;
    case tag_and_type(AttributeProto::ints, bytesType):
      for (const int64_t value : in.get_packed_int64()) {
        result.integers.push_back(value);
      }
      break;
    case tag_and_type(AttributeProto::strings, bytesType):
      result.texts.push_back(textOf(in.get_view()));
      break;
    default:
      in.skip();
    }
  }
  return result;
}

OnnxNode OnnxReader::node(data_view bytes) {
  count();
  OnnxNode result;
  pbf_message<NodeProto> in(bytes);
  while (in.next()) {
    switch (in.tag_and_type()) {
    case tag_and_type(NodeProto::name, bytesType):
      result.name = nameOf(in.get_view());
      break;
    case tag_and_type(NodeProto::op_type, bytesType):
      result.type = nameOf(in.get_view());
      break;
    case tag_and_type(NodeProto::domain, bytesType):
      result.domain = domainOf(in.get_view());
      break;
    case tag_and_type(NodeProto::overload, bytesType):
      result.overload = nameOf(in.get_view());
      break;
    case tag_and_type(NodeProto::input, bytesType):
      count();
      result.inputs.push_back(nameOf(in.get_view()));
      break;
    case tag_and_type(NodeProto::output, bytesType):
      count();
      result.outputs.push_back(nameOf(in.get_view()));
      break;
    case tag_and_type(NodeProto::attribute, bytesType):
      count();
      result.attributes.push_back(attribute(in.get_view()));
      break;
    default:
      in.skip();
    }
  }
  return result;
}

void OnnxReader::graph(data_view bytes, OnnxGraph &result) {
  if (++depth > onnxNestingLimit) {
    throw OnnxRefusal(fmt::format("graphs are nested more than {} deep", onnxNestingLimit));
  }
  pbf_message<GraphProto> in(bytes);
  while (in.next()) {
    switch (in.tag_and_type()) {
    case tag_and_type(GraphProto::name, bytesType):
      result.name = nameOf(in.get_view());
      break;
    case tag_and_type(GraphProto::node, bytesType):
      result.nodes.push_back(node(in.get_view()));
      break;
    case tag_and_type(GraphProto::initializer, bytesType):
      result.initializers.push_back(tensor(in.get_view()));
      break;
    case tag_and_type(GraphProto::sparse_initializer, bytesType):
      throw OnnxRefusal("the graph has sparse weights, expected dense ones");
    case tag_and_type(GraphProto::input, bytesType):
      count();
      result.inputs.push_back(readPort(in.get_view()));
      break;
    case tag_and_type(GraphProto::output, bytesType):
      count();
      result.outputs.push_back(readPort(in.get_view()));
      break;
    default:
      in.skip();
    }
  }
  --depth;
}

OnnxFunction OnnxReader::function(data_view bytes) {
  count();
  OnnxFunction result;
  pbf_message<FunctionProto> in(bytes);
  while (in.next()) {
    switch (in.tag_and_type()) {
    case tag_and_type(FunctionProto::name, bytesType):
      result.name = nameOf(in.get_view());
      break;
    case tag_and_type(FunctionProto::domain, bytesType):
      result.domain = domainOf(in.get_view());
      break;
    case tag_and_type(FunctionProto::overload, bytesType):
      result.overload = nameOf(in.get_view());
      break;
    case tag_and_type(FunctionProto::input, bytesType):
      count();
      result.inputs.push_back(nameOf(in.get_view()));
      break;
    case tag_and_type(FunctionProto::output, bytesType):
      count();
      result.outputs.push_back(nameOf(in.get_view()));
      break;
    case tag_and_type(FunctionProto::attribute, bytesType):
      count();
      result.attributes.push_back(nameOf(in.get_view()));
      break;
    case tag_and_type(FunctionProto::attribute_proto, bytesType):
      count();
      result.defaults.push_back(attribute(in.get_view()));
      break;
    case tag_and_type(FunctionProto::node, bytesType):
      result.nodes.push_back(node(in.get_view()));
      break;
    case tag_and_type(FunctionProto::opset_import, bytesType):
      readOpset(in.get_view(), result.opsets);
      break;
    default:
      in.skip();
    }
  }
  return result;
}

void OnnxReader::model(data_view bytes, OnnxModel &result) {
  size_t graphs = 0;
  pbf_message<ModelProto> in(bytes);
  while (in.next()) {
    switch (in.tag_and_type()) {
    case tag_and_type(ModelProto::ir_version, numberType):
      result.irVersion = in.get_int64();
      break;
    case tag_and_type(ModelProto::producer_name, bytesType):
      result.producer = textOf(in.get_view());
      break;
    case tag_and_type(ModelProto::opset_import, bytesType):
      readOpset(in.get_view(), result.opsets);
      break;
    case tag_and_type(ModelProto::graph, bytesType):
      ++graphs;
      graph(in.get_view(), result.graph);
      break;
    case tag_and_type(ModelProto::functions, bytesType):
      result.functions.push_back(function(in.get_view()));
      break;
    default:
      in.skip();
    }
  }
  if (graphs != 1) {
    throw OnnxRefusal(
        fmt::format("has {}, expected one graph", graphs == 0 ? "no graph" : "several graphs"));
  }
}

/// Checks that an opset gives the operators a meaning.
static void checkOpsets(const OnnxOpsets &opsets) {
  const auto found = opsets.find("");
  if (found == opsets.end()) {
    throw OnnxRefusal("names no opset of the default domain, expected its version");
  }
  if (found->second < 1 || found->second > onnxNewestOpset) {
    throw OnnxRefusal(
        fmt::format("is of opset {}, expected 1 to {}", found->second, onnxNewestOpset));
  }
}

Result<OnnxModel> parseOnnx(std::span<const std::byte> bytes, std::string_view where) {
  OnnxModel model;
  try {
    OnnxReader().model({reinterpret_cast<const char *>(bytes.data()), bytes.size()}, model);
    checkOpsets(model.opsets);
  } catch (const OnnxRefusal &refusal) {
    return HEDDLE_ERROR(DataLoss, fmt::format("{}: {}", where, refusal.what()));
  } catch (const std::exception &failure) {
    return HEDDLE_ERROR(DataLoss,
                        fmt::format("{}: is damaged or no ONNX file: {}", where, failure.what()));
  }
  return model;
}

} // namespace heddle
