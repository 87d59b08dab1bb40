// Which faults of a worker servers find by the norms of its pushes, and what is
// left of their harm: a quadratic bowl, four workers with noise, one of them
// faulty.
#include <cmath>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/random.h"
#include "compressors/payload/payload.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/slices/slice_state.h"
#include "tests/server/slice_calls.h"

namespace ps {
namespace {

using ::testing::HasSubstr;

using Values = std::vector<float>;

constexpr int kWorkers = 4;
constexpr int kFaulty = 2;
constexpr size_t kElements = 200;
constexpr int kUpdates = 100;

// In [-1, 1).
float Draw(uint64_t key, size_t i) {
  return static_cast<float>(RandomKey(key, i) >> 40) / (1 << 23) - 1;
}

// Changes the faulty worker's gradients; `all` are its true ones so far.
using Fault = std::function<Values(const std::vector<Values>& all)>;

Values Sound(const std::vector<Values>& all) { return all.back(); }

Values Times(const Values& gradient, float factor) {
  Values changed = gradient;
  for (float& value : changed) value *= factor;
  return changed;
}

Values SignFlipped(const std::vector<Values>& all) {
  return Times(all.back(), -1);
}

Values Hundredfold(const std::vector<Values>& all) {
  return Times(all.back(), 100);
}

// All that servers do not refuse: finite.
Values RandomBits(const std::vector<Values>& all) {
  Values values(kElements);
  for (size_t i = 0; i < kElements; ++i) {
    const auto bits = static_cast<uint32_t>(RandomKey(all.size(), i));
    std::memcpy(&values[i], &bits, sizeof bits);
    if (!std::isfinite(values[i])) values[i] = 0;
  }
  return values;
}

Values Stale(const std::vector<Values>& all) {
  return all[all.size() < 15 ? 0 : all.size() - 15];
}

struct Result {
  // From the minimum, relative to the initial weights'; infinity if the
  // training has failed.
  double distance = 0;
  int num_unusual = 0;  // Pushes.
};

Result Train(PushNormsConfig::Action action, const Fault& fault,
             bool sparse = false) {
  JobConfig config;
  config.mutable_cluster()->set_num_workers(kWorkers);
  config.mutable_optimizer()->set_name("sgd");
  config.mutable_optimizer()->set_learning_rate(0.1);
  config.mutable_downlink()->set_mode(DownlinkConfig::WEIGHTS);
  config.mutable_consistency()->mutable_push_norms()->set_action(action);
  const SliceOptions options = OptionsOf(config, kElements);
  const PayloadBuffer first = EncodeDense(Values(kElements, 1.0f));
  auto state = SliceState::Create(options, {first.span()});
  EXPECT_TRUE(state.ok()) << state.status();
  std::vector<std::vector<Values>> gradients(kWorkers);
  Values weights(kElements, 1.0f);
  Result result;
  for (int t = 0; t < kUpdates; ++t) {
    UpdateRecord record;
    for (int rank = 0; rank < kWorkers; ++rank) {
      Values gradient = weights;  // The minimum is at 0.
      for (size_t i = 0; i < kElements; ++i) {
        gradient[i] += 0.1f * Draw(RandomKey(3, rank, t), i);
      }
      gradients[rank].push_back(gradient);
      if (rank == kFaulty) gradient = fault(gradients[rank]);
      if (sparse) {
        std::vector<uint32_t> indices;
        Values values;
        for (size_t i = t % 2; i < kElements; i += 2) {
          indices.push_back(static_cast<uint32_t>(i));
          values.push_back(gradient[i]);
        }
        record.pushes.push_back(
            SparsePushOf(rank, t, kElements, indices, values));
      } else {
        record.pushes.push_back(PushOf(rank, t, gradient));
      }
    }
    if (!(*state)->Apply(record).ok()) return {HUGE_VAL, result.num_unusual};
    for (const std::string& line : (*state)->unusual()) {
      // If the fault is not stopped, it makes everybody's gradients long.
      if (action != PushNormsConfig::FLAG) {
        EXPECT_THAT(line, HasSubstr("worker 2, iteration "));
      }
      ++result.num_unusual;
    }
    weights = WeightsOf((*state)->AnswerWithAll());
  }
  double sum = 0;
  for (const float weight : weights) sum += double{weight} * weight;
  result.distance = std::sqrt(sum / kElements);
  return result;
}

struct FaultCase {
  const char* name;
  Fault fault;
  bool found;
};

TEST(PushNorms, FindTheFaultsThatMakePushesLong) {
  const FaultCase cases[] = {{"none", Sound, false},
                             {"sign flipped", SignFlipped, false},
                             {"a hundredfold", Hundredfold, true},
                             {"random bits", RandomBits, true},
                             {"15 iterations old", Stale, false}};
  for (const bool sparse : {false, true}) {
    const double sound = Train(PushNormsConfig::ACCEPT, Sound, sparse).distance;
    for (const FaultCase& each : cases) {
      SCOPED_TRACE(each.name);
      const Result accepted =
          Train(PushNormsConfig::ACCEPT, each.fault, sparse);
      EXPECT_EQ(accepted.num_unusual, 0);
      const Result flagged = Train(PushNormsConfig::FLAG, each.fault, sparse);
      const Result capped = Train(PushNormsConfig::CAP, each.fault, sparse);
      const Result without =
          Train(PushNormsConfig::LEAVE_OUT, each.fault, sparse);
      EXPECT_EQ(flagged.distance, accepted.distance);
      if (!each.found) {
        EXPECT_EQ(flagged.num_unusual, 0);
        EXPECT_EQ(capped.distance, accepted.distance);
        EXPECT_EQ(without.distance, accepted.distance);
        continue;
      }
      EXPECT_GT(accepted.distance, 1);
      EXPECT_GT(flagged.num_unusual, 0);
      EXPECT_EQ(without.num_unusual, kUpdates);
      EXPECT_LT(without.distance, 2 * sound);
      // Less harm, but not none.
      EXPECT_LT(capped.distance, 0.5);
    }
  }
}

}  // namespace
}  // namespace ps
