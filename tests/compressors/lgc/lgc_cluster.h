// Compressor "lgc" in all workers with its part at the servers, without a
// network.
#ifndef TESTS_COMPRESSORS_LGC_LGC_CLUSTER_H_
#define TESTS_COMPRESSORS_LGC_LGC_CLUSTER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "common/random.h"
#include "compressors/compressor.h"
#include "compressors/lgc/message.h"
#include "compressors/lgc/slice_coder.h"
#include "compressors/payload/payload.h"
#include "compressors/payload/shared_positions.h"
#include "compressors/state_io.h"
#include "glog/logging.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "tests/compressors/harness.h"

namespace ps {

constexpr int64_t kFirst = 200;    // The first tensor, which is sent whole;
constexpr int64_t kMiddle = 4096;  // a matrix, 1 in 10 of it, in 410 chunks;
constexpr int64_t kBias = 30;
constexpr int64_t kLast = 1100;  // the last tensor, 110 of it.
constexpr int64_t kSize = kFirst + kMiddle + kBias + kLast;
constexpr int64_t kCoded = 410;
constexpr uint64_t kSeed = 3;

inline CompressorConfig TestedLgc() {
  CompressorConfig config;
  CHECK(google::protobuf::TextFormat::ParseFromString(
      "name: 'lgc' ratio: 0.1 lgc { train_iterations: 60 retry_every: 40 "
      "check_every: 10 gate_error: 0.9 gate_gain: 0.95 check_error: 0.95 }",
      &config));
  return config;
}

// An autoencoder that is used after few iterations.
inline CompressorConfig EarlyLgc() {
  CompressorConfig config = TestedLgc();
  config.mutable_lgc()->set_train_iterations(10);
  config.mutable_lgc()->set_retry_every(15);
  config.mutable_lgc()->set_gate_error(100);
  config.mutable_lgc()->set_gate_gain(100);
  config.mutable_lgc()->set_check_error(100);
  return config;
}

struct LgcIteration {
  std::vector<uint32_t> indices;
  std::vector<std::vector<float>> decoded;  // By worker.
  std::vector<int64_t> bytes;               // Of what each pushes.
  int64_t bytes_down = 0;  // Of the positions with their remarks.
  bool coded = false;
};

class LgcCluster {
 public:
  LgcCluster(const CompressorConfig& config, int num_workers)
      : config_(config) {
    SliceCoderOptions options;
    options.config = config;
    options.num_elements = kSize;
    options.num_workers = num_workers;
    options.seed = kSeed;
    coder_options_ = options;
    coder_ = NewLgcSliceCoder(options);
    positions_.resize(num_workers);
    for (int rank = 0; rank < num_workers; ++rank) {
      workers_.push_back(NewWorker(rank));
    }
  }

  int num_workers() const { return static_cast<int>(workers_.size()); }
  Harness& worker(int rank) { return *workers_[rank]; }
  SliceCoder& coder() { return *coder_; }

  double scale_of_last = 0.001;  // Of the last worker's gradients.

  // Small ones, of which the workers have the larger part in common.
  std::vector<float> Gradient(int rank) const {
    RandomStream shared(RandomKey(uint64_t{5}, static_cast<uint64_t>(t_)));
    RandomStream own(RandomKey(uint64_t{6}, static_cast<uint64_t>(t_),
                               static_cast<uint64_t>(rank)));
    std::vector<float> gradient(kSize);
    const double scale = rank == num_workers() - 1 ? scale_of_last : 0.001;
    for (float& value : gradient) {
      value = static_cast<float>(scale *
                                 (0.8 * shared.Normal() + 0.6 * own.Normal()));
    }
    return gradient;
  }

  LgcIteration Iterate() {
    const int leader = LeaderOf(t_, num_workers());
    positions_[leader] = SharedPositions();
    const PayloadBuffer of_leader =
        workers_[leader]->Compress(Gradient(leader)).parts[0];
    const PayloadBuffer shared = PositionsOf({of_leader.span()}).value();
    LgcIteration sent;
    sent.indices = ReadPositions({shared.span()}, kSize).value();
    const std::string remark = ReadRemarks({shared.span()}).value().leader;
    sent.coded =
        !remark.empty() &&
        ReadLgcRemark(remark, static_cast<int64_t>(sent.indices.size()))->coded;
    sent.bytes.resize(num_workers());
    std::vector<PayloadBuffer> values(num_workers());
    std::vector<CompletedPayload> completed(num_workers());
    std::vector<CoderPush> pushes(num_workers());
    for (int rank = 0; rank < num_workers(); ++rank) {
      pushes[rank].rank = rank;
      if (rank == leader) {
        pushes[rank].pieces = {of_leader.span()};
        sent.bytes[rank] = static_cast<int64_t>(of_leader.size_bytes());
      } else {
        const PayloadBuffer told =
            WithServerRemarks(shared, coder_->RemarksFor(rank, t_));
        sent.bytes_down += static_cast<int64_t>(told.size_bytes());
        positions_[rank].given = true;
        positions_[rank].indices = ReadPositions({told.span()}, kSize).value();
        positions_[rank].remarks = {ReadRemarks({told.span()}).value()};
        values[rank] =
            WithoutPositions(workers_[rank]->Compress(Gradient(rank)).parts[0]);
        sent.bytes[rank] = static_cast<int64_t>(values[rank].size_bytes());
        completed[rank] = WithPositions({values[rank].span()}, shared).value();
        pushes[rank].pieces = completed[rank].pieces;
      }
      if (!CodedByCompressor(pushes[rank].pieces)) continue;
      const absl::StatusOr<int64_t> count = coder_->Check(
          pushes[rank].pieces, rank == leader ? nullptr : &remark);
      EXPECT_TRUE(count.ok()) << count.status();
    }
    const absl::Status applied = coder_->Apply(t_, absl::MakeSpan(pushes));
    EXPECT_TRUE(applied.ok()) << applied;
    for (const std::string& line : coder_->news()) {
      news_.push_back(absl::StrCat(t_, ": ", line));
    }
    for (const CoderPush& push : pushes) {
      EXPECT_TRUE(ValidatePayload(push.pieces, kSize).ok());
      std::vector<uint32_t> indices;
      std::vector<float> decoded;
      DecodePayload(push.pieces, &indices, &decoded);
      EXPECT_EQ(indices, sent.indices);
      sent.decoded.push_back(std::move(decoded));
    }
    ++t_;
    return sent;
  }

  // Ends all processes and starts them again from their saved states.
  void StartAgain() {
    StateWriter writer("test");
    coder_->Save(&writer);
    const std::string saved = std::move(writer).Finish();
    StateReader reader = StateReader::Open("test", saved).value();
    coder_ = NewLgcSliceCoder(coder_options_);
    CHECK(coder_->Load(&reader).ok());
    CHECK(reader.Finish().ok());
    for (int rank = 0; rank < num_workers(); ++rank) {
      const std::string state = workers_[rank]->compressor().SaveState();
      const std::vector<float> residual = workers_[rank]->residual();
      workers_[rank] = NewWorker(rank);
      CHECK(workers_[rank]->compressor().LoadState(state).ok());
      workers_[rank]->set_residual(residual);
    }
  }

  // Starts a worker that has nothing but its residual.
  void Forget(int rank) {
    const std::vector<float> residual = workers_[rank]->residual();
    workers_[rank] = NewWorker(rank);
    workers_[rank]->set_residual(residual);
  }

  // Goes on with other workers, new ones among them, in this iteration: the
  // others keep what they know.
  void ChangeWorkers(int num_workers, int64_t iteration) {
    StateWriter writer("test");
    coder_->Save(&writer);
    const std::string saved = std::move(writer).Finish();
    StateReader reader = StateReader::Open("test", saved).value();
    coder_options_.num_workers = num_workers;
    coder_ = NewLgcSliceCoder(coder_options_);
    CHECK(coder_->Load(&reader).ok());
    for (const std::string& line : coder_->news()) news_.push_back(line);
    std::vector<std::string> states;
    for (const auto& worker : workers_) {
      states.push_back(worker->compressor().SaveState());
    }
    positions_.resize(num_workers);
    workers_.clear();
    for (int rank = 0; rank < num_workers; ++rank) {
      workers_.push_back(NewWorker(rank));
      if (rank >= static_cast<int>(states.size())) continue;
      CHECK(workers_[rank]->compressor().LoadState(states[rank]).ok());
    }
    t_ = iteration;
  }

  int64_t iteration() const { return t_; }
  const std::vector<std::string>& news() const { return news_; }

 private:
  std::unique_ptr<Harness> NewWorker(int rank) {
    HarnessOptions options;
    options.config = config_;
    options.dense_size = kSize;
    options.tensors.resize(4);
    options.tensors[0].shape = {10, 20};
    options.tensors[0].first = true;
    options.tensors[1].begin = kFirst;
    options.tensors[1].shape = {64, 64};
    options.tensors[1].uses = 900;
    options.tensors[2].begin = kFirst + kMiddle;
    options.tensors[2].shape = {kBias};
    options.tensors[3].begin = kFirst + kMiddle + kBias;
    options.tensors[3].shape = {10, 110};
    options.tensors[3].last = true;
    options.worker_rank = rank;
    options.num_workers = static_cast<int>(positions_.size());
    options.shared_positions = &positions_[rank];
    return std::make_unique<Harness>(options);
  }

  const CompressorConfig config_;
  SliceCoderOptions coder_options_;
  std::unique_ptr<SliceCoder> coder_;
  std::vector<SharedPositions> positions_;
  std::vector<std::unique_ptr<Harness>> workers_;
  std::vector<std::string> news_;
  int64_t t_ = 0;
};

}  // namespace ps

#endif  // TESTS_COMPRESSORS_LGC_LGC_CLUSTER_H_
