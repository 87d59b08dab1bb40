// Compares with times computed by hand.
#include "tools/advise/exchange_model.h"

#include "gtest/gtest.h"

namespace ps {
namespace {

ExchangeModelOptions EqualShares() {
  ExchangeModelOptions options;
  options.unevenness = 0;
  options.draws = 1;
  return options;
}

double Seconds(const Exchange& exchange) {
  return PredictIterationSeconds(exchange, EqualShares());
}

ExchangeSlice Slice(int server, int connection, double up_bytes,
                    double down_bytes) {
  ExchangeSlice slice;
  slice.server = server;
  slice.connection = connection;
  slice.up_bytes = up_bytes;
  slice.down_bytes = down_bytes;
  return slice;
}

// Every link carries 100 bytes a second each way.
Exchange Hosts(int workers, int servers) {
  HostLink link;
  link.up_bytes_per_second = link.down_bytes_per_second = 100;
  Exchange exchange;
  exchange.workers.assign(workers, link);
  exchange.servers.assign(servers, link);
  return exchange;
}

TEST(ExchangeModel, WithoutSlicesTakesNoTime) {
  EXPECT_EQ(Seconds(Hosts(2, 1)), 0);
  EXPECT_EQ(BusiestUp(Hosts(2, 1)).seconds, 0);
}

TEST(ExchangeModel, OneSliceGoesUpAndThenDown) {
  Exchange exchange = Hosts(1, 1);
  exchange.slices = {Slice(0, 0, 300, 200)};
  EXPECT_DOUBLE_EQ(Seconds(exchange), 3 + 2);
  EXPECT_DOUBLE_EQ(BusiestUp(exchange).seconds, 3);
  EXPECT_DOUBLE_EQ(BusiestDown(exchange).seconds, 2);
}

TEST(ExchangeModel, WorkersShareTheLinkOfAServer) {
  Exchange exchange = Hosts(4, 1);
  exchange.slices = {Slice(0, 0, 100, 50)};
  EXPECT_DOUBLE_EQ(Seconds(exchange), 4 + 2);
  EXPECT_DOUBLE_EQ(BusiestUp(exchange).seconds, 4);
  EXPECT_DOUBLE_EQ(BusiestDown(exchange).seconds, 2);
}

TEST(ExchangeModel, ServersShareTheLinkOfAWorker) {
  Exchange exchange = Hosts(1, 4);
  for (int i = 0; i < 4; ++i) exchange.slices.push_back(Slice(i, 0, 100, 100));
  EXPECT_DOUBLE_EQ(Seconds(exchange), 4 + 4);
}

TEST(ExchangeModel, AnswersComeWhileLaterPushesOfTheConnectionGoUp) {
  Exchange exchange = Hosts(1, 1);
  for (int i = 0; i < 5; ++i) exchange.slices.push_back(Slice(0, 0, 100, 100));
  // The last answer follows the last push by one slice.
  EXPECT_NEAR(Seconds(exchange), 6, 1e-9);
}

TEST(ExchangeModel, ConnectionsWithEqualSharesFinishTogether) {
  Exchange exchange = Hosts(1, 1);
  for (int i = 0; i < 5; ++i) exchange.slices.push_back(Slice(0, i, 100, 100));
  EXPECT_NEAR(Seconds(exchange), 10, 1e-9);
  // With unequal shares the first answer leaves before the last push arrives.
  const double uneven = PredictIterationSeconds(exchange);
  EXPECT_LT(uneven, 9.9);
  EXPECT_GT(uneven, 6);
  EXPECT_EQ(uneven, PredictIterationSeconds(exchange)) << "not deterministic";
}

TEST(ExchangeModel, ASliceWaitsForTheSlowestWorker) {
  Exchange exchange = Hosts(2, 1);
  exchange.workers[1].up_bytes_per_second = 10;
  exchange.slices = {Slice(0, 0, 100, 50)};
  EXPECT_NEAR(Seconds(exchange), 10 + 1, 1e-9);
}

TEST(ExchangeModel, ASlowReceiverLeavesItsShareToOthers) {
  Exchange exchange = Hosts(2, 1);
  exchange.workers[1].down_bytes_per_second = 20;
  exchange.slices = {Slice(0, 0, 50, 100)};
  // Worker 1 gets 20 of the server's 100 bytes a second. Meanwhile worker 0 has
  // its answer and pushes again, so that worker 1's push has the link alone.
  EXPECT_NEAR(Seconds(exchange), 5 + 0.5, 1e-9);
}

TEST(ExchangeModel, AWorkerWorksWhileOthersReceive) {
  Exchange exchange = Hosts(2, 1);
  exchange.workers[1].down_bytes_per_second = 20;
  exchange.slices = {Slice(0, 0, 50, 100)};
  exchange.work_seconds = 3;
  // 1.25 s of the answer and 3 s of work are over before worker 1 has its
  // answer; then only its own work and push count.
  EXPECT_NEAR(Seconds(exchange), 5 + 3 + 0.5, 1e-9);
  exchange.workers[1].down_bytes_per_second = 100;
  EXPECT_NEAR(Seconds(exchange), 1 + 3 + 2, 1e-9);
}

TEST(ExchangeModel, WorkersShareProcessors) {
  Exchange exchange = Hosts(2, 1);
  exchange.slices = {Slice(0, 0, 50, 100)};
  exchange.work_seconds = 3;
  exchange.work_places = 1;
  EXPECT_NEAR(Seconds(exchange), 1 + 6 + 2, 1e-9);
  // Worker 0 has finished before worker 1 begins to work.
  exchange.workers[1].down_bytes_per_second = 20;
  EXPECT_NEAR(Seconds(exchange), 5 + 3 + 0.5, 1e-9);
}

TEST(ExchangeModel, AServerWorksOnASliceBeforeItAnswers) {
  Exchange exchange = Hosts(2, 1);
  exchange.slices = {Slice(0, 0, 50, 100), Slice(0, 1, 50, 100)};
  for (ExchangeSlice& slice : exchange.slices) slice.server_seconds = 3;
  exchange.server_threads = 2;
  EXPECT_NEAR(Seconds(exchange), 2 + 3 + 4, 1e-9);
  EXPECT_EQ(BusiestServerSeconds(exchange), 3);
  // Two threads on one processor take twice as long.
  exchange.processors = 1;
  EXPECT_NEAR(Seconds(exchange), 2 + 6 + 4, 1e-9);
  EXPECT_EQ(BusiestServerSeconds(exchange), 6);
  // One thread takes one slice after the other, and answers the first sooner.
  exchange.server_threads = 1;
  EXPECT_NEAR(Seconds(exchange), 2 + 6 + 2, 1e-9);
}

TEST(ExchangeModel, MessagesTakeProcessorsOfBothHosts) {
  Exchange exchange = Hosts(2, 1);
  exchange.slices = {Slice(0, 0, 50, 100)};
  exchange.processors = 1;
  // The server's processor copies 50 bytes a second, each worker's as much.
  exchange.seconds_per_byte = 0.02;
  EXPECT_NEAR(Seconds(exchange), 2 + 4, 1e-9);
  EXPECT_NEAR(BusiestServerSeconds(exchange), 6, 1e-9);
  // On one machine both ends take it.
  exchange.one_machine = true;
  EXPECT_NEAR(Seconds(exchange), 4 + 8, 1e-9);
  exchange.processors = 1e9;
  EXPECT_NEAR(Seconds(exchange), 1 + 2, 1e-9);
}

TEST(ExchangeModel, OneMachineSharesItsProcessorsAmongAll) {
  Exchange exchange = Hosts(2, 1);
  exchange.slices = {Slice(0, 0, 50, 100)};
  exchange.slices[0].server_seconds = 2;
  exchange.work_seconds = 3;
  exchange.processors = 1;
  EXPECT_NEAR(Seconds(exchange), 3 + 1 + 2 + 2, 1e-9);
  exchange.one_machine = true;
  EXPECT_NEAR(Seconds(exchange), 6 + 1 + 2 + 2, 1e-9);
}

TEST(ExchangeModel, OneSimulatedWorkerStandsForSeveral) {
  Exchange many = Hosts(8, 2);
  for (int i = 0; i < 4; ++i) {
    many.slices.push_back(Slice(i % 2, i / 2, 100, 150));
    many.slices.back().server_seconds = 4;
  }
  many.work_seconds = 5;
  many.processors = 2;
  many.seconds_per_byte = 0.004;
  many.server_threads = 2;
  Exchange few = many;
  few.workers.resize(2);
  few.workers_each = 4;
  for (const bool one_machine : {false, true}) {
    many.one_machine = few.one_machine = one_machine;
    EXPECT_NEAR(Seconds(few), Seconds(many), 1e-6);
    EXPECT_NEAR(PredictIterationSeconds(few), PredictIterationSeconds(many),
                0.05 * Seconds(many))
        << "with random shares";
  }
  EXPECT_DOUBLE_EQ(BusiestUp(few).seconds, BusiestUp(many).seconds);
  EXPECT_DOUBLE_EQ(BusiestServerSeconds(few), BusiestServerSeconds(many));
}

TEST(ExchangeModel, TheBusiestLinkIsThatOfTheFewer) {
  Exchange exchange = Hosts(4, 1);
  exchange.slices = {Slice(0, 0, 100, 50)};
  EXPECT_TRUE(BusiestUp(exchange).of_server);
  EXPECT_EQ(BusiestUp(exchange).bytes, 400);
  exchange.servers[0].down_bytes_per_second = 1000;
  EXPECT_FALSE(BusiestUp(exchange).of_server);
  EXPECT_EQ(BusiestUp(exchange).bytes, 100);
}

TEST(ExchangeModel, CreditHoldsPushesBackUntilAnAnswer) {
  Exchange exchange = Hosts(1, 1);
  for (int i = 0; i < 3; ++i) exchange.slices.push_back(Slice(0, i, 100, 100));
  exchange.credit_bytes = 100;
  EXPECT_NEAR(Seconds(exchange), 3 * 2, 1e-9);
  // Less credit than a push: it goes alone.
  exchange.credit_bytes = 1;
  EXPECT_NEAR(Seconds(exchange), 3 * 2, 1e-9);
}

TEST(ExchangeModel, SlicesThatAreReadyEarlierGoEarlier) {
  Exchange exchange = Hosts(1, 1);
  exchange.slices = {Slice(0, 0, 100, 100), Slice(0, 1, 100, 100)};
  exchange.slices[1].ready_seconds = 5;
  EXPECT_NEAR(Seconds(exchange), 5 + 2, 1e-9);
  exchange.slices[1].ready_seconds = 1;
  EXPECT_NEAR(Seconds(exchange), 3, 1e-9);
}

TEST(ExchangeModel, BurstsPassAtOnceIfThereWasTimeToRefillThem) {
  Exchange exchange = Hosts(1, 1);
  for (auto* hosts : {&exchange.workers, &exchange.servers}) {
    (*hosts)[0].burst_bytes = 100;
  }
  exchange.slices = {Slice(0, 0, 300, 50)};
  exchange.work_seconds = 10;
  // 2 s for the 200 bytes beyond the burst, and the answer is a burst. The
  // burst itself passes at 100 times the rate.
  EXPECT_NEAR(Seconds(exchange), 10 + 2, 0.03);
  // While the push goes up, the answer's burst refills, but not vice versa.
  exchange.work_seconds = 0;
  EXPECT_NEAR(Seconds(exchange), 3, 0.03);
}

TEST(ExchangeModel, BurstsDoNotLastForEver) {
  Exchange exchange = Hosts(1, 1);
  for (auto* hosts : {&exchange.workers, &exchange.servers}) {
    (*hosts)[0].burst_bytes = 1e9;
  }
  exchange.slices = {Slice(0, 0, 300, 500)};
  EXPECT_DOUBLE_EQ(Seconds(exchange), 5);
}

}  // namespace
}  // namespace ps
