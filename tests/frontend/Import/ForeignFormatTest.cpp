// SPDX-License-Identifier: Apache-2.0
///
/// Messages about files of other formats name the format and the remedy.
#include "frontend/Import/ForeignFormat.h"

#include "frontend/Import/Import.h"
#include "tests/frontend/Import/ModelFolder.h"

#include "mlir/IR/MLIRContext.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace heddle {

static std::string refusal(const std::string &path) {
  mlir::MLIRContext context;
  const Result<ImportedModel> model = importModel(context, path);
  return model.ok() ? "" : std::string(model.status().message());
}

constexpr const char *pointer =
    "version https://git-lfs.github.com/spec/v1\n"
    "oid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\n"
    "size 90868376\n";

/// A single file that is given to the compiler.
struct FileCase {
  const char *name;
  const char *file;
  std::string content;
  /// "{}" is the folder.
  const char *message;
};

struct ForeignFile : testing::TestWithParam<FileCase> {};

TEST_P(ForeignFile, IsNamed) {
  const TemporaryFolder folder;
  folder.write(GetParam().file, GetParam().content);
  EXPECT_EQ(refusal(folder / GetParam().file),
            fmt::format("{}: {}", folder / GetParam().file,
                        fmt::format(fmt::runtime(GetParam().message), folder.path())));
}

static const FileCase fileCases[] = {
    {"PointerToOnnx", "tiny.onnx", pointer,
     "is a Git LFS pointer, not the file it stands for, expected the file: run 'git lfs pull' in "
     "{}"},
    {"Pointer", "model.safetensors", pointer,
     "is a Git LFS pointer, not the file it stands for, expected the file: run 'git lfs pull' in "
     "{}"},
    {"PointerToGguf", "model.gguf", pointer,
     "is a Git LFS pointer, not the file it stands for, expected the file: run 'git lfs pull' in "
     "{}"},
    {"GgufInName", "model.gguf", "hello",
     "is neither a model's folder nor a GGUF, ONNX or .mlir file"},
    {"Tensors", "model.safetensors", "\x02",
     "is one file of a model, expected the folder: heddlec {}"},
    {"Pickle", "pytorch_model.bin", "PK\x03\x04",
     "holds pickled tensors of PyTorch, which are not supported, expected a model's folder"},
    {"Compiled", "tiny.so",
     "\x7f"
     "ELF\x02",
     "is compiled already, expected a model's folder, a GGUF, ONNX or .mlir file; 'heddle info' "
     "shows what is in it"},
    {"Anything", "notes.txt", "hello",
     "is neither a model's folder nor a GGUF, ONNX or .mlir file"},
    {"Empty", "nothing", "", "is neither a model's folder nor a GGUF, ONNX or .mlir file"},
};
INSTANTIATE_TEST_SUITE_P(All, ForeignFile, testing::ValuesIn(fileCases),
                         [](const auto &info) { return info.param.name; });

TEST(ForeignFolder, PointersAreNotRead) {
  for (const char *const name : {"model.safetensors", "config.json", "tokenizer.json"}) {
    ModelFolder folder;
    folder.files().write(name, pointer);
    EXPECT_EQ(refusal(folder.path()),
              fmt::format("{}: is a Git LFS pointer, not the file it stands for, expected the "
                          "file: run 'git lfs pull' in {}",
                          folder / name, folder.path()));
  }
  // A pointer in place of a file that is never read is not an error.
  ModelFolder folder;
  folder.files().write("pytorch_model.bin", pointer);
  EXPECT_EQ(refusal(folder.path()), "");
}

TEST(ForeignFolder, PicklesComeWithTheCommandThatConvertsThem) {
  ModelFolder folder;
  std::filesystem::remove(folder / "model.safetensors");
  folder.files().write("pytorch_model.bin", "PK\x03\x04");
  const std::string message = refusal(folder.path());
  EXPECT_TRUE(message.starts_with(folder / "pytorch_model.bin" +
                                  ": holds pickled tensors of PyTorch, which are not supported, "
                                  "expected model.safetensors: python3 -c \""))
      << message;
  EXPECT_TRUE(message.ends_with("\" '" + folder.path() + "'")) << message;
}

TEST(ForeignFolder, WeightsOfOtherProgramsAreNamed) {
  const std::pair<const char *, const char *> cases[] = {
      {"model.gguf", "is a GGUF file, expected it by itself: heddlec "},
      {"tf_model.h5", "holds tensors of TensorFlow, which are not supported, expected"},
      {"flax_model.msgpack", "holds tensors of Flax, which are not supported, expected"},
      {"model.onnx", "is an ONNX graph, expected it by itself: heddlec "}};
  for (const auto &[name, message] : cases) {
    ModelFolder folder;
    std::filesystem::remove(folder / "model.safetensors");
    folder.files().write(name, std::string_view(name).ends_with("gguf") ? "GGUF" : "1");
    EXPECT_TRUE(refusal(folder.path()).starts_with(folder / name + ": " + message))
        << refusal(folder.path());
  }
  // llama.cpp folders have no configuration.
  const TemporaryFolder bare;
  bare.write("q4.gguf", "GGUF");
  EXPECT_TRUE(refusal(bare.path()).starts_with(bare / "q4.gguf" + ": is a GGUF file"));
}

} // namespace heddle
