#include "models/layers/stretch_recorder.h"

#include <memory>
#include <string>

#include "glog/logging.h"
#include "gtest/gtest.h"
#include "models/layers/layer_times.h"
#include "tensor/backend.h"

namespace ps {
namespace {

// Records and counts; nothing else is implemented.
class RecordingBackend final : public Backend {
 public:
  absl::string_view name() const override { return "recording"; }
  absl::StatusOr<Tensor> Allocate(const Shape&) override { return Refusal(); }
  absl::Status CopyFromHost(const float*, Tensor*) override {
    return Refusal();
  }
  absl::Status CopyToHost(const Tensor&, float*) override { return Refusal(); }
  NnKernels& nn() override { LOG(FATAL) << "not used"; }
  SequenceKernels& sequences() override { LOG(FATAL) << "not used"; }
  SparseKernels& sparse() override { LOG(FATAL) << "not used"; }

  absl::StatusOr<std::unique_ptr<Recording>> Record(
      const std::function<absl::Status()>& work) override {
    ++num_records;
    if (fails) return absl::InternalError("cannot be recorded");
    return std::unique_ptr<Recording>(new Replayed(work, &num_replays));
  }
  int64_t memory_version() const override { return version; }

  bool fails = false;
  int64_t version = 0;
  int num_records = 0;
  int num_replays = 0;

 private:
  class Replayed final : public Recording {
   public:
    Replayed(std::function<absl::Status()> work, int* count)
        : work_(std::move(work)), count_(count) {}
    absl::Status Replay() override {
      ++*count_;
      return work_();
    }

   private:
    const std::function<absl::Status()> work_;
    int* const count_;
  };

  static absl::Status Refusal() { return absl::UnimplementedError("not used"); }
};

class StretchRecorderTest : public testing::Test {
 protected:
  // Runs a pass over one stretch, on memory at this address.
  absl::Status Pass(const void* weights, bool resets_state = false) {
    recorder_.Begin(LayerTimes::Direction::kForward, {weights});
    return recorder_.Run({LayerTimes::Direction::kForward, 0, 2, resets_state},
                         [this] {
                           ++num_works_;
                           return result_;
                         });
  }
  void ExpectCounts(int records, int replays, int works) {
    EXPECT_EQ(backend_.num_records, records);
    EXPECT_EQ(backend_.num_replays, replays);
    EXPECT_EQ(num_works_, works);
  }

  RecordingBackend backend_;
  LayerTimes times_;
  RecordingCounts counts_;
  StretchRecorder recorder_{&backend_, &times_, &counts_};
  absl::Status result_;
  int num_works_ = 0;
  const float a_ = 0;
  const float b_ = 0;
};

TEST_F(StretchRecorderTest, RunsOnceAsItIsThenRecordsThenReplays) {
  ASSERT_TRUE(Pass(&a_).ok());
  ExpectCounts(0, 0, 1);
  ASSERT_TRUE(Pass(&a_).ok());
  ExpectCounts(1, 1, 2);
  ASSERT_TRUE(Pass(&a_).ok());
  ExpectCounts(1, 2, 3);
  EXPECT_EQ(counts_.recorded, 1);
}

TEST_F(StretchRecorderTest, StretchesThatDifferHaveTheirOwn) {
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(Pass(&a_, false).ok());
    ASSERT_TRUE(Pass(&a_, true).ok());
  }
  ExpectCounts(2, 4, 6);
  EXPECT_EQ(counts_.recorded, 2);
  EXPECT_EQ(counts_.failed, 0);
}

TEST_F(StretchRecorderTest, OtherAddressesOrMovedMemoryBeginAnew) {
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(Pass(&a_).ok());
  ASSERT_TRUE(Pass(&b_).ok());
  ExpectCounts(1, 2, 4);
  ASSERT_TRUE(Pass(&b_).ok());
  ExpectCounts(2, 3, 5);
  ++backend_.version;
  ASSERT_TRUE(Pass(&b_).ok());
  ExpectCounts(2, 3, 6);
  // The other direction has its own addresses.
  recorder_.Begin(LayerTimes::Direction::kBackward, {&a_});
  ASSERT_TRUE(Pass(&b_).ok());
  ExpectCounts(3, 4, 7);
}

TEST_F(StretchRecorderTest, WhatCannotBeRecordedRunsAsItIsForGood) {
  ASSERT_TRUE(Pass(&a_).ok());
  backend_.fails = true;
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(Pass(&a_).ok());
  ExpectCounts(1, 0, 5);
  EXPECT_EQ(counts_.recorded, 0);
  EXPECT_EQ(counts_.failed, 1);
}

TEST_F(StretchRecorderTest, AFailureIsReturnedAndThatTimeDoesNotCount) {
  result_ = absl::InvalidArgumentError("of the work");
  EXPECT_EQ(Pass(&a_), result_);
  result_ = absl::OkStatus();
  ASSERT_TRUE(Pass(&a_).ok());
  ExpectCounts(0, 0, 2);
  ASSERT_TRUE(Pass(&a_).ok());
  result_ = absl::InternalError("of the device");
  EXPECT_EQ(Pass(&a_), result_);
}

}  // namespace
}  // namespace ps
