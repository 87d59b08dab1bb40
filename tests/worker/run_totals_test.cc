#include "worker/records/run_totals.h"

#include <string>
#include <utility>

#include "compressors/state_io.h"
#include "gtest/gtest.h"

namespace ps {
namespace {

MadePush Outcome(int i) {
  MadePush outcome;
  outcome.stats.sent_elements = 10 * i;
  outcome.stats.bytes_up = 100 * i;
  outcome.stats.bytes_down = 7 * i;
  outcome.stats.dropped = i;
  outcome.stats.compressed_share = 0.5 / i;
  outcome.seconds = 0.1 * i;
  outcome.num_iterations = i;
  outcome.num_samples = 3 * i;
  outcome.iterations_done = 5 * i;
  return outcome;
}

// Counters that go on from saved totals end with the same ones, bit for bit.
TEST(RunTotals, GoOnFromTheirSavedState) {
  RunTotalsCounter first(3, 1000);
  first.AddPush(Outcome(1));
  first.AddPush(Outcome(2));
  StateWriter writer("totals");
  first.Save(&writer);
  const std::string state = std::move(writer).Finish();
  RunTotalsCounter second(3, 1000);
  StateReader reader = StateReader::Open("totals", state).value();
  ASSERT_TRUE(second.Load(&reader).ok());
  ASSERT_TRUE(reader.Finish().ok());
  first.AddPush(Outcome(3));
  second.AddPush(Outcome(3));
  EXPECT_EQ(second.num_pushes(), 3);
  const auto bytes = [](const RunTotalsCounter& counter) {
    StateWriter all("totals");
    counter.Save(&all);
    return std::move(all).Finish();
  };
  EXPECT_EQ(bytes(second), bytes(first));
  EXPECT_EQ(second.totals().compressed_share, first.totals().compressed_share);
}

}  // namespace
}  // namespace ps
