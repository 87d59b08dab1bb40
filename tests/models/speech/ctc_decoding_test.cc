#include "models/speech/ctc_decoding.h"

#include <vector>

#include "gtest/gtest.h"

namespace ps {
namespace {

// Decodes outputs where each frame's class is 1 and all others are 0, for the
// second recording of a batch of two.
std::vector<int32_t> Decode(const std::vector<int32_t>& path) {
  constexpr int64_t kBatch = 2, kClasses = 4;
  std::vector<float> outputs(path.size() * kBatch * kClasses);
  for (size_t t = 0; t < path.size(); ++t) {
    outputs[t * kBatch * kClasses + 2] = 5;  // The first recording's.
    outputs[(t * kBatch + 1) * kClasses + path[t]] = 1;
  }
  RecordingOutputs recording;
  recording.outputs = outputs.data() + kClasses;
  recording.frames = static_cast<int64_t>(path.size());
  recording.stride = kBatch * kClasses;
  recording.classes = kClasses;
  return DecodeBestPath(recording);
}

TEST(DecodeBestPath, KeepsOneOfARunAndNoBlanks) {
  EXPECT_EQ(Decode({0, 1, 1, 0, 2, 3, 3, 3, 0}),
            (std::vector<int32_t>{1, 2, 3}));
}

TEST(DecodeBestPath, ABlankPartsEqualLabels) {
  EXPECT_EQ(Decode({1, 1, 0, 1, 2, 1}), (std::vector<int32_t>{1, 1, 2, 1}));
}

TEST(DecodeBestPath, BlanksAloneSayNothing) {
  EXPECT_EQ(Decode({0, 0, 0}), std::vector<int32_t>());
  EXPECT_EQ(Decode({}), std::vector<int32_t>());
}

TEST(DecodeBestPath, OfEqualOutputsTheFirstCounts) {
  const std::vector<float> outputs = {1, 1, 0, 1, 0, 2, 2, 0};
  RecordingOutputs recording;
  recording.outputs = outputs.data();
  recording.frames = 2;
  recording.stride = 4;
  recording.classes = 4;
  EXPECT_EQ(DecodeBestPath(recording), std::vector<int32_t>{1});
}

}  // namespace
}  // namespace ps
