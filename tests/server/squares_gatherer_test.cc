// Whom the gatherer waits for, and what it refuses.
#include "server/norms/squares_gatherer.h"

#include <algorithm>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace ps {
namespace {

using ::testing::HasSubstr;

using Sums = SquaresGatherer::Sums;

using Contributions = SquaresGatherer::Contributions;

// Each contributor has one square.
SquaresGathererOptions Options(int num_contributors) {
  SquaresGathererOptions options;
  options.sizes.assign(num_contributors, 1);
  options.contributor = "server";
  return options;
}

// The sum over all of them, in order.
Sums Added(const Contributions& contributions) {
  Sums sums(1);
  for (const std::vector<Squares>& each : contributions) {
    sums[0].weights += each[0].weights;
    sums[0].gradient += each[0].gradient;
  }
  return sums;
}

void AnswerAtOnce(const SquaresRound&, const Contributions& contributions,
                  const SquaresGatherer::Done& done) {
  done(Added(contributions));
}

struct Answers {
  std::vector<absl::StatusOr<Sums>> all;

  SquaresGatherer::Done Taker() {
    return [this](const absl::StatusOr<Sums>& sums) { all.push_back(sums); };
  }
};

TEST(SquaresGatherer, PutsThemInOrderWhateverTheArrivalOrder) {
  // 1e16 + 1 rounds to 1e16, so the sum shows the order.
  const double parts[] = {1e16, 1, -1e16};
  std::vector<int> order = {0, 1, 2};
  do {
    SquaresGatherer gatherer(Options(3), AnswerAtOnce);
    Answers answers;
    for (const int i : order) {
      EXPECT_TRUE(answers.all.empty());
      gatherer.Add({4, 0}, i, {{1, parts[i], 2}}, answers.Taker());
    }
    ASSERT_EQ(answers.all.size(), 3u);
    for (const auto& sums : answers.all) {
      ASSERT_TRUE(sums.ok()) << sums.status();
      EXPECT_EQ((*sums)[0].gradient, (1e16 + 1) - 1e16);
      EXPECT_EQ((*sums)[0].weights, 3);
    }
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST(SquaresGatherer, RepeatsCountOnceAndGetTheStoredSums) {
  SquaresGatherer gatherer(Options(2), AnswerAtOnce);
  Answers first, second, other, late;
  gatherer.Add({0, 0}, 0, {{1, 0, 0}}, first.Taker());
  gatherer.Add({0, 0}, 0, {{1, 0, 0}}, second.Taker());
  ASSERT_EQ(first.all.size(), 1u);
  EXPECT_TRUE(absl::IsCancelled(first.all[0].status()));
  gatherer.Add({0, 0}, 1, {{2, 0, 0}}, other.Taker());
  ASSERT_EQ(second.all.size(), 1u);
  EXPECT_EQ((*second.all[0])[0].weights, 3);
  gatherer.Add({0, 0}, 1, {{50, 0, 0}}, late.Taker());
  ASSERT_EQ(late.all.size(), 1u);
  EXPECT_EQ((*late.all[0])[0].weights, 3);
}

// A server that starts over repeats exchanges that the others have left.
TEST(SquaresGatherer, AnEarlierStageMayBeRepeatedWhileALaterRoundIsUnderWay) {
  SquaresGathererOptions options = Options(2);
  options.kept_rounds = 3;
  SquaresGatherer gatherer(options, AnswerAtOnce);
  Answers all;
  const SquaresRound rounds[] = {{0, 0}, {0, 1}, {1, 0}, {1, 1}};
  for (int i = 0; i < 4; ++i) {
    for (const int server : {0, 1}) {
      gatherer.Add(rounds[i], server, {{1.0 + i, 0, 0}}, all.Taker());
    }
  }
  ASSERT_EQ(all.all.size(), 8u);
  Answers waits;
  gatherer.Add({2, 0}, 0, {{7, 0, 0}}, waits.Taker());
  for (int i = 1; i < 4; ++i) {
    Answers again;
    gatherer.Add(rounds[i], 1, {{50, 0, 0}}, again.Taker());
    ASSERT_EQ(again.all.size(), 1u);
    ASSERT_TRUE(again.all[0].ok()) << again.all[0].status();
    EXPECT_EQ((*again.all[0])[0].weights, 2 * (1.0 + i));
  }
  EXPECT_TRUE(waits.all.empty());
  Answers forgotten;
  gatherer.Add(rounds[0], 1, {{}}, forgotten.Taker());
  EXPECT_TRUE(absl::IsFailedPrecondition(forgotten.all.at(0).status()));
  gatherer.Add({2, 0}, 1, {{1, 0, 0}}, waits.Taker());
  ASSERT_EQ(waits.all.size(), 2u);
  EXPECT_EQ((*waits.all[0])[0].weights, 8);
}

std::string ErrorOf(SquaresGatherer* gatherer, const SquaresRound& round,
                    int contributor, int num_squares = 1) {
  Answers answers;
  gatherer->Add(round, contributor, std::vector<Squares>(num_squares),
                answers.Taker());
  if (answers.all.size() != 1 || answers.all[0].ok()) return "no error";
  return std::string(answers.all[0].status().message());
}

// Of a log.
TEST(SquaresGatherer, SumsThatAreKeptNeedNoOtherContributor) {
  SquaresGatherer gatherer(Options(2), AnswerAtOnce);
  gatherer.Keep({7, 0}, {{3, 0, 0}});
  Answers repeat, next;
  gatherer.Add({7, 0}, 1, {{1, 0, 0}}, repeat.Taker());
  ASSERT_EQ(repeat.all.size(), 1u);
  EXPECT_EQ((*repeat.all[0])[0].weights, 3);
  EXPECT_THAT(ErrorOf(&gatherer, {6, 0}, 0), HasSubstr("update 7"));
  gatherer.Add({7, 1}, 0, {{1, 0, 0}}, next.Taker());
  gatherer.Add({7, 1}, 1, {{2, 0, 0}}, next.Taker());
  ASSERT_EQ(next.all.size(), 2u);
  EXPECT_EQ((*next.all[0])[0].weights, 3);
}

TEST(SquaresGatherer, WhatDoesNotFitIsRefusedAndChangesNothing) {
  SquaresGatherer gatherer(Options(2), AnswerAtOnce);
  Answers answers;
  EXPECT_THAT(ErrorOf(&gatherer, {0, 0}, 2), HasSubstr("server 2"));
  EXPECT_THAT(ErrorOf(&gatherer, {0, 0}, -1), HasSubstr("server -1"));
  EXPECT_THAT(ErrorOf(&gatherer, {0, 0}, 1, 2),
              HasSubstr("squares of 2 parts of tensors; it holds 1"));
  EXPECT_THAT(ErrorOf(&gatherer, {-1, 1}, 0), HasSubstr("update -1"));
  gatherer.Add({5, 0}, 0, {{1, 0, 0}}, answers.Taker());
  EXPECT_THAT(ErrorOf(&gatherer, {6, 0}, 1),
              HasSubstr("exchange 0 of update 6; the others are in exchange 0 "
                        "of update 5"));
  EXPECT_THAT(ErrorOf(&gatherer, {5, 1}, 1), HasSubstr("exchange 1"));
  gatherer.Add({5, 0}, 1, {{}}, answers.Taker());
  ASSERT_EQ(answers.all.size(), 2u);
  EXPECT_EQ((*answers.all[0])[0].weights, 1);
  EXPECT_THAT(ErrorOf(&gatherer, {4, 0}, 1), HasSubstr("update 4"));
}

TEST(SquaresGatherer, FailAnswersEveryoneNowAndLater) {
  SquaresGatherer gatherer(Options(2), AnswerAtOnce);
  Answers waiting, later;
  gatherer.Add({0, 0}, 0, {{}}, waiting.Taker());
  gatherer.Fail(absl::AbortedError("worker 1 was lost"));
  ASSERT_EQ(waiting.all.size(), 1u);
  EXPECT_TRUE(absl::IsAborted(waiting.all[0].status()));
  gatherer.Add({0, 0}, 1, {{}}, later.Taker());
  ASSERT_EQ(later.all.size(), 1u);
  EXPECT_TRUE(absl::IsAborted(later.all[0].status()));
}

TEST(SquaresGatherer, AFailureToCombineReachesAllAndTheRoundMayBeRepeated) {
  int calls = 0;
  SquaresGatherer gatherer(
      Options(1), [&](const SquaresRound&, const Contributions& contributions,
                      const SquaresGatherer::Done& done) {
        if (++calls == 1) {
          done(absl::UnavailableError("server 0 is gone"));
        } else {
          done(Added(contributions));
        }
      });
  Answers answers;
  gatherer.Add({0, 0}, 0, {{7, 0, 0}}, answers.Taker());
  gatherer.Add({0, 0}, 0, {{7, 0, 0}}, answers.Taker());
  ASSERT_EQ(answers.all.size(), 2u);
  EXPECT_TRUE(absl::IsUnavailable(answers.all[0].status()));
  ASSERT_TRUE(answers.all[1].ok());
  EXPECT_EQ((*answers.all[1])[0].weights, 7);
}

}  // namespace
}  // namespace ps
