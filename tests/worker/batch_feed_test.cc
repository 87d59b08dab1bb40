#include "worker/batch_feed.h"

#include <vector>

#include "common/batch.h"
#include "gtest/gtest.h"
#include "proto/config.pb.h"
#include "worker/training_parts.h"

namespace ps {
namespace {

class BatchFeedTest : public testing::Test {
 protected:
  void SetUp() override {
    config_.mutable_model()->set_name("lenet5");
    config_.mutable_data()->set_name("digits");
    config_.mutable_data()->mutable_digits()->set_train_examples(40);
    config_.mutable_data()->mutable_digits()->set_test_examples(4);
    config_.mutable_training()->set_batch_size(4);
    config_.mutable_training()->set_max_iterations(6);
    config_.mutable_cluster()->set_num_workers(1);
    config_.mutable_machine()->set_device("cpu");
    parts_ = MakeTrainingParts(config_, 0).value();
  }

  // The batches that At returns, without Peek.
  std::vector<Batch> Expected() {
    BatchFeed feed(config_, 0, parts_);
    std::vector<Batch> batches;
    for (int i = 0; i < 6; ++i) batches.push_back(*feed.At(i).value());
    return batches;
  }

  JobConfig config_;
  TrainingParts parts_;
};

void ExpectSame(const Batch& actual, const Batch& expected) {
  EXPECT_EQ(actual.inputs, expected.inputs);
  EXPECT_EQ(actual.labels, expected.labels);
  EXPECT_EQ(actual.random_key, expected.random_key);
}

TEST_F(BatchFeedTest, PeekShowsTheNextBatchAndChangesNone) {
  const std::vector<Batch> expected = Expected();
  BatchFeed feed(config_, 0, parts_);
  for (int i = 0; i < 6; ++i) {
    ExpectSame(*feed.At(i).value(), expected[i]);
    Batch* const next = feed.Peek().value();
    if (i == 5) {
      EXPECT_EQ(next, nullptr);
      break;
    }
    ExpectSame(*next, expected[i + 1]);
    EXPECT_EQ(feed.Peek().value(), next);
    next->upload = 7;
    EXPECT_EQ(feed.At(i + 1).value(), next);
    EXPECT_EQ(next->upload, 7);
  }
}

TEST_F(BatchFeedTest, SkippingABatchThatWasPeekedBreaksTheRow) {
  const std::vector<Batch> expected = Expected();
  BatchFeed feed(config_, 0, parts_);
  ASSERT_TRUE(feed.At(0).ok());
  Batch* const peeked = feed.Peek().value();
  peeked->upload = 7;
  peeked->continues = true;
  Batch* const batch = feed.At(2).value();
  ExpectSame(*batch, expected[2]);
  EXPECT_FALSE(batch->continues);
  // No batch has the mark of another one that was read into the same memory.
  for (int i = 3; i < 6; ++i) EXPECT_EQ(feed.At(i).value()->upload, 0);
}

TEST_F(BatchFeedTest, CanBeginAtAnyIteration) {
  const std::vector<Batch> expected = Expected();
  BatchFeed feed(config_, 0, parts_, 3);
  for (int i = 3; i < 6; ++i) {
    ExpectSame(*feed.At(i).value(), expected[i]);
    Batch* const next = feed.Peek().value();
    EXPECT_EQ(next == nullptr, i == 5);
  }
}

}  // namespace
}  // namespace ps
