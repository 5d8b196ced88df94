// SPDX-License-Identifier: Apache-2.0
///
/// Invalid device images, and invalid launch shapes of kernels: each is rejected with its message.
#include "formats/Binary/ImageCheck.h"

#include "formats/Binary/ManifestCheck.h"
#include "tests/runtime/Artifact/FixtureModel.h"

#include <cstring>
#include <functional>
#include <gtest/gtest.h>
#include <vector>

using namespace heddle;
using namespace heddle::fixture;
using manifest::ImageKind;
using manifest::LaunchShape;
using manifest::LaunchUnit;

static Status check(const ModelSpec &spec) {
  const std::string bytes = serialize(spec, 0), section = images(spec);
  // FlatBuffers requires the alignment of a file.
  std::vector<uint64_t> copy(bytes.size() / 8 + 1);
  std::memcpy(copy.data(), bytes.data(), bytes.size());
  return checkManifest(std::as_bytes(std::span(copy)).first(bytes.size()),
                       {spec.actualWeightsSize, std::as_bytes(std::span(section))});
}

/// Returns how kernel "mix" is launched on the device.
static LaunchShape &launch(ModelSpec &spec) { return spec.kernels[3].launches[2]; }

static std::string &symbol(ModelSpec &spec) { return spec.kernels[3].symbols[2]; }

namespace {
/// A change, and part of the message that rejects it.
struct Case {
  const char *name;
  std::function<void(ModelSpec &)> change;
  const char *message;
};
} // namespace

class HostileImages : public testing::TestWithParam<Case> {};

TEST_P(HostileImages, AreRefused) {
  ModelSpec spec = modelWithImages();
  ASSERT_EQ(check(spec).message(), "");
  GetParam().change(spec);
  const Status status = check(spec);
  EXPECT_EQ(status.code(), StatusCode::DataLoss);
  EXPECT_NE(status.message().find(GetParam().message), std::string::npos) << status.message();
}

static const Case cases[] = {
    {"target", [](auto &m) { m.images[1].target = 3; }, "image 1: target number 3, there are 3"},
    {"misaligned", [](auto &m) { m.images[1].offset = 224; },
     "image 1: begins at byte 224, expected 256, the first multiple of 64 after the image before"},
    {"overlapping", [](auto &m) { m.images[1].offset = 192; }, "image 1: begins at byte 192"},
    {"apart", [](auto &m) { m.images[0].offset = 64; }, "image 0: begins at byte 64, expected 0"},
    {"beyond", [](auto &m) { m.images[1].size = 1000; },
     "image 1: 1000 bytes at byte 256, the section .heddle.device has 268"},
    {"overflowing", [](auto &m) { m.images[1].size = UINT64_MAX - 100; },
     "the section .heddle.device has 268"},
    {"sectionTooLong", [](auto &m) { m.images[1].bytes += "more"; },
     "268 bytes of images, the section .heddle.device has 272"},
    {"kind", [](auto &m) { m.images[1].kind = ImageKind(3); },
     "image 1: kind 3, expected at most 2"},
    {"compiler", [](auto &m) { m.images[0].compiler = ""; }, "image 0: no name of its compiler"},
    {"textWithoutEnd", [](auto &m) { m.images[1].bytes.back() = '\n'; },
     "image 1: PTX of 12 bytes, of zero bytes none, expected one at the end"},
    {"textEndsEarly", [](auto &m) { m.images[1].bytes[4] = '\0'; },
     "PTX of 12 bytes, of zero bytes one at byte 4, expected one at the end"},
    {"textEmpty",
     [](auto &m) {
       m.images[1].bytes.clear();
       m.images[1].size = 0;
     },
     "PTX of 0 bytes, of zero bytes none"},
    {"noElf", [](auto &m) { m.images[0].bytes[1] = 'F'; },
     "image 0: 200 bytes that do not begin as an ELF file does"},
    {"hostNoElf", [](auto &m) { m.images[1].kind = ImageKind::Host; },
     "image 1: 12 bytes that do not begin as an ELF file does"},
    {"launchesMissing", [](auto &m) { m.kernels[3].launches.pop_back(); },
     "kernel \"mix\": 2 launch shapes, expected one for each of 3 targets"},
    {"unit", [](auto &m) { launch(m) = {LaunchUnit(2), 64, 0, 0, 0, 0, 0, 0, 0}; },
     "kernel \"mix\": target 2: launch unit 2, expected at most 1"},
    {"unitMissing", [](auto &m) { launch(m) = {LaunchUnit::None, 64, 0, 0, 0, 0, 0, 0, 0}; },
     "target 2: no launch unit, expected one for a target with images"},
    {"unitOfCpu",
     [](auto &m) { m.kernels[3].launches[1] = {LaunchUnit::Caller, 64, 0, 0, 0, 0, 0, 0, 0}; },
     "target 1: launch unit 1 for a target without images"},
    {"threadsOfCpu",
     [](auto &m) { m.kernels[3].launches[1] = {LaunchUnit::None, 32, 16, 0, 0, 0, 0, 0, 0}; },
     "target 1: 32 threads, 16 bytes of shared memory, sections of 0 keys and rounded rows of 0 "
     "bytes for a target without images"},
    {"noThreads", [](auto &m) { launch(m) = {LaunchUnit::Caller, 0, 0, 0, 0, 0, 0, 0, 0}; },
     "blocks of 0 threads with 0 bytes of shared memory, expected a multiple of 32 up to 1024, and "
     "at most 232448 bytes"},
    {"threads", [](auto &m) { launch(m) = {LaunchUnit::Caller, 100, 0, 0, 0, 0, 0, 0, 0}; },
     "blocks of 100 threads"},
    {"manyThreads", [](auto &m) { launch(m) = {LaunchUnit::Caller, 1056, 0, 0, 0, 0, 0, 0, 0}; },
     "blocks of 1056 threads"},
    {"shared", [](auto &m) { launch(m) = {LaunchUnit::Caller, 64, 232449, 0, 0, 0, 0, 0, 0}; },
     "with 232449 bytes of shared memory"},
    {"sectionsOfCpu",
     [](auto &m) { m.kernels[3].launches[1] = {LaunchUnit::None, 0, 0, 1024, 0, 0, 0, 0, 0}; },
     "target 1: 0 threads, 0 bytes of shared memory, sections of 1024 keys and rounded rows of 0 "
     "bytes for a target without images"},
    {"partialWithoutSections",
     [](auto &m) { launch(m) = {LaunchUnit::Caller, 64, 16, 0, 8, 0, 0, 0, 0}; },
     "sections of 0 keys with partial results of 8 bytes and 16 bytes of shared memory, expected "
     "all or none, and a multiple of 4 up to 1048576 bytes"},
    {"sectionsWithoutPartial",
     [](auto &m) { launch(m) = {LaunchUnit::Caller, 64, 16, 1024, 0, 0, 0, 0, 0}; },
     "sections of 1024 keys with partial results of 0 bytes"},
    {"sectionsOfThreads",
     [](auto &m) { launch(m) = {LaunchUnit::Caller, 64, 0, 1024, 8, 0, 0, 0, 0}; },
     "with partial results of 8 bytes and 0 bytes of shared memory"},
    {"partialOdd", [](auto &m) { launch(m) = {LaunchUnit::Caller, 64, 16, 1024, 10, 0, 0, 0, 0}; },
     "with partial results of 10 bytes"},
    {"partialLarge",
     [](auto &m) { launch(m) = {LaunchUnit::Caller, 64, 16, 1024, 1048580, 0, 0, 0, 0}; },
     "with partial results of 1048580 bytes"},
    {"sectionsWithoutPieces",
     [](auto &m) { launch(m) = {LaunchUnit::Caller, 64, 16, 1024, 8, 0, 0, 2, 0}; },
     "sections of 1024 keys and pieces of 2 rows and 0 columns, expected all or none"},
    {"piecesWithoutSections",
     [](auto &m) { launch(m) = {LaunchUnit::Caller, 64, 16, 0, 0, 0, 0, 2, 4}; },
     "sections of 0 keys and pieces of 2 rows and 4 columns, expected all or none"},
    {"piecesOfCpu",
     [](auto &m) { m.kernels[3].launches[1] = {LaunchUnit::None, 0, 0, 0, 0, 0, 0, 2, 4}; },
     "for a target without images"},
    {"roundedOfCpu",
     [](auto &m) { m.kernels[3].launches[1] = {LaunchUnit::None, 0, 0, 0, 0, 0, 64, 0, 0}; },
     "sections of 0 keys and rounded rows of 64 bytes for a target without images"},
    {"roundedWithoutRows",
     [](auto &m) { launch(m) = {LaunchUnit::Caller, 64, 16, 0, 0, 0, 64, 0, 0}; },
     "rows of 64 bytes that are rounded for launches of 0 rows, sections of 0 keys and 16 bytes "
     "of shared memory, expected no sections, shared memory, and a multiple of 32 up to 1048576 "
     "bytes"},
    {"roundedWithoutBytes",
     [](auto &m) { launch(m) = {LaunchUnit::Caller, 64, 16, 0, 0, 1024, 0, 0, 0}; },
     "rows of 0 bytes that are rounded for launches of 1024 rows"},
    {"roundedInSections",
     [](auto &m) { launch(m) = {LaunchUnit::Caller, 64, 16, 1024, 8, 1024, 64, 0, 0}; },
     "rows of 64 bytes that are rounded for launches of 1024 rows, sections of 1024 keys"},
    {"roundedByThreads",
     [](auto &m) { launch(m) = {LaunchUnit::Caller, 64, 0, 0, 0, 1024, 64, 0, 0}; },
     "sections of 0 keys and 0 bytes of shared memory"},
    {"roundedOdd", [](auto &m) { launch(m) = {LaunchUnit::Caller, 64, 16, 0, 0, 1024, 48, 0, 0}; },
     "rows of 48 bytes"},
    {"roundedLarge",
     [](auto &m) { launch(m) = {LaunchUnit::Caller, 64, 16, 0, 0, 1024, 1048608, 0, 0}; },
     "rows of 1048608 bytes"},
    {"symbolDot", [](auto &m) { symbol(m) = "mix.sm_80"; },
     "entry \"mix.sm_80\", expected a name of letters, digits, _ and $ that begins with a letter"},
    {"symbolDigit", [](auto &m) { symbol(m) = "0mix"; }, "entry \"0mix\""},
    {"symbolAlone", [](auto &m) { symbol(m) = "_"; }, "entry \"_\""},
};
INSTANTIATE_TEST_SUITE_P(Images, HostileImages, testing::ValuesIn(cases),
                         [](const auto &info) { return std::string(info.param.name); });

TEST(ImageCheck, FindsWhatIsDamaged) {
  ModelSpec spec = modelWithImages();
  spec.images[1].checksum = 1;
  const std::string bytes = serialize(spec, 0), section = images(spec);
  const manifest::Manifest &model = *manifest::GetManifest(bytes.data());
  const auto content = std::as_bytes(std::span(section));
  EXPECT_TRUE(checkImageContent(model, 0, content).ok());
  const Status status = checkImageContent(model, 1, content);
  EXPECT_EQ(status.code(), StatusCode::DataLoss);
  EXPECT_TRUE(std::string(status.message())
                  .starts_with("damaged image 1 for target device: its checksum is "))
      << status.message();
  EXPECT_TRUE(std::string(status.message()).ends_with(", expected 0000000000000001"));
}

TEST(ImageCheck, NamesEveryKind) {
  EXPECT_EQ(imageKindName(ImageKind::Ptx), "ptx");
  EXPECT_EQ(imageKindName(ImageKind::Cubin), "cubin");
  EXPECT_EQ(imageKindName(ImageKind::Host), "host");
  EXPECT_EQ(imageKindName(ImageKind(3)), "");
}
