// SPDX-License-Identifier: Apache-2.0
///
/// Writes ONNX files for tests, field by field.
#ifndef HEDDLE_TESTS_FORMATS_ONNX_ONNXBYTES_H
#define HEDDLE_TESTS_FORMATS_ONNX_ONNXBYTES_H

#include <array>
#include <bit>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace heddle::onnxbytes {

inline std::string varint(uint64_t number) {
  std::string bytes;
  for (; number >= 0x80; number >>= 7) {
    bytes.push_back(static_cast<char>(number | 0x80));
  }
  return bytes + static_cast<char>(number);
}

/// Encode a field with a number, and one with bytes (a string or a message).
inline std::string number(uint64_t field, int64_t value) {
  return varint(field << 3) + varint(static_cast<uint64_t>(value));
}
inline std::string bytes(uint64_t field, std::string_view value) {
  return varint(field << 3 | 2) + varint(value.size()) + std::string(value);
}

/// Encodes a TensorProto without its data.
inline std::string tensor(std::string_view name, const std::vector<int64_t> &shape,
                          int64_t type = 1) {
  std::string text = bytes(8, name) + number(2, type);
  for (const int64_t size : shape) {
    text += number(1, size);
  }
  return text;
}
inline std::string raw(size_t count) { return bytes(9, std::string(count, '\0')); }
inline std::string external(std::string_view key, std::string_view value) {
  return bytes(13, bytes(1, key) + bytes(2, value));
}

/// Encodes a NodeProto.
inline std::string node(std::string_view type, const std::vector<std::string> &inputs,
                        const std::vector<std::string> &outputs, std::string_view name = "the_node",
                        std::string_view domain = "") {
  std::string text = bytes(4, type) + bytes(3, name) + bytes(7, domain);
  for (const std::string &input : inputs) {
    text += bytes(1, input);
  }
  for (const std::string &output : outputs) {
    text += bytes(2, output);
  }
  return text;
}

/// Encode an AttributeProto with integers, one integer, a float, a text, or a graph.
inline std::string integers(std::string_view name, const std::vector<int64_t> &values) {
  std::string text = bytes(1, name) + number(20, 7);
  for (const int64_t value : values) {
    text += number(8, value);
  }
  return bytes(5, text);
}
inline std::string integer(std::string_view name, int64_t value) {
  return bytes(5, bytes(1, name) + number(20, 2) + number(3, value));
}
inline std::string real(std::string_view name, float value) {
  const auto word = std::bit_cast<std::array<char, sizeof value>>(value);
  return bytes(5, bytes(1, name) + number(20, 1) + varint(2 << 3 | 5) +
                      std::string(word.begin(), word.end()));
}
inline std::string text(std::string_view name, std::string_view value) {
  return bytes(5, bytes(1, name) + number(20, 3) + bytes(4, value));
}
inline std::string graphAttribute(std::string_view name, std::string_view graph) {
  return bytes(5, bytes(1, name) + number(20, 5) + bytes(6, graph));
}

/// Encodes a ValueInfoProto; a size that is not a number is a symbolic name.
inline std::string port(std::string_view name, const std::vector<std::string> &shape,
                        int64_t type = 1) {
  std::string sizes;
  for (const std::string &size : shape) {
    const bool isNumber = !size.empty() && size[0] >= '0' && size[0] <= '9';
    sizes += bytes(1, isNumber ? number(1, std::stoll(size)) : bytes(2, size));
  }
  return bytes(1, name) + bytes(2, bytes(1, number(1, type) + bytes(2, sizes)));
}

inline std::string opset(int64_t version, std::string_view domain = "") {
  return bytes(8, bytes(1, domain) + number(2, version));
}

/// Encodes a ModelProto with these fields of a graph.
inline std::string model(std::string_view graph, int64_t version = 17) {
  return number(1, 8) + opset(version) + bytes(7, graph);
}

/// Encode fields of a graph.
inline std::string graphNode(std::string_view node) { return bytes(1, node); }
inline std::string initializer(std::string_view tensor) { return bytes(5, tensor); }
inline std::string input(std::string_view port) { return bytes(11, port); }
inline std::string output(std::string_view port) { return bytes(12, port); }

/// Encodes an initializer with values.
template <typename Number>
std::string constant(std::string_view name, const std::vector<int64_t> &shape, int64_t type,
                     const std::vector<Number> &values) {
  return initializer(tensor(name, shape, type) +
                     bytes(9, std::string_view(reinterpret_cast<const char *>(values.data()),
                                               values.size() * sizeof(Number))));
}
inline std::string floats(std::string_view name, const std::vector<int64_t> &shape,
                          const std::vector<float> &values) {
  return constant(name, shape, 1, values);
}
inline std::string numbers(std::string_view name, const std::vector<int64_t> &shape,
                           const std::vector<int64_t> &values) {
  return constant(name, shape, 7, values);
}

/// Encodes a node of a graph named "the_node", with attributes after its results.
inline std::string stepWithOutputs(std::string_view type, const std::vector<std::string> &inputs,
                                   const std::vector<std::string> &outputs,
                                   const std::string &attributes = "",
                                   std::string_view domain = "") {
  return graphNode(node(type, inputs, outputs, "the_node", domain) + attributes);
}
/// Like stepWithOutputs(), with one result.
inline std::string step(std::string_view type, const std::vector<std::string> &inputs,
                        const std::string &output, const std::string &attributes = "",
                        std::string_view domain = "") {
  return stepWithOutputs(type, inputs, {output}, attributes, domain);
}

} // namespace heddle::onnxbytes

#endif // HEDDLE_TESTS_FORMATS_ONNX_ONNXBYTES_H
