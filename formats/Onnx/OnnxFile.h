// SPDX-License-Identifier: Apache-2.0
///
/// ONNX files: a graph of operators, its weights, and functions, in protobuf's wire format. Only
/// the data that determines a graph's results is read. Weights stay in the file, or in files next
/// to it.
///
/// The file is untrusted. After open() counts and nesting are bounded, every tensor has as many
/// bytes as its shape requires, and external data is in regular files below the model's folder.
/// Names are arbitrary bytes: quote() them in messages. The semantics of a graph is not checked
/// here.
#ifndef HEDDLE_FORMATS_ONNX_ONNXFILE_H
#define HEDDLE_FORMATS_ONNX_ONNXFILE_H

#include "base/MappedFile.h"
#include "heddle/ElementType.h"
#include "heddle/Status.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace heddle {

/// The newest supported version of the default operator set, that of onnx 1.23.
inline constexpr int64_t onnxNewestOpset = 28;
/// Limits: nodes and tensors of a file, nesting of graphs, axes of a tensor, bytes of a name.
inline constexpr size_t onnxNodeLimit = size_t{1} << 18;
inline constexpr size_t onnxNestingLimit = 16;
inline constexpr size_t onnxRankLimit = 8;
inline constexpr size_t onnxNameLimit = 4096;

/// Returns the element type of a number in files; nullopt for unsupported types.
std::optional<ElementType> onnxElementType(int32_t number);

/// The place of a tensor's bytes outside the graph's file.
struct OnnxExternal {
  std::string_view location;
  uint64_t offset = 0;
  std::optional<uint64_t> length;
};

/// A constant. Bytes are little-endian, row-major, unaligned.
struct OnnxTensor {
  std::string_view name;
  ElementType dtype = ElementType::F32;
  std::vector<int64_t> shape;
  std::span<const std::byte> bytes;
  /// Owns `bytes` if the file stores them one by one.
  std::shared_ptr<const std::vector<std::byte>> owned;
  std::optional<OnnxExternal> external;

  int64_t elements() const;
};

struct OnnxGraph;

/// The kind of an attribute's value.
enum class OnnxAttributeKind { None, Float, Int, String, Tensor, Graph, Floats, Ints, Strings };

struct OnnxAttribute {
  std::string_view name;
  OnnxAttributeKind kind = OnnxAttributeKind::None;
  /// In a function: the attribute of the calling node whose value this is.
  std::string_view reference;
  float real = 0;
  int64_t integer = 0;
  std::string_view text;
  std::vector<float> reals;
  std::vector<int64_t> integers;
  std::vector<std::string_view> texts;
  std::shared_ptr<OnnxTensor> tensor;
  std::shared_ptr<OnnxGraph> graph;
};

struct OnnxNode {
  std::string_view name;
  std::string_view type;
  /// Empty for the default domain, even if the file says "ai.onnx".
  std::string_view domain;
  std::string_view overload;
  /// An empty name is an omitted operand.
  std::vector<std::string_view> inputs;
  std::vector<std::string_view> outputs;
  std::vector<OnnxAttribute> attributes;
};

/// A dimension of an input's declaration: a number, a name, or neither.
struct OnnxSize {
  std::optional<int64_t> number;
  std::string_view name;
};

struct OnnxPort {
  std::string_view name;
  /// Nullopt for sequences, maps and other values that are not tensors.
  std::optional<ElementType> dtype;
  std::optional<std::vector<OnnxSize>> shape;
};

struct OnnxGraph {
  std::string_view name;
  std::vector<OnnxNode> nodes;
  std::vector<OnnxTensor> initializers;
  std::vector<OnnxPort> inputs;
  std::vector<OnnxPort> outputs;
};

/// The version of each domain's operators.
using OnnxOpsets = std::map<std::string_view, int64_t>;

struct OnnxFunction {
  std::string_view domain;
  std::string_view name;
  std::string_view overload;
  std::vector<std::string_view> inputs;
  std::vector<std::string_view> outputs;
  /// The names of attributes, and those with a default.
  std::vector<std::string_view> attributes;
  std::vector<OnnxAttribute> defaults;
  std::vector<OnnxNode> nodes;
  OnnxOpsets opsets;
};

/// The contents of a file.
struct OnnxModel {
  int64_t irVersion = 0;
  std::string_view producer;
  OnnxOpsets opsets;
  OnnxGraph graph;
  std::vector<OnnxFunction> functions;
};

/// Parses a file that is already in memory. The result points into `bytes`; tensors with external
/// data have no bytes. `where` begins every message.
Result<OnnxModel> parseOnnx(std::span<const std::byte> bytes, std::string_view where);

/// A file, mapped, with the files that its weights are in. Move-only.
class OnnxFile {
public:
  static Result<OnnxFile> open(const std::string &path);

  const std::string &path() const { return files.front()->path(); }
  const OnnxModel &model() const { return content; }
  /// Returns the graph's file, then those of external data.
  const std::vector<std::shared_ptr<const MappedFile>> &mapped() const { return files; }

private:
  OnnxFile() = default;
  Status findExternal(OnnxGraph &graph);
  Status findExternal(std::vector<OnnxNode> &nodes);
  Status findExternal(OnnxTensor &tensor);

  OnnxModel content;
  std::vector<std::shared_ptr<const MappedFile>> files;
  /// By location; indices into `files`.
  std::map<std::string, size_t, std::less<>> opened;
};

/// Maps the file that `location` names below a folder. Rejects locations that are absolute, leave
/// the folder, or contain a backslash or a NUL; symbolic links on the path; files that are not
/// regular; and files with several hard links, which may belong to another folder.
Result<MappedFile> openBeneath(const std::string &folder, std::string_view location);

} // namespace heddle

#endif // HEDDLE_FORMATS_ONNX_ONNXFILE_H
