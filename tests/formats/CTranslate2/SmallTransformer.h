// SPDX-License-Identifier: Apache-2.0
///
/// A CTranslate2 folder with a very small Transformer, for tests to modify.
#ifndef HEDDLE_TESTS_FORMATS_CTRANSLATE2_SMALLTRANSFORMER_H
#define HEDDLE_TESTS_FORMATS_CTRANSLATE2_SMALLTRANSFORMER_H

#include "formats/CTranslate2/CTranslate2.h"
#include "tests/base/TemporaryFolder.h"
#include "tests/formats/Checkpoint/ModelBin.h"

#include <algorithm>
#include <fmt/format.h>
#include <string>
#include <vector>

namespace heddle {

/// One layer in each stack, pre-norm, one shared vocabulary.
struct SmallTransformer {
  static constexpr uint32_t width = 4;
  static constexpr uint32_t inner = 6;
  static constexpr uint32_t words = 5;
  ModelBin file;
  TemporaryFolder folder;

  explicit SmallTransformer(uint32_t version = 6, uint32_t revision = 7) {
    file.version = version;
    file.revision = revision;
    addStack("encoder");
    addStack("decoder");
    table("decoder/projection/weight", words, width);
    table("decoder/projection/bias", words);
    folder.write("shared_vocabulary.txt", "<blank>\n<s>\n</s>\na\n");
  }

  void table(const std::string &name, uint32_t rows, uint32_t columns = 0) {
    std::vector<uint32_t> shape = {rows};
    if (columns > 0) {
      shape.push_back(columns);
    }
    std::vector<float> values(size_t(rows) * std::max(columns, 1u));
    for (size_t i = 0; i < values.size(); ++i) {
      values[i] = static_cast<float>(i);
    }
    file.addF32(name, shape, values);
  }
  void linear(const std::string &name, uint32_t rows, uint32_t columns) {
    table(name + "/weight", rows, columns);
    table(name + "/bias", rows);
  }
  void norm(const std::string &name) {
    table(name + "/gamma", width);
    table(name + "/beta", width);
  }
  void addStack(const std::string &stack) {
    table(stack + (file.revision < 4 ? "/embeddings/weight" : "/embeddings_0/weight"), words,
          width);
    norm(stack + "/layer_norm");
    const std::string layer = stack + "/layer_0/";
    linear(layer + "self_attention/linear_0", 3 * width, width);
    linear(layer + "self_attention/linear_1", width, width);
    norm(layer + "self_attention/layer_norm");
    if (stack == "decoder") {
      linear(layer + "attention/linear_0", width, width);
      linear(layer + "attention/linear_1", 2 * width, width);
      linear(layer + "attention/linear_2", width, width);
      norm(layer + "attention/layer_norm");
    }
    linear(layer + "ffn/linear_0", inner, width);
    linear(layer + "ffn/linear_1", width, inner);
    norm(layer + "ffn/layer_norm");
    // Before revision 5, both stacks share the option.
    if (file.revision >= 5) {
      option(stack + "/num_heads", 2);
    } else if (file.revision >= 3 && stack == "encoder") {
      option("num_heads", 2);
    }
  }
  void option(const std::string &name, int8_t value) {
    erase(name);
    file.add<int8_t>(name, {}, ElementType::I8, {value});
  }
  void text(const std::string &name, const std::string &value) {
    file.add<char>(name, {static_cast<uint32_t>(value.size())}, ElementType::I8,
                   std::vector<char>(value.begin(), value.end()));
  }
  void erase(const std::string &name) {
    std::erase_if(file.variables, [&](const auto &variable) { return variable.name == name; });
  }

  std::string path() const { return folder / "model.bin"; }
  Result<CTranslate2Model> read() const {
    folder.write("model.bin", file.file());
    HEDDLE_ASSIGN(const CTranslate2File opened, CTranslate2File::open(path()));
    return readCTranslate2Model(folder.path(), opened);
  }
  std::string message() const { return std::string(read().status().message()); }
};

/// Returns "key=value" for every named key, to compare them at once.
inline std::string show(const Config &config, std::initializer_list<std::string_view> keys) {
  std::string result;
  for (const std::string_view key : keys) {
    std::string value = "none";
    if (const auto number = config.number(key, -1e9, 1e9); number.ok()) {
      value = fmt::format("{}", *number);
    } else if (const auto flag = config.boolean(key); flag.ok()) {
      value = *flag ? "true" : "false";
    } else if (const auto text = config.string(key); text.ok()) {
      value = *text;
    }
    result += fmt::format("{}{}={}", result.empty() ? "" : " ", key, value);
  }
  return result;
}

} // namespace heddle

#endif // HEDDLE_TESTS_FORMATS_CTRANSLATE2_SMALLTRANSFORMER_H
