// SPDX-License-Identifier: Apache-2.0
///
/// The messages and fields of ONNX that are read, with the names and numbers of onnx.proto. A test
/// compares this list with the onnx package.
#ifndef HEDDLE_FORMATS_ONNX_ONNXFIELDS_H
#define HEDDLE_FORMATS_ONNX_ONNXFIELDS_H

#include <cstdint>

namespace heddle::onnx {

// clang-format off
enum class ModelProto : uint32_t {
  ir_version = 1, producer_name = 2, producer_version = 3, graph = 7, opset_import = 8,
  functions = 25,
};
enum class OperatorSetIdProto : uint32_t { domain = 1, version = 2 };
enum class GraphProto : uint32_t {
  node = 1, name = 2, initializer = 5, input = 11, output = 12, sparse_initializer = 15,
};
enum class NodeProto : uint32_t {
  input = 1, output = 2, name = 3, op_type = 4, attribute = 5, domain = 7, overload = 8,
};
enum class AttributeProto : uint32_t {
  name = 1, f = 2, i = 3, s = 4, t = 5, g = 6, floats = 7, ints = 8, strings = 9, type = 20,
  ref_attr_name = 21,
};
enum class TensorProto : uint32_t {
  dims = 1, data_type = 2, segment = 3, float_data = 4, int32_data = 5, string_data = 6,
  int64_data = 7, name = 8, raw_data = 9, double_data = 10, uint64_data = 11, external_data = 13,
  data_location = 14,
};
enum class StringStringEntryProto : uint32_t { key = 1, value = 2 };
enum class ValueInfoProto : uint32_t { name = 1, type = 2 };
enum class TypeProto : uint32_t { tensor_type = 1 };
enum class TypeProto_Tensor : uint32_t { elem_type = 1, shape = 2 };
enum class TensorShapeProto : uint32_t { dim = 1 };
enum class TensorShapeProto_Dimension : uint32_t { dim_value = 1, dim_param = 2 };
enum class FunctionProto : uint32_t {
  name = 1, input = 4, output = 5, attribute = 6, node = 7, opset_import = 9, domain = 10,
  attribute_proto = 11, overload = 13,
};
// clang-format on

} // namespace heddle::onnx

#endif // HEDDLE_FORMATS_ONNX_ONNXFIELDS_H
