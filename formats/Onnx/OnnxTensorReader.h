// SPDX-License-Identifier: Apache-2.0
///
/// Reads one tensor of an ONNX file, field by field, and checks the consistency of its fields.
#ifndef HEDDLE_FORMATS_ONNX_ONNXTENSORREADER_H
#define HEDDLE_FORMATS_ONNX_ONNXTENSORREADER_H

#include "formats/Onnx/OnnxFields.h"
#include "formats/Onnx/OnnxFile.h"

#include <stdexcept>
#include <string>

namespace heddle {

/// Thrown while a file is read, and caught where reading began; what() is the message.
struct OnnxRefusal : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Collects the fields of a tensor.
class OnnxTensorReader {
public:
  std::string_view name;
  int32_t type = 0;
  int32_t location = 0;

  void dimension(int64_t size);
  void raw(std::span<const std::byte> bytes);
  void real(float value);
  void wide(double value);
  /// Selects the list that the following integers belong to.
  void list(onnx::TensorProto field) { integerField = field; }
  void integer(uint64_t bits);
  void external(std::string_view key, std::string_view value);

  /// Checks the fields against each other and returns the tensor.
  OnnxTensor finish();
  [[noreturn]] void fail(const std::string &message) const;

private:
  void checkSize();
  ElementType findType() const;
  std::vector<std::byte> typedBytes(ElementType dtype) const;

  std::vector<int64_t> shape;
  std::optional<std::span<const std::byte>> rawBytes;
  std::vector<float> reals;
  std::vector<double> wides;
  std::vector<uint64_t> integers;
  onnx::TensorProto integerField = onnx::TensorProto::int32_data;
  std::string_view externalLocation, externalOffset, externalLength;
  bool hasLocation = false;
};

} // namespace heddle

#endif // HEDDLE_FORMATS_ONNX_ONNXTENSORREADER_H
