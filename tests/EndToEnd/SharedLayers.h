// SPDX-License-Identifier: Apache-2.0
///
/// Shared by the tests of shared attention: writes checkpoints, compiles with a report, and reads
/// the results and caches of binaries.
#ifndef HEDDLE_TESTS_ENDTOEND_SHAREDLAYERS_H
#define HEDDLE_TESTS_ENDTOEND_SHAREDLAYERS_H

#include "formats/Checkpoint/Checkpoint.h"
#include "formats/Checkpoint/Safetensors.h"
#include "tests/EndToEnd/CompiledModel.h"
#include "tests/EndToEnd/HeddlecRun.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <set>

namespace heddle {

using nlohmann::json;
inline const std::string oracles = HEDDLE_TEST_DATA "/oracles/";

/// The tensors of a checkpoint that is being written.
class Tensors {
public:
  void fill(const std::string &name, std::vector<int64_t> shape, uint32_t seed) {
    size_t count = 1;
    for (const int64_t size : shape) {
      count *= static_cast<size_t>(size);
    }
    std::mt19937 random(seed);
    std::uniform_real_distribution<float> small(-0.3F, 0.3F);
    std::vector<float> values(count);
    std::generate(values.begin(), values.end(), [&] { return small(random); });
    tensors[name] = {std::move(shape), std::move(values)};
  }
  void copy(const std::string &from, const std::string &to) { tensors[to] = tensors.at(from); }
  /// Changes the last bit of one value.
  void flip(const std::string &name) {
    float &value = tensors.at(name).values[7];
    value = std::nextafter(value, 1.0F);
  }
  /// Adds all tensors of a file.
  void read(const std::string &path) {
    auto checkpoint = Checkpoint::open(path);
    ASSERT_TRUE(checkpoint.ok()) << checkpoint.status().message();
    for (const std::string &name : checkpoint->names()) {
      Tensor &tensor = tensors[name];
      tensor.shape = checkpoint->find(name)->shape;
      tensor.values.resize(*byteSize(ElementType::F32, tensor.shape) / sizeof(float));
      ASSERT_TRUE(checkpoint->readF32(name, tensor.values).ok());
    }
  }
  bool contains(const std::string &name) const { return tensors.contains(name); }
  std::set<std::string> names() const {
    std::set<std::string> all;
    for (const auto &[name, tensor] : tensors) {
      all.insert(name);
    }
    return all;
  }
  const std::vector<int64_t> &shape(const std::string &name) const {
    return tensors.at(name).shape;
  }
  void write(const std::string &path) const {
    std::vector<SafetensorsTensor> list;
    for (const auto &[name, tensor] : tensors) {
      list.push_back(
          {name, ElementType::F32, tensor.shape, std::as_bytes(std::span(tensor.values))});
    }
    ASSERT_TRUE(writeSafetensors(path, list).ok());
  }

private:
  struct Tensor {
    std::vector<int64_t> shape;
    std::vector<float> values;
  };
  std::map<std::string, Tensor> tensors;
};

/// The result of one compilation.
struct Compiled {
  std::string binary;
  json report;

  /// Returns what a pass took, or why it declined.
  std::vector<std::string> texts(const std::string &pass, bool taken) const {
    std::vector<std::string> found;
    for (const json &entry : report) {
      if (entry["pass"] == pass && entry["taken"] == taken) {
        found.push_back(entry[taken ? "what" : "reason"]);
      }
    }
    return found;
  }
  int64_t savings(const std::string &pass, const std::string &key) const {
    int64_t sum = 0;
    for (const json &entry : report) {
      sum += entry["pass"] == pass ? entry["savings"][key].get<int64_t>() : 0;
    }
    return sum;
  }
  size_t count(const std::string &pass, bool taken, std::string_view part) const {
    const std::vector<std::string> all = texts(pass, taken);
    return static_cast<size_t>(std::count_if(all.begin(), all.end(), [&](const std::string &text) {
      return text.find(part) != std::string::npos;
    }));
  }
};

class SharedLayersTest : public HeddlecTest {
protected:
  Compiled compile(const std::string &input, std::vector<std::string> options = {}) const {
    const std::string name = "out" + std::to_string(work.names().size());
    Compiled compiled{work / (name + ".so"), {}};
    const std::string report = work / (name + ".json");
    options.insert(options.begin(),
                   {input, "-o", compiled.binary, "--report=" + report, "--target=x86-64-v3"});
    const tools::Outcome outcome = heddlec(options);
    EXPECT_EQ(outcome.code, 0) << outcome.error;
    compiled.report = json::parse(readBytes(report), nullptr, false);
    return compiled;
  }
  Compiled compileUnshared(const std::string &input) const {
    return compile(input, {"--disable-pass=share-attention"});
  }

  /// Returns the logits of the sentences of an oracle.
  std::vector<float> logits(const Compiled &compiled, const std::string &oracle) const {
    const std::string path = work / "logits.safetensors";
    const tools::Outcome outcome =
        tools::runHeddle({"run", compiled.binary, "--inputs",
                          oracles + oracle + "/expected.safetensors", "--outputs", path});
    EXPECT_EQ(outcome.code, 0) << outcome.error;
    return readTensor(path, "logits");
  }
  static std::vector<float> readTensor(const std::string &path, const std::string &name) {
    auto checkpoint = Checkpoint::open(path);
    if (!checkpoint.ok() || checkpoint->find(name) == nullptr) {
      ADD_FAILURE() << path << " has no " << name;
      return {};
    }
    std::vector<float> values(*byteSize(ElementType::F32, checkpoint->find(name)->shape) /
                              sizeof(float));
    EXPECT_TRUE(checkpoint->readF32(name, values).ok());
    return values;
  }
  static json info(const Compiled &compiled) {
    const tools::Outcome outcome = tools::runHeddle({"info", compiled.binary, "--json"});
    EXPECT_EQ(outcome.code, 0) << outcome.error;
    return json::parse(outcome.output, nullptr, false);
  }
  /// Returns the names of all caches of a binary.
  static std::set<std::string> caches(const Compiled &compiled) {
    std::set<std::string> names;
    const json described = info(compiled);
    for (const json &entry : described["entries"]) {
      for (const json &cache : entry.value("caches", json::array())) {
        names.insert(cache["name"]);
      }
    }
    return names;
  }
};

} // namespace heddle

#endif // HEDDLE_TESTS_ENDTOEND_SHAREDLAYERS_H
