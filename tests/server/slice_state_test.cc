// A slice's state as a function of its records, and saved and loaded between
// them.
#include "server/slices/slice_state.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/consistency.h"
#include "common/random.h"
#include "compressors/payload/payload.h"
#include "gtest/gtest.h"
#include "optimizers/optimizer.h"
#include "server/log/server_log.h"
#include "tests/optimizers/optimizer_harness.h"
#include "tests/server/slice_calls.h"
#include "tests/storage/memory_files.h"
#include "transport/push_samples.h"

namespace ps {
namespace {

constexpr int64_t kElements = 90;
constexpr int kWorkers = 3;
constexpr int kUpdates = 6;

struct Case {
  std::string name;
  JobConfig config;
  SliceOptions options;  // options.config points to a copy of config.
  bool sparse = false;
};

// Values in [-1, 1) that are a pure function of the arguments.
std::vector<float> Values(uint64_t key, size_t n) {
  std::vector<float> values(n);
  for (size_t i = 0; i < n; ++i) {
    values[i] = static_cast<float>(RandomKey(key, i) >> 40) / (1 << 23) - 1;
  }
  return values;
}

WorkerPush PushFor(const Case& test, int rank, int64_t iteration,
                   int64_t base_version) {
  const uint64_t key = RandomKey(77, rank, iteration);
  WorkerPush push;
  if (test.sparse) {
    std::vector<uint32_t> indices;
    for (uint32_t i = key % 7; i < kElements; i += 11) indices.push_back(i);
    push = SparsePushOf(rank, iteration, kElements, indices,
                        Values(key, indices.size()));
  } else {
    push = PushOf(rank, iteration, Values(key, kElements));
  }
  push.loss = static_cast<double>(key % 1000) / 7;
  push.base_version = base_version;
  // Every second update is a weighed mean, where the job allows it.
  if (iteration % 2 == 1 && test.options.rule != UpdateRule::kMean &&
      CheckPushSamples(*test.options.config, 1).ok()) {
    push.samples = 1 + static_cast<int64_t>(key % 5);
  }
  if (rank == 0) push.compress_next = iteration % 2 == 0;
  return push;
}

// The record of each mode for update `u` of a state that has made u updates. In
// timed jobs worker u % 3 is left out, and skips ahead in the next update.
UpdateRecord RecordFor(const Case& test, int64_t u) {
  UpdateRecord record;
  if (UpdatesByEachPush(*test.options.config)) {
    const int64_t base = std::max<int64_t>(0, u - u % 4);
    record.pushes.push_back(
        PushFor(test, static_cast<int>(u % kWorkers), u / kWorkers, base));
    return record;
  }
  for (int rank = 0; rank < kWorkers; ++rank) {
    if (MayLeaveOut(*test.options.config) && u % kWorkers == rank) continue;
    const bool skipped = MayLeaveOut(*test.options.config) && u > 0 &&
                         (u - 1) % kWorkers == rank;
    record.pushes.push_back(PushFor(test, rank, u, skipped ? u - 1 : u));
  }
  return record;
}

void AppendTo(std::string* text, const WeightAnswer& answer) {
  absl::StrAppend(
      text, answer.version, " ", answer.mean_loss, " ", answer.sent_elements,
      " ", answer.bytes_up, " ", answer.weights.difference,
      answer.weights.covers_pushes, answer.dropped, " ", answer.staleness, " ",
      answer.compress_next.value_or(false), " ", Bytes(answer), "\n");
}

// Applies update u, answering each request for totals with the slice's own
// squares, and appends the totals to the record. Returns everything that can be
// seen of the state afterwards, except for Save.
std::string Apply(UpdateRecord* record, SliceState* state) {
  for (;;) {
    const auto squares = state->Apply(*record);
    EXPECT_TRUE(squares.ok()) << squares.status();
    if (!squares.ok() || squares->empty()) break;
    SquaresTotals totals;
    double sum = 0;
    for (const Squares& each : *squares) sum += each.gradient;
    totals.tensors = *squares;
    totals.norm = std::sqrt(sum);
    record->totals.push_back(totals);
  }
  std::string seen;
  for (const WorkerPush& push : record->pushes) {
    const auto answer = state->Answer(push.rank, push.base_version);
    EXPECT_TRUE(answer.ok()) << answer.status();
    if (answer.ok()) AppendTo(&seen, *answer);
  }
  AppendTo(&seen, state->AnswerWithAll());
  absl::StrAppend(&seen, state->Digest());
  return seen;
}

// The payload with which the slice begins.
PayloadBuffer FirstOf(const Case& test) {
  return test.options.rule == UpdateRule::kExchange
             ? EncodeSparse("auto", {}, {}, 0, kElements).value()
             : EncodeDense(Values(5, kElements));
}

std::unique_ptr<SliceState> NewState(const Case& test) {
  const PayloadBuffer first = FirstOf(test);
  auto state = SliceState::Create(test.options, {first.span()});
  EXPECT_TRUE(state.ok()) << state.status();
  return *std::move(state);
}

DownlinkConfig Downlink(DownlinkConfig::Mode mode,
                        const std::string& value_code,
                        const std::string& compressor,
                        const std::string& compressor_value_code) {
  DownlinkConfig downlink;
  downlink.set_mode(mode);
  downlink.set_value_code(value_code);
  downlink.mutable_compressor()->set_name(compressor);
  downlink.mutable_compressor()->set_ratio(0.2);
  downlink.mutable_compressor()->set_value_code(compressor_value_code);
  return downlink;
}

std::vector<DownlinkConfig> Downlinks() {
  return {Downlink(DownlinkConfig::WEIGHTS, "fp32", "none", "fp32"),
          Downlink(DownlinkConfig::WEIGHTS, "bf16", "none", "fp32"),
          Downlink(DownlinkConfig::UPDATE, "fp32", "none", "fp32"),
          Downlink(DownlinkConfig::UPDATE, "fp16", "none", "fp32"),
          Downlink(DownlinkConfig::UPDATE, "fp32", "none", "qsgd"),
          Downlink(DownlinkConfig::COMPRESSED, "fp32", "topk", "fp32"),
          Downlink(DownlinkConfig::COMPRESSED, "fp32", "randomk", "qsgdinf"),
          Downlink(DownlinkConfig::COMPRESSED, "fp32", "sidco_e", "fp32")};
}

std::vector<DownlinkConfig> Means() {
  return {Downlink(DownlinkConfig::MEAN, "fp32", "none", "fp32"),
          Downlink(DownlinkConfig::MEAN, "bf16", "none", "fp32"),
          Downlink(DownlinkConfig::MEAN, "fp32", "none", "qsgd"),
          Downlink(DownlinkConfig::MEAN, "fp32", "randomk", "qsgdinf"),
          Downlink(DownlinkConfig::MEAN, "fp32", "sidco_e", "fp32")};
}

// Every rule and downlink in every mode that allows it, statistics, and means.
std::vector<std::unique_ptr<Case>> Cases() {
  std::vector<ConsistencyConfig> modes(7);
  modes[1].set_step_timeout_seconds(60);
  modes[1].set_min_workers(1);
  modes[2].set_mode(ConsistencyConfig::STALE_SYNCHRONOUS);
  modes[3].set_mode(ConsistencyConfig::ASYNCHRONOUS);
  modes[6].set_mode(ConsistencyConfig::ASYNCHRONOUS);
  // So low that some pushes are unusual.
  for (int i = 4; i < 7; ++i) modes[i].mutable_push_norms()->set_factor(1.02);
  modes[4].mutable_push_norms()->set_action(PushNormsConfig::CAP);
  modes[5].mutable_push_norms()->set_action(PushNormsConfig::LEAVE_OUT);
  modes[6].mutable_push_norms()->set_action(PushNormsConfig::LEAVE_OUT);
  std::vector<std::unique_ptr<Case>> cases;
  for (const ConsistencyConfig& mode : modes) {
    for (const DownlinkConfig& downlink : Downlinks()) {
      for (const OptimizerConfig& rule : RuleVariants()) {
        for (const bool statistics : {false, true}) {
          for (const bool sparse : {false, true}) {
            auto test = std::make_unique<Case>();
            test->config.mutable_cluster()->set_num_workers(kWorkers);
            *test->config.mutable_consistency() = mode;
            *test->config.mutable_downlink() = downlink;
            *test->config.mutable_optimizer() = rule;
            test->config.mutable_optimizer()->set_learning_rate(0.1);
            if (UpdatesByEachPush(test->config) &&
                (SendsDifferences(downlink) || NeedsNorms(rule))) {
              continue;
            }
            // What does not depend on the rule is tested with one.
            if (statistics && (sparse || cases.size() % 5 != 0)) continue;
            test->sparse = sparse;
            test->options = OptionsOf(test->config, kElements);
            test->options.rule =
                statistics ? UpdateRule::kMean : UpdateRule::kOptimizer;
            test->options.stretches = {{0, 0, 50, /*adapt=*/true, /*rate=*/1},
                                       {1, 50, 60, /*adapt=*/false, 0.5},
                                       {2, 60, 90, /*adapt=*/true, 0.5}};
            test->name = absl::StrCat(
                TextOf(rule), "; ", downlink.ShortDebugString(), "; ",
                mode.ShortDebugString(), statistics ? "; statistics" : "",
                sparse ? "; sparse" : "");
            cases.push_back(std::move(test));
          }
        }
      }
    }
    if (WorkersDrift(cases.back()->config)) continue;
    for (const DownlinkConfig& downlink : Means()) {
      for (const bool sparse : {false, true}) {
        auto test = std::make_unique<Case>();
        test->config.mutable_cluster()->set_num_workers(kWorkers);
        *test->config.mutable_consistency() = mode;
        *test->config.mutable_downlink() = downlink;
        test->sparse = sparse;
        test->options = OptionsOf(test->config, kElements);
        test->options.rule = UpdateRule::kExchange;
        test->name =
            absl::StrCat(downlink.ShortDebugString(), "; ",
                         mode.ShortDebugString(), sparse ? "; sparse" : "");
        cases.push_back(std::move(test));
      }
    }
  }
  return cases;
}

TEST(SliceState, LoadedStateGoesOnBitForBit) {
  const auto cases = Cases();
  EXPECT_GT(cases.size(), 300u);
  for (const auto& test : cases) {
    SCOPED_TRACE(test->name);
    const auto state = NewState(*test);
    for (int64_t u = 0; u < kUpdates; ++u) {
      UpdateRecord record = RecordFor(*test, u);
      Apply(&record, state.get());
    }
    const std::string saved = state->Save();
    const auto loaded = SliceState::Load(test->options, saved);
    ASSERT_TRUE(loaded.ok()) << loaded.status();
    EXPECT_EQ((*loaded)->Save(), saved);
    EXPECT_EQ((*loaded)->first_digest(), state->first_digest());
    EXPECT_EQ((*loaded)->progress().counted, state->progress().counted);
    // Repeats of the last pushes get the same answers.
    UpdateRecord last = RecordFor(*test, kUpdates - 1);
    for (const WorkerPush& push : last.pushes) {
      std::string stored, restored;
      AppendTo(&stored, *state->Answer(push.rank, push.base_version));
      AppendTo(&restored, *(*loaded)->Answer(push.rank, push.base_version));
      EXPECT_EQ(restored, stored);
    }
    for (int64_t u = kUpdates; u < 2 * kUpdates; ++u) {
      UpdateRecord record = RecordFor(*test, u);
      UpdateRecord same = record;
      ASSERT_EQ(Apply(&same, loaded->get()), Apply(&record, state.get())) << u;
    }
    EXPECT_EQ((*loaded)->Save(), state->Save());
    if (HasFailure()) return;
  }
}

// A record that has its totals is applied in one call.
TEST(SliceState, ReplayedRecordsGiveTheSameBits) {
  for (const auto& test : Cases()) {
    SCOPED_TRACE(test->name);
    const auto state = NewState(*test);
    const auto replayed = NewState(*test);
    for (int64_t u = 0; u < kUpdates; ++u) {
      UpdateRecord record = RecordFor(*test, u);
      const std::string seen = Apply(&record, state.get());
      const size_t num_totals = record.totals.size();
      ASSERT_EQ(Apply(&record, replayed.get()), seen) << u;
      EXPECT_EQ(record.totals.size(), num_totals);
    }
    EXPECT_EQ(replayed->Save(), state->Save());
    if (HasFailure()) return;
  }
}

// A slice that reads what a server has written down of it is as it was.
TEST(SliceState, ALoggedSliceComesBack) {
  for (const auto& test : Cases()) {
    SCOPED_TRACE(test->name);
    test->options.name = "slice-0-0";
    MemoryFiles files;
    const auto log = ServerLog::Open({&files, "log", /*max_bytes=*/1 << 30});
    ASSERT_TRUE(log.ok()) << log.status();
    ASSERT_TRUE((*log)->Begin(0, 1, {}).ok());
    const PayloadBuffer first = FirstOf(*test);
    ASSERT_TRUE((*log)->AppendInitialWeights("slice-0-0", {first.span()}).ok());
    const auto state = NewState(*test);
    std::string saved;
    for (int64_t u = 0; u < kUpdates; ++u) {
      UpdateRecord record = RecordFor(*test, u);
      Apply(&record, state.get());
      for (size_t stage = 0; stage < record.totals.size(); ++stage) {
        ASSERT_TRUE((*log)
                        ->AppendNorms({u, static_cast<int>(stage)},
                                      record.totals[stage].tensors)
                        .ok());
      }
      ASSERT_TRUE((*log)->AppendUpdate("slice-0-0", u, record).ok());
      if (u + 1 < kUpdates / 2) continue;
      // From the initial weights, and from a snapshot in the middle.
      if (saved.empty()) {
        saved = state->Save();
        ASSERT_TRUE((*log)->Begin(u + 1, 1, {}).ok());
      }
      for (const bool from_snapshot : {false, true}) {
        const auto opened = ServerLog::Open({&files, "log", 1 << 30});
        // The log may begin before the snapshot.
        auto logged =
            (*opened)->Read(from_snapshot && u % 2 == 0 ? kUpdates / 2 : 0);
        ASSERT_TRUE(logged.ok()) << logged.status();
        WeightSlice slice(test->options);
        absl::Status loaded = absl::UnknownError("no answer");
        slice.Load(from_snapshot ? saved : "",
                   std::make_shared<SliceHistory>(
                       std::move(logged->slices["slice-0-0"])),
                   [&](const absl::Status& status) { loaded = status; });
        ASSERT_TRUE(loaded.ok()) << loaded;
        EXPECT_EQ(slice.version(), u + 1);
        // What a worker has been told of is not written down; where each push
        // is an update, it is part of the state.
        if (UpdatesByEachPush(*test->options.config)) continue;
        slice.Save([&](const absl::StatusOr<std::string>& again) {
          ASSERT_TRUE(again.ok()) << again.status();
          EXPECT_TRUE(*again == state->Save());
        });
      }
    }
    if (HasFailure()) return;
  }
}

class SavedSliceTest : public ::testing::Test {
 protected:
  SavedSliceTest() {
    test_.config.mutable_cluster()->set_num_workers(kWorkers);
    test_.config.mutable_consistency()->set_mode(
        ConsistencyConfig::ASYNCHRONOUS);
    test_.config.mutable_downlink()->set_mode(DownlinkConfig::UPDATE);
    test_.sparse = true;
    test_.options = OptionsOf(test_.config, kElements);
    const auto state = NewState(test_);
    UpdateRecord record = RecordFor(test_, 0);
    Apply(&record, state.get());
    saved_ = state->Save();
  }

  bool Refused(const std::string& bytes, const SliceOptions& options) {
    return absl::IsDataLoss(SliceState::Load(options, bytes).status());
  }

  Case test_;
  std::string saved_;
};

TEST_F(SavedSliceTest, CutAtAnyLengthIsRefused) {
  for (size_t length = 0; length < saved_.size(); ++length) {
    EXPECT_TRUE(Refused(saved_.substr(0, length), test_.options)) << length;
  }
}

TEST_F(SavedSliceTest, WithAnyByteChangedIsRefused) {
  for (size_t i = 0; i < saved_.size(); ++i) {
    std::string damaged = saved_;
    damaged[i] ^= 0x10;
    EXPECT_TRUE(Refused(damaged, test_.options)) << i;
  }
}

TEST_F(SavedSliceTest, OfAnotherSliceOrJobIsRefused) {
  SliceOptions shorter = test_.options;
  shorter.num_elements = kElements - 1;
  EXPECT_TRUE(Refused(saved_, shorter));
  JobConfig other = test_.config;
  other.mutable_optimizer()->set_name("adam");
  SliceOptions adam = test_.options;
  adam.config = &other;
  EXPECT_TRUE(Refused(saved_, adam));
  JobConfig larger = test_.config;
  larger.mutable_cluster()->set_num_workers(kWorkers + 1);
  SliceOptions more = test_.options;
  more.config = &larger;
  EXPECT_TRUE(Refused(saved_, more));
}

}  // namespace
}  // namespace ps
