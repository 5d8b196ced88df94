// SPDX-License-Identifier: Apache-2.0
///
/// Which image of a file is used, and the messages about unusable ones.
#include "tests/runtime/Device/Cuda/GpuModel.h"

#include <elf.h>

using namespace heddle;
using namespace heddle::fixture;
using manifest::ImageKind;

/// Returns an ELF for a GPU, as far as the driver checks it.
static std::string cubin() {
  std::string bytes = emulatedImage();
  constexpr Elf64_Half gpu = 190;
  std::memcpy(bytes.data() + offsetof(Elf64_Ehdr, e_machine), &gpu, sizeof gpu);
  return bytes;
}

static const std::string ptx("// no code\n\0", 12);

static Status loadImages(const std::vector<std::pair<ImageKind, std::string>> &images) {
  ModelSpec spec = withDevice(model());
  setImages(spec, images);
  const Result<Model> loaded = loadOn("cuda", spec, "images.so");
  return loaded.ok() ? embedTwo(*loaded).status() : loaded.status();
}

static void expectFailure(const Status &status, StatusCode code, const std::string &message) {
  EXPECT_EQ(status.code(), code);
  EXPECT_EQ(status.message(), temporaryPath("images.so") + ": " + message);
  EXPECT_EQ(EmulatedGpu::get().leaks(), "");
}

TEST(Module, TheFirstThatTheDriverTakes) {
  EmulatedGpu::get().record();
  EXPECT_EQ(
      loadImages(
          {{ImageKind::Cubin, cubin()}, {ImageKind::Host, emulatedImage()}, {ImageKind::Ptx, ptx}})
          .message(),
      "");
  EXPECT_EQ(EmulatedGpu::get().calls("cuModuleLoadDataEx"),
            (std::vector<std::string>{"cuModuleLoadDataEx(cubin)", "cuModuleLoadDataEx(host)"}));
}

TEST(Module, ForeignImage) {
  expectFailure(loadImages({{ImageKind::Cubin, cubin()}}), StatusCode::Unsupported,
                "no image for sm_80 that GPU 0 (emulated) takes: image 0 (cubin by fixture): GPU 0 "
                "(emulated): cuModuleLoadDataEx failed with CUDA_ERROR_NO_BINARY_FOR_GPU (209): no "
                "kernel image is available for execution on the device");
}

TEST(Module, SaysWhatTheCompilerSaid) {
  expectFailure(loadImages({{ImageKind::Cubin, cubin()}, {ImageKind::Ptx, ptx}}),
                StatusCode::DataLoss,
                "no image for sm_80 that GPU 0 (emulated) takes: image 0 (cubin by fixture): GPU 0 "
                "(emulated): cuModuleLoadDataEx failed with CUDA_ERROR_NO_BINARY_FOR_GPU (209): no "
                "kernel image is available for execution on the device; image 1 (ptx by fixture): "
                "GPU 0 (emulated): cuModuleLoadDataEx failed with CUDA_ERROR_INVALID_PTX (218): a "
                "PTX JIT compilation failed: the emulated GPU does not compile PTX");
}

TEST(Module, PtxNewerThanTheDriver) {
  constexpr int unsupportedPtxVersion = 222;
  EmulatedGpu::get().fail("cuModuleLoadDataEx", 1, unsupportedPtxVersion);
  const Status status = loadImages({{ImageKind::Ptx, ptx}});
  EmulatedGpu::get().fail(nullptr, 0, 0);
  expectFailure(status, StatusCode::Unsupported,
                "no image for sm_80 that GPU 0 (emulated) takes: image 0 (ptx by fixture): GPU 0 "
                "(emulated): cuModuleLoadDataEx failed with CUDA_ERROR_UNSUPPORTED_PTX_VERSION "
                "(222): the provided PTX was compiled with an unsupported toolchain.");
}

TEST(Module, UntaughtOperationIsNamed) {
  const Status status = loadImages({{ImageKind::Host, untaughtImage()}});
  EXPECT_EQ(status.code(), StatusCode::DataLoss);
  EXPECT_NE(status.message().find("undefined symbol: heddle_emulated_untaught"), std::string::npos)
      << status.message();
}

TEST(Module, DamagedImage) {
  ModelSpec spec = withDevice(model());
  const std::string path = temporaryPath("images.so");
  ASSERT_EQ(write(spec, path).message(), "");
  std::string bytes = readBytes(path);
  const size_t image = bytes.find(spec.images[0].bytes);
  ASSERT_NE(image, std::string::npos);
  bytes[image + spec.images[0].bytes.size() / 2] ^= 1;
  writeBytes(path, bytes);
  const Status status = Model::load(path, {.device = "cuda"}).status();
  EXPECT_EQ(status.code(), StatusCode::DataLoss);
  EXPECT_NE(status.message().find("damaged image 0 for target sm_80: its checksum is"),
            std::string::npos)
      << status.message();
  // Other devices do not read images.
  EXPECT_TRUE(Model::load(path, {.device = "cpu"}).ok());
}

TEST(Module, MissingEntry) {
  ModelSpec spec = withDevice(model());
  spec.kernels[1].symbols[2] = "nowhere";
  expectFailure(loadOn("cuda", spec, "images.so").status(), StatusCode::NotFound,
                "GPU 0 (emulated): cuModuleGetFunction of \"nowhere\" failed with "
                "CUDA_ERROR_NOT_FOUND (500): named symbol not found");
}

TEST(Module, OperandsOfOneKernelAreOfTheSameKinds) {
  ModelSpec spec = withDevice(model());
  spec.entries[0].dispatches[1].kernel = spec.entries[0].dispatches[2].kernel;
  const Status status = loadOn("cuda", spec, "images.so").status();
  EXPECT_NE(status.message().find("damaged: dispatch \"dense\" of entry \"encode\" has other kinds "
                                  "of operands than those before it have of the same kernel, "
                                  "\"linear\""),
            std::string::npos)
      << status.message();
}

TEST(Module, TheBestTargetOfTheGpu) {
  ModelSpec spec = withDevice(model());
  EXPECT_EQ(loadOn("cuda", spec, "images.so")->isa(), "sm_80");
  spec.targets.back() = "sm_90a";
  EXPECT_EQ(loadOn("cuda", spec, "images.so")->isa(), "sm_90a");
  const Setting newer("HEDDLE_EMULATOR_CAPABILITY", "100");
  expectFailure(loadOn("cuda", spec, "images.so").status(), StatusCode::Unsupported,
                "no target that GPU 0 (emulated) can run: the file has x86-64-v3, x86-64-v4, "
                "sm_90a, GPU 0 (emulated) runs sm_80");
}

TEST(Module, AutomaticallyWhereThereIsCode) {
  {
    const Result<Model> both = loadOn("auto", withDevice(model()), "images.so");
    ASSERT_TRUE(both.ok()) << both.status().message();
    EXPECT_EQ(both->device(), "cuda:0");
  }
  const Result<Model> plain = loadOn("auto", model(), "images.so");
  ASSERT_TRUE(plain.ok()) << plain.status().message();
  EXPECT_EQ(plain->device(), "cpu");
  expectFailure(loadOn("cuda", model(), "images.so").status(), StatusCode::Unsupported,
                "no target that GPU 0 (emulated) can run: the file has x86-64-v3, x86-64-v4, GPU 0 "
                "(emulated) runs sm_90a, sm_80");
}
