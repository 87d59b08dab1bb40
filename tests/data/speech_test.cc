// The data set "speech", over files that the test writes, and the transcript
// lists that it reads.
#include <unistd.h>

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/data_description.h"
#include "common/labelled_sequences.h"
#include "common/random.h"
#include "data/dataset.h"
#include "data/transcripts.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/data/scratch_folder.h"
#include "tests/data/wav_for_test.h"

namespace ps {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<int16_t> Noise(int size) {
  RandomStream random(static_cast<uint64_t>(size));
  std::vector<int16_t> samples(size);
  for (int16_t& sample : samples) {
    sample = static_cast<int16_t>(1000 * random.Normal());
  }
  return samples;
}

TEST(TranscriptsTest, AreAPathATabAndWords) {
  const auto transcripts = ParseTranscripts(
      "a/b.wav\tTWO  WORDS \r\n\nc.wav\tONE\n \r\nnoise.wav\t");
  ASSERT_TRUE(transcripts.ok()) << transcripts.status();
  ASSERT_EQ(transcripts->size(), 3);
  EXPECT_EQ((*transcripts)[0].path, "a/b.wav");
  EXPECT_EQ((*transcripts)[0].text, "TWO WORDS");
  EXPECT_EQ((*transcripts)[1].text, "ONE");
  EXPECT_EQ((*transcripts)[2].path, "noise.wav");
  EXPECT_EQ((*transcripts)[2].text, "");
}

TEST(TranscriptsTest, AnyOtherLineIsNamed) {
  for (const char* line :
       {"a.wav", "a.wav WORDS", "\tWORDS", "a.wav\tWORDS\tMORE"}) {
    const auto transcripts =
        ParseTranscripts(absl::StrCat("ok.wav\tOK\n", line, "\n"));
    EXPECT_EQ(transcripts.status().code(), absl::StatusCode::kDataLoss) << line;
    EXPECT_THAT(std::string(transcripts.status().message()),
                HasSubstr("line 2 must be"));
  }
  EXPECT_EQ(ParseTranscripts("\n\n").status().code(),
            absl::StatusCode::kDataLoss);
}

class SpeechTest : public testing::Test {
 protected:
  SpeechTest() {
    options_.config.set_name("speech");
    options_.config.set_directory(folder_.path());
    folder_.MakeFolder("x_train");
    folder_.MakeFolder("x_test");
    folder_.Write("x_train/a.wav", WavFile(Noise(16000)));
    folder_.Write("x_train/b.wav", WavFile(Noise(4000)));
    folder_.Write("x_train/transcripts.tsv", "a.wav\tA B\nb.wav\tC-\n");
    folder_.Write("x_test/c.wav", WavFile(Noise(8000)));
    folder_.Write("x_test/transcripts.tsv", "c.wav\tIT'S\n");
  }

  void ExpectError(absl::StatusCode code, const std::string& reason) {
    const auto pair = NewDataset(options_);
    EXPECT_EQ(pair.status().code(), code) << pair.status();
    EXPECT_THAT(std::string(pair.status().message()), HasSubstr(reason));
  }

  ScratchFolder folder_;
  DatasetOptions options_;
};

TEST_F(SpeechTest, ABatchIsAsLongAsItsLongestRoundedUp) {
  const auto pair = NewDataset(options_);
  ASSERT_TRUE(pair.ok()) << pair.status();
  const ExampleShape shape = pair->train->example_shape();
  EXPECT_EQ(shape.task, Task::kSpeech);
  EXPECT_EQ(shape.features, 40);
  EXPECT_EQ(shape.alphabet, "_ '-ABCDEFGHIJKLMNOPQRSTUVWXYZ");
  EXPECT_EQ(shape.num_classes, 30);
  Batch batch;
  ASSERT_TRUE(pair->train->Read({1, 0}, 0, &batch).ok());
  EXPECT_EQ(batch.size(), 2);
  EXPECT_THAT(batch.input_lengths, ElementsAre(24, 99));
  EXPECT_EQ(batch.steps, 128);
  ASSERT_EQ(batch.inputs.size(), 128 * 2 * 40);
  EXPECT_THAT(batch.label_lengths, ElementsAre(2, 3));
  EXPECT_THAT(batch.labels, ElementsAre(6, 3, 4, 1, 5));  // C - A space B.
  ASSERT_TRUE(pair->test->Read({0}, 0, &batch).ok());
  EXPECT_EQ(batch.steps, 64);
  EXPECT_THAT(batch.labels, ElementsAre(12, 23, 2, 22));
}

TEST_F(SpeechTest, FramesDoNotDependOnTheCompanyAndZerosFollow) {
  const auto pair = NewDataset(options_);
  ASSERT_TRUE(pair.ok()) << pair.status();
  Batch both, alone;
  ASSERT_TRUE(pair->train->Read({0, 1}, 0, &both).ok());
  ASSERT_TRUE(pair->train->Read({1}, 0, &alone).ok());
  ASSERT_EQ(alone.steps, 32);
  const auto frame = [](const Batch& batch, int64_t rows, int64_t t,
                        int64_t row) {
    const auto begin = batch.inputs.begin() + (t * rows + row) * 40;
    return std::vector<float>(begin, begin + 40);
  };
  for (int t = 0; t < 24; ++t) {
    EXPECT_EQ(frame(both, 2, t, 1), frame(alone, 1, t, 0)) << t;
  }
  for (int t = 24; t < 128; ++t) EXPECT_THAT(frame(both, 2, t, 1), Each(0.0f));
}

TEST_F(SpeechTest, FramesAndLabelsAreKnownBeforeARecordingIsRead) {
  const auto pair = NewDataset(options_);
  ASSERT_TRUE(pair.ok()) << pair.status();
  const LabelledSequences* const sequences = pair->train->sequences();
  ASSERT_NE(sequences, nullptr);
  EXPECT_EQ(sequences->size(), 2);
  EXPECT_THAT(sequences->name(1), HasSubstr("x_train/b.wav"));
  EXPECT_EQ(sequences->num_steps(0), 99);
  EXPECT_EQ(sequences->num_steps(1), 24);
  EXPECT_THAT(sequences->labels(1), ElementsAre(6, 3));
}

TEST_F(SpeechTest, LongTrainingRecordingsAreLeftOut) {
  options_.config.mutable_speech()->set_max_seconds(0.4);
  const auto pair = NewDataset(options_);
  ASSERT_TRUE(pair.ok()) << pair.status();
  EXPECT_EQ(pair->train->size(), 1);
  EXPECT_EQ(pair->test->size(), 1);
  options_.config.mutable_speech()->set_max_seconds(0.1);
  ExpectError(absl::StatusCode::kInvalidArgument,
              "x_train: no recording is left: 2 of 2 recordings are "
              "longer than data.speech.max_seconds, 0.1");
}

TEST_F(SpeechTest, AFileThatIsMissingDamagedShortOrOfAnotherRateIsNamed) {
  const auto write = [this](const std::string& bytes) {
    folder_.Write("x_train/b.wav", bytes);
  };
  write("RIFF");
  ExpectError(absl::StatusCode::kDataLoss, "x_train/b.wav: not a WAV file");
  write(WavFile(Noise(8000), 8000));
  ExpectError(absl::StatusCode::kFailedPrecondition,
              "x_train/b.wav: has 8000 samples a second");
  write(WavFile(Noise(100)));
  ExpectError(absl::StatusCode::kInvalidArgument,
              "x_train/b.wav: has 100 samples; a window has 320");
  ASSERT_EQ(unlink((folder_.path() + "/x_train/b.wav").c_str()), 0);
  ExpectError(absl::StatusCode::kNotFound, "x_train/b.wav");
}

TEST_F(SpeechTest, DamagedRecordingsCanBeLeftOut) {
  folder_.Write("x_train/a.wav", "RIFF");
  options_.config.set_on_bad_example(DataConfig::SKIP);
  const auto pair = NewDataset(options_);
  ASSERT_TRUE(pair.ok()) << pair.status();
  EXPECT_EQ(pair->train->size(), 1);
  EXPECT_THAT(pair->notes,
              ElementsAre(AllOf(HasSubstr("x_train/a.wav: not a WAV file"),
                                HasSubstr("left out: 1 of 2 recordings cannot "
                                          "be used (data.on_bad_example)"))));
  // Another rate is not damage: the wrong files might be left out.
  folder_.Write("x_train/b.wav", WavFile(Noise(8000), 8000));
  folder_.Write("x_train/a.wav", WavFile(Noise(16000)));
  ExpectError(absl::StatusCode::kFailedPrecondition,
              "x_train/b.wav: has 8000 samples a second");
}

TEST_F(SpeechTest, WhyNoRecordingIsLeftIsSaid) {
  options_.config.set_on_bad_example(DataConfig::SKIP);
  folder_.Write("x_test/c.wav", "RIFF");
  ExpectError(absl::StatusCode::kInvalidArgument,
              "x_test: no recording is left: 1 of 1 recordings cannot be used "
              "(data.on_bad_example): ");
  for (const char* const name : {"x_train/a.wav", "x_train/b.wav"}) {
    folder_.Write(name, WavFile(Noise(100)));
  }
  ExpectError(absl::StatusCode::kInvalidArgument,
              "x_train: no recording is left: 2 of 2 recordings cannot be used "
              "(data.on_bad_example): ");
}

TEST_F(SpeechTest, ADamagedListIsNamedWithItsLine) {
  folder_.Write("x_test/transcripts.tsv", "c.wav\tA\nc.wav B\n");
  ExpectError(absl::StatusCode::kDataLoss, "x_test/transcripts.tsv: line 2");
}

TEST_F(SpeechTest, AListMayBeginWithAByteOrderMark) {
  folder_.Write("x_test/transcripts.tsv",
                "\xef\xbb\xbf"
                "c.wav\tIT'S\n");
  const auto pair = NewDataset(options_);
  ASSERT_TRUE(pair.ok()) << pair.status();
  EXPECT_EQ(pair->test->size(), 1);
}

TEST_F(SpeechTest, ARecordingWithoutWordsHasNoLabels) {
  folder_.Write("x_test/transcripts.tsv", "c.wav\t\n");
  const auto pair = NewDataset(options_);
  ASSERT_TRUE(pair.ok()) << pair.status();
  Batch batch;
  ASSERT_TRUE(pair->test->Read({0}, 0, &batch).ok());
  EXPECT_THAT(batch.label_lengths, ElementsAre(0));
  EXPECT_TRUE(batch.labels.empty());
}

TEST_F(SpeechTest, WhatIsNotReadIsSaid) {
  folder_.MakeFolder("x_train/more");
  folder_.Write("x_train/more/d.WAV", "");
  folder_.Write("x_train/notes.txt", "");
  options_.config.mutable_speech()->set_max_seconds(0.4);
  const auto pair = NewDataset(options_);
  ASSERT_TRUE(pair.ok()) << pair.status();
  EXPECT_THAT(
      pair->notes,
      ElementsAre(AllOf(HasSubstr("1 file is not read: "),
                        HasSubstr("/x_train/more/d.WAV; recordings are those")),
                  HasSubstr("left out: 1 of 2 recordings are longer than")));
}

TEST_F(SpeechTest, ATranscriptThatChangesChangesTheDescription) {
  const auto before = NewDataset(options_);
  folder_.Write("x_train/transcripts.tsv", "a.wav\tA B\nb.wav\tC+\n");
  const auto after = NewDataset(options_);
  ASSERT_TRUE(before.ok() && after.ok());
  EXPECT_THAT(DescribeDataDifference(before->description.text(),
                                     after->description.text()),
              HasSubstr("training recording 1: \"b.wav\\tC+\" there and "
                        "\"b.wav\\tC-\" here"));
}

TEST_F(SpeechTest, ATestTranscriptWithAForeignCharacterIsNamed) {
  folder_.Write("x_test/transcripts.tsv", "c.wav\tA+B\n");
  ExpectError(absl::StatusCode::kDataLoss,
              "x_test: transcript \"A+B\" has the character \"+\"");
}

TEST_F(SpeechTest, ThereIsOneFolderForEachPart) {
  folder_.MakeFolder("train");
  ExpectError(absl::StatusCode::kNotFound, "has 2 folders named train");
  options_.config.set_directory(folder_.path() + "/train");
  ExpectError(absl::StatusCode::kNotFound, "has 0 folders named train");
}

TEST_F(SpeechTest, RecordingsCanBeHeldOut) {
  options_.config.set_validation_fraction(0.5);
  ExpectError(absl::StatusCode::kInvalidArgument,
              absl::StrCat("data.validation_fraction is 0.5; must be 0, "
                           "because there is a test set: ",
                           folder_.path(), "/x_test"));
  ASSERT_EQ(rename((folder_.path() + "/x_test").c_str(),
                   (folder_.path() + "/else").c_str()),
            0);
  std::vector<std::string> names;
  for (const char* folder : {"", "/x_train"}) {
    options_.config.set_directory(folder_.path() + folder);
    const auto pair = NewDataset(options_);
    ASSERT_TRUE(pair.ok()) << pair.status();
    EXPECT_EQ(pair->train->size(), 1);
    EXPECT_EQ(pair->test->size(), 1);
    EXPECT_NE(pair->train->sequences()->name(0),
              pair->test->sequences()->name(0));
    names.push_back(pair->test->sequences()->name(0));
    // With all characters, on whichever side they are.
    EXPECT_EQ(pair->train->example_shape().alphabet,
              "_ '-ABCDEFGHIJKLMNOPQRSTUVWXYZ");
  }
  EXPECT_EQ(names[0], names[1]);
}

TEST_F(SpeechTest, AFileThatDisappearsIsAnErrorOfTheRead) {
  const auto pair = NewDataset(options_);
  ASSERT_TRUE(pair.ok()) << pair.status();
  ASSERT_EQ(unlink((folder_.path() + "/x_train/a.wav").c_str()), 0);
  Batch batch;
  const absl::Status status = pair->train->Read({0}, 0, &batch);
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()), HasSubstr("x_train/a.wav"));
}

TEST_F(SpeechTest, OptionsOutOfRangeAreProblems) {
  options_.config.mutable_speech()->set_hop_milliseconds(0);
  ExpectError(absl::StatusCode::kInvalidArgument,
              "data.speech.hop_milliseconds is 0");
}

}  // namespace
}  // namespace ps
