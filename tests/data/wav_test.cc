#include "data/wav.h"

#include <string>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/data/wav_for_test.h"

namespace ps {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(WavTest, ReadsSamplesAndTheirRate) {
  const auto wav = ParseWav(WavFile({0, 1, -1, 32767, -32768}, 8000));
  ASSERT_TRUE(wav.ok()) << wav.status();
  EXPECT_EQ(wav->sample_rate, 8000);
  EXPECT_THAT(wav->samples, ElementsAre(0, 1, -1, 32767, -32768));
}

TEST(WavTest, ChunksComeInAnyOrderAndUnknownOnesArePassedOver) {
  // A chunk of odd size, which is padded.
  const std::string unknown = WavChunk("LIST", "abc");
  const auto wav =
      ParseWav(RiffFile(unknown + WavDataChunk({5, 6}) + unknown +
                        WavFormatChunk(WavFormat()) + "trailing bytes"));
  ASSERT_TRUE(wav.ok()) << wav.status();
  EXPECT_THAT(wav->samples, ElementsAre(5, 6));
}

TEST(WavTest, TheExtensibleFormatIsKnown) {
  std::string format = WavFormatChunk(WavFormat()).substr(8);
  format.replace(0, 2, "\xfe\xff");
  format += LittleEndian(22, 2) + LittleEndian(16, 2) + LittleEndian(4, 4) +
            LittleEndian(1, 2) + std::string(14, 'x');
  const auto wav =
      ParseWav(RiffFile(WavChunk("fmt ", format) + WavDataChunk({7})));
  ASSERT_TRUE(wav.ok()) << wav.status();
  EXPECT_THAT(wav->samples, ElementsAre(7));
}

// What ffmpeg, sox, arecord, and programs that never come back write into a
// pipe.
TEST(WavTest, DataOfUnknownSizeTakeAllThatFollows) {
  const struct {
    uint32_t riff;
    uint32_t data;
  } sizes[] = {{0xffffffff, 0xffffffff},
               {0x7ffff000, 0x7fffefdc},
               {0x80000024, 0x80000000},
               {0, 0},
               {36, 0},
               {0xffffffff, 0}};
  for (const auto& size : sizes) {
    for (const char* rest : {"", "x"}) {  // Cut within a sample.
      const std::string file = "RIFF" + LittleEndian(size.riff, 4) + "WAVE" +
                               WavFormatChunk(WavFormat()) + "data" +
                               LittleEndian(size.data, 4) +
                               WavDataChunk({1, -2, 3}).substr(8) + rest;
      const auto wav = ParseWav(file);
      ASSERT_TRUE(wav.ok()) << wav.status();
      EXPECT_THAT(wav->samples, ElementsAre(1, -2, 3));
    }
  }
  // Here the header knows that there are no data.
  const auto empty = ParseWav(RiffFile(
      WavFormatChunk(WavFormat()) + WavDataChunk({}) + WavChunk("LIST", "ab")));
  ASSERT_TRUE(empty.ok()) << empty.status();
  EXPECT_THAT(empty->samples, testing::IsEmpty());
}

TEST(WavTest, AFileCutAnywhereIsDataLoss) {
  const std::string file = WavFile({1, 2, 3, 4, 5});
  for (size_t length = 0; length < file.size(); ++length) {
    EXPECT_EQ(ParseWav(file.substr(0, length)).status().code(),
              absl::StatusCode::kDataLoss)
        << length << " of " << file.size();
  }
  EXPECT_TRUE(ParseWav(file).ok());
}

TEST(WavTest, AChangedByteIsAnErrorOrOtherSamplesButNeverMore) {
  const std::string file = WavFile({1, 2, 3, 4, 5});
  for (size_t at = 0; at < file.size(); ++at) {
    for (const int flip : {1, 0x80, 0xff}) {
      std::string changed = file;
      changed[at] = static_cast<char>(changed[at] ^ flip);
      const auto wav = ParseWav(changed);
      if (!wav.ok()) continue;
      EXPECT_LE(wav->samples.size(), 5) << at;
    }
  }
}

TEST(WavTest, OtherKindsOfSoundAreNamed) {
  WavFormat format;
  const auto message = [&format] {
    const auto wav = ParseWav(RiffFile(WavFormatChunk(format)));
    EXPECT_EQ(wav.status().code(), absl::StatusCode::kInvalidArgument);
    return std::string(wav.status().message());
  };
  format.channels = 2;
  EXPECT_THAT(message(), HasSubstr("has 2 channels of 16 bits in format 1"));
  format = WavFormat();
  format.bits = 8;
  EXPECT_THAT(message(), HasSubstr("1 channel of 8 bits"));
  format = WavFormat();
  format.format = 85;
  EXPECT_THAT(message(), HasSubstr("format 85; must be"));
}

TEST(WavTest, WhatIsMissingIsNamed) {
  const auto message = [](const std::string& file) {
    const auto wav = ParseWav(file);
    EXPECT_EQ(wav.status().code(), absl::StatusCode::kDataLoss);
    return std::string(wav.status().message());
  };
  EXPECT_THAT(message("RIFX"), HasSubstr("not a WAV file"));
  EXPECT_THAT(message("fLaC\x01"), HasSubstr("it is sound in FLAC"));
  EXPECT_THAT(message(RiffFile("")), HasSubstr("no format chunk"));
  EXPECT_THAT(message(RiffFile(WavFormatChunk(WavFormat()))),
              HasSubstr("no data chunk"));
  EXPECT_THAT(message(RiffFile(WavChunk("fmt ", "short"))),
              HasSubstr("has 5 bytes"));
  EXPECT_THAT(message(RiffFile(WavChunk("data", "odd"))),
              HasSubstr("3 bytes of data"));
  EXPECT_THAT(message(RiffFile("data\xff\xff\xff\x7e..")),
              HasSubstr("promises 2130706431 bytes, but 2 follow"));
  WavFormat format;
  format.sample_rate = 0;
  EXPECT_THAT(message(RiffFile(WavFormatChunk(format))),
              HasSubstr("sample rate is 0"));
  format.sample_rate = 0xffffffff;
  EXPECT_THAT(message(RiffFile(WavFormatChunk(format))),
              HasSubstr("sample rate is 4294967295; must be from 1000"));
}

}  // namespace
}  // namespace ps
