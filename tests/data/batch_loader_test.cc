#include "data/batch_loader.h"

#include <atomic>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/mutex.h"
#include "gtest/gtest.h"

namespace ps {
namespace {

constexpr int64_t kExamples = 100;

// A dataset whose batches hold example numbers and epoch, and whose example
// `bad_number` cannot be read. Counts the reads that have begun.
class CountingDataset final : public Dataset {
 public:
  explicit CountingDataset(ExampleOrder order = ExampleOrder::kShuffled)
      : order_(order) {}

  ExampleShape example_shape() const override { return ExampleShape(); }
  int64_t size() const override { return kExamples; }
  ExampleOrder order() const override { return order_; }

  absl::Status Read(absl::Span<const int64_t> numbers, int64_t epoch,
                    Batch* batch) const override {
    {
      MutexLock lock(&mu_);
      ++reads_;
      changed_.SignalAll();
    }
    batch->inputs.assign(1, static_cast<float>(epoch));
    batch->labels.assign(numbers.begin(), numbers.end());
    for (const int64_t number : numbers) {
      if (number == bad_number) {
        return absl::DataLossError(absl::StrCat("example ", number));
      }
    }
    return absl::OkStatus();
  }

  void AwaitReads(int count) const {
    MutexLock lock(&mu_);
    while (reads_ < count) changed_.Wait(&mu_);
  }
  int reads() const {
    MutexLock lock(&mu_);
    return reads_;
  }

  std::atomic<int64_t> bad_number{-1};

 private:
  const ExampleOrder order_;
  mutable Mutex mu_;
  mutable CondVar changed_;
  mutable int reads_ ABSL_GUARDED_BY(mu_) = 0;
};

class BatchLoaderTest : public testing::Test {
 protected:
  BatchLoaderTest() : sampler_(MakeSampler(ExampleOrder::kShuffled)) {
    options_.dataset = &dataset_;
    options_.sampler = &sampler_;
    options_.worker_rank = 1;
    options_.end_iteration = 50;
  }

  static Sampler MakeSampler(ExampleOrder order) {
    SamplerOptions options;
    options.order = order;
    options.seed = 1;
    options.num_examples = kExamples;
    options.batch_size = 7;
    options.num_workers = 2;
    return Sampler::Create(options).value();
  }

  // Numbers and epoch of every batch, as text.
  std::vector<std::string> ReadAll() {
    BatchLoader loader(options_);
    std::vector<std::string> all;
    for (int64_t i = options_.first_iteration; i < options_.end_iteration;
         ++i) {
      const auto batch = loader.Next();
      if (!batch.ok()) {
        all.push_back(std::string(batch.status().message()));
        break;
      }
      all.push_back(absl::StrCat((*batch)->inputs[0], ":"));
      for (const int32_t number : (*batch)->labels) {
        absl::StrAppend(&all.back(), " ", number);
      }
      if ((*batch)->continues) all.back() += " continues";
    }
    return all;
  }

  CountingDataset dataset_;
  Sampler sampler_;
  BatchLoaderOptions options_;
};

TEST_F(BatchLoaderTest, WithoutThreadsEveryBatchIsWhatTheSamplerSays) {
  options_.num_threads = 0;
  BatchLoader loader(options_);
  for (int64_t i = 0; i < 50; ++i) {
    EXPECT_EQ(dataset_.reads(), i);
    const auto batch = loader.Next();
    ASSERT_TRUE(batch.ok());
    const auto numbers = sampler_.Numbers(i, 1);
    EXPECT_EQ((*batch)->labels,
              std::vector<int32_t>(numbers.begin(), numbers.end()));
    EXPECT_EQ((*batch)->inputs[0], i / sampler_.iterations_per_epoch());
  }
}

TEST_F(BatchLoaderTest, TheNumberOfThreadsAndBatchesAheadDoesNotShow) {
  for (const ExampleOrder order :
       {ExampleOrder::kShuffled, ExampleOrder::kSequential}) {
    sampler_ = MakeSampler(order);
    options_.num_threads = 0;
    const std::vector<std::string> expected = ReadAll();
    for (const int num_threads : {1, 2, 5}) {
      for (const int prefetch_batches : {1, 2, 7}) {
        options_.num_threads = num_threads;
        options_.prefetch_batches = prefetch_batches;
        EXPECT_EQ(ReadAll(), expected) << num_threads << " threads";
      }
    }
  }
}

TEST_F(BatchLoaderTest, ALaterStartReadsTheSameFromThereOn) {
  std::vector<std::string> expected = ReadAll();
  expected.erase(expected.begin(), expected.begin() + 13);
  options_.first_iteration = 13;
  EXPECT_EQ(ReadAll(), expected);
}

TEST_F(BatchLoaderTest, ReadsAheadWhatItIsToldAndNoFurther) {
  options_.prefetch_batches = 3;
  BatchLoader loader(options_);
  ASSERT_TRUE(loader.Next().ok());
  // The caller has one batch and three are ready; the fifth needs a free
  // buffer.
  dataset_.AwaitReads(4);
  EXPECT_EQ(dataset_.reads(), 4);
  ASSERT_TRUE(loader.Next().ok());
  dataset_.AwaitReads(5);
  EXPECT_LE(dataset_.reads(), 5);
}

TEST_F(BatchLoaderTest, TheCallersBatchStaysWhileOthersAreRead) {
  options_.num_threads = 2;
  BatchLoader loader(options_);
  auto batch = loader.Next();
  ASSERT_TRUE(batch.ok());
  const std::vector<int32_t> labels = (*batch)->labels;
  (*batch)->random_key = 5;
  dataset_.AwaitReads(3);
  EXPECT_EQ((*batch)->labels, labels);
  EXPECT_EQ((*batch)->random_key, 5u);
}

TEST_F(BatchLoaderTest, BuffersAreUsedAgain) {
  options_.prefetch_batches = 2;
  BatchLoader loader(options_);
  std::set<const void*> buffers;
  for (int i = 0; i < 50; ++i) {
    const auto batch = loader.Next();
    ASSERT_TRUE(batch.ok());
    buffers.insert((*batch)->labels.data());
  }
  EXPECT_EQ(buffers.size(), 3);
}

TEST_F(BatchLoaderTest, AnErrorComesInItsPlaceAndStays) {
  // The first example of iteration 5.
  dataset_.bad_number = sampler_.Numbers(5, 1)[0];
  for (const int num_threads : {0, 1, 4}) {
    options_.num_threads = num_threads;
    options_.prefetch_batches = 4;
    BatchLoader loader(options_);
    for (int i = 0; i < 5; ++i) ASSERT_TRUE(loader.Next().ok()) << i;
    for (int i = 0; i < 3; ++i) {
      const absl::Status status = loader.Next().status();
      EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
      EXPECT_EQ(status.message(),
                absl::StrCat("example ", dataset_.bad_number.load()));
    }
  }
}

TEST_F(BatchLoaderTest, MayBeDroppedAtAnyTime) {
  options_.num_threads = 3;
  for (int taken = 0; taken < 10; ++taken) {
    BatchLoader loader(options_);
    for (int i = 0; i < taken; ++i) ASSERT_TRUE(loader.Next().ok());
  }
  options_.end_iteration = 0;
  BatchLoader nothing_to_read(options_);
}

}  // namespace
}  // namespace ps
