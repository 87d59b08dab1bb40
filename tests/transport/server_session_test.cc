// A worker's session while its server is slow, silent, restarted or gone. All
// times are those of a clock that the test moves.
#include "transport/server_session.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/common/manual_clock.h"
#include "tests/transport/fake_channel.h"
#include "transport/proto_bytes.h"

namespace ps {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr absl::Duration kStartup = absl::Seconds(60);
constexpr absl::Duration kLost = absl::Seconds(20);

RegisterResponse Welcome(uint64_t epoch = 1) {
  RegisterResponse welcome;
  welcome.set_credit_bytes(1000);
  welcome.set_epoch(epoch);
  return welcome;
}

class ServerSessionTest : public ::testing::Test {
 protected:
  ServerSessionTest() {
    auto channel = std::make_unique<FakeChannel>();
    channel_ = channel.get();
    channel_->closed_within = &closed_within_;
    ServerSessionOptions options;
    options.address = "host:1";
    options.data_connections = 2;
    options.credit_bytes = 1000;
    options.startup_timeout = kStartup;
    options.lost_server_timeout = kLost;
    options.registration.mutable_worker()->set_incarnation(1);
    ServerSession::Events events;
    events.done = [this](std::unique_ptr<Call> call) {
      ended_.push_back(std::move(call));
    };
    events.changed = [] {};
    session_ = std::make_unique<ServerSession>(options, std::move(channel),
                                               &clock_, events);
    session_->Step();
  }

  // Calls Step whenever it is due and `server`, which stands for the server.
  template <typename Server>
  void Pass(absl::Duration time, Server server) {
    const absl::Time end = clock_.Now() + time;
    while (clock_.Now() < end) {
      server();
      const absl::Time next = std::min(end, session_->Step());
      clock_.Advance(next - clock_.Now());
      session_->Step();
    }
    server();
  }
  void Pass(absl::Duration time) {
    Pass(time, [] {});
  }

  void Admit(const RegisterResponse& welcome = Welcome()) {
    channel_->Take(Rpc::kRegister).done(ToBytes(welcome));
    channel_->attending().accepted();
  }

  void ShowLife(int connection) {
    for (int i = channel_->Count(Rpc::kGetStatus); i > 0; --i) {
      FakeChannel::Call call = channel_->Take(Rpc::kGetStatus);
      if (call.request.connection == connection) {
        call.done(ToBytes(GetStatusResponse()));
      } else {
        call.done(absl::DeadlineExceededError("silence"));
      }
    }
  }
  void ShowLife() {
    while (channel_->Count(Rpc::kGetStatus) > 0) {
      channel_->Take(Rpc::kGetStatus).done(ToBytes(GetStatusResponse()));
    }
  }

  void Send(Rpc rpc, absl::Duration patience = absl::InfiniteDuration()) {
    auto call = std::make_unique<Call>();
    call->rpc = rpc;
    call->slice = &slice_;
    call->patience = patience;
    call->request = ToBytes(SliceMessage());
    session_->Send(std::move(call));
  }

  ManualClock clock_;
  const Slice slice_ = {};
  FakeChannel* channel_ = nullptr;  // Belongs to the session.
  absl::Duration closed_within_ = absl::InfiniteDuration();
  std::vector<std::unique_ptr<Call>> ended_;
  std::unique_ptr<ServerSession> session_;
};

TEST_F(ServerSessionTest, CallsWaitForTheRegistration) {
  Send(Rpc::kPush);
  Send(Rpc::kPull);
  EXPECT_EQ(channel_->Count(Rpc::kPush) + channel_->Count(Rpc::kPull), 0);
  Admit();
  EXPECT_TRUE(session_->registered());
  channel_->Take(Rpc::kPush).done(ToBytes(SliceMessage()));
  channel_->Take(Rpc::kPull).done(ToBytes(SliceMessage()));
  ASSERT_EQ(ended_.size(), 2);
  for (const auto& call : ended_) EXPECT_TRUE(call->status.ok());
}

TEST_F(ServerSessionTest, AServerThatNeverComesIsNamedWithTheLastError) {
  int attempts = 0;
  Pass(kStartup, [&] {
    if (channel_->Count(Rpc::kRegister) == 0) return;
    ++attempts;
    channel_->Take(Rpc::kRegister).done(absl::UnavailableError("refused"));
  });
  EXPECT_THAT(attempts, AllOf(testing::Gt(50), testing::Lt(150)));
  const absl::Status status = session_->failure();
  EXPECT_TRUE(absl::IsDeadlineExceeded(status)) << status;
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("server 0 at host:1 cannot be reached after 1m "
                        "(refused)"));
}

TEST_F(ServerSessionTest, AServerOfAnotherAuthorityIsNotSaidToBeAway) {
  Pass(kStartup, [&] {
    if (channel_->Count(Rpc::kRegister) == 0) return;
    channel_->Take(Rpc::kRegister)
        .done(absl::UnavailableError("SSL: certificate verify failed"));
  });
  EXPECT_THAT(std::string(session_->failure().message()),
              AllOf(HasSubstr("certificate verify failed): it runs, and its "
                              "certificate is not of the authority"),
                    HasSubstr("the same `gradsieve certs`")));
}

// The worker was started again, too.
TEST_F(ServerSessionTest, AServerThatReadsItsLogMayTakeLonger) {
  RegisterResponse recovering;
  recovering.set_recovering(true);
  Pass(2 * kStartup, [&] {
    if (channel_->Count(Rpc::kRegister) == 0) return;
    channel_->Take(Rpc::kRegister).done(ToBytes(recovering));
  });
  EXPECT_TRUE(session_->failure().ok()) << session_->failure();
  Pass(absl::Seconds(2));
  Admit();
  EXPECT_TRUE(session_->registered());
}

TEST_F(ServerSessionTest, ARefusedWorkerDoesNotTryAgain) {
  channel_->Take(Rpc::kRegister).done(absl::FailedPreconditionError("no"));
  EXPECT_TRUE(absl::IsFailedPrecondition(session_->failure()));
  Pass(kStartup);
  EXPECT_EQ(channel_->Count(Rpc::kRegister), 0);
}

TEST_F(ServerSessionTest, RegistersAgainAfterABreakAndThenRepeatsItsCalls) {
  Admit();
  Send(Rpc::kPush);
  FakeChannel::Call push = channel_->Take(Rpc::kPush);
  channel_->attending().closed(absl::UnavailableError("broken"));
  push.done(absl::UnavailableError("broken"));
  Pass(absl::Seconds(1));
  EXPECT_FALSE(session_->registered());
  EXPECT_EQ(channel_->Count(Rpc::kPush), 0) << "not before it is registered";
  Admit();
  channel_->Take(Rpc::kPush).done(ToBytes(SliceMessage()));
  ASSERT_EQ(ended_.size(), 1);
  EXPECT_TRUE(ended_[0]->status.ok()) << ended_[0]->status;
  EXPECT_THAT(channel_->opened(), testing::ElementsAre(1, 2))
      << "gRPC connects again by itself";
  // The break is over.
  Pass(2 * kLost, [this] { ShowLife(); });
  EXPECT_TRUE(session_->failure().ok()) << session_->failure();
}

TEST_F(ServerSessionTest, RegistersAgainWithAServerThatDoesNotKnowTheWorker) {
  Admit();
  Send(Rpc::kPush);
  channel_->Take(Rpc::kPush).done(absl::UnauthenticatedError("who?"));
  Pass(absl::Seconds(1));
  Admit();
  channel_->Take(Rpc::kPush).done(ToBytes(SliceMessage()));
  ASSERT_EQ(ended_.size(), 1);
  EXPECT_TRUE(ended_[0]->status.ok()) << ended_[0]->status;
}

TEST_F(ServerSessionTest, AServerThatCameBackWithoutItsWeightsEndsTheSession) {
  const auto epoch_of = [](const FakeChannel::Call& call) {
    return FromBytes<RegisterRequest>(call.request.message)->epoch();
  };
  FakeChannel::Call first = channel_->Take(Rpc::kRegister);
  EXPECT_EQ(epoch_of(first), 0u);
  first.done(ToBytes(Welcome(/*epoch=*/1)));
  session_->SetJoinedAfter(18);
  channel_->attending().accepted();
  channel_->attending().closed(absl::UnavailableError("broken"));
  Pass(absl::Seconds(1));
  // A server that reads its log is asked again, with the epoch that it had.
  FakeChannel::Call again = channel_->Take(Rpc::kRegister);
  EXPECT_EQ(epoch_of(again), 1u);
  EXPECT_EQ(FromBytes<RegisterRequest>(again.request.message)->joined_after(),
            18);
  RegisterResponse recovering;
  recovering.set_recovering(true);
  again.done(ToBytes(recovering));
  // However long that takes.
  Pass(2 * kLost, [&] {
    if (channel_->Count(Rpc::kRegister) == 0) return;
    channel_->Take(Rpc::kRegister).done(ToBytes(recovering));
  });
  EXPECT_TRUE(session_->failure().ok()) << session_->failure();
  EXPECT_FALSE(session_->registered());
  Pass(absl::Seconds(2));
  Admit(Welcome(/*epoch=*/2));
  // The job may be started again as it is.
  const absl::Status status = session_->failure();
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("server 0 at host:1 was restarted, and the weights "
                        "are gone"));
}

TEST_F(ServerSessionTest, AServerThatDoesNotComeBackIsGivenUp) {
  Admit();
  channel_->attending().closed(absl::UnavailableError("broken"));
  const auto refuse = [this] {
    if (channel_->Count(Rpc::kRegister) == 0) return;
    channel_->Take(Rpc::kRegister).done(absl::UnavailableError("refused"));
  };
  Pass(kLost - absl::Milliseconds(1), refuse);
  EXPECT_TRUE(session_->failure().ok());
  Pass(absl::Milliseconds(1), refuse);
  const absl::Status status = session_->failure();
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("server 0 at host:1 has not answered for 20s"));
}

// Nothing but signs of life says so: no call is under way, and the network
// reports nothing.
TEST_F(ServerSessionTest, AServerThatVanishesSilentlyIsGivenUpWithoutCalls) {
  Admit();
  Pass(absl::Minutes(10), [this] { ShowLife(); });
  EXPECT_TRUE(session_->failure().ok());
  Pass(2 * kLost, [this] { ShowLife(/*connection=*/-1); });
  EXPECT_TRUE(absl::IsUnavailable(session_->failure())) << session_->failure();
}

TEST_F(ServerSessionTest, AHeldPushIsNotSentAgainWhileTheServerLives) {
  Admit();
  Send(Rpc::kPush);
  Pass(absl::Minutes(5), [this] { ShowLife(); });
  EXPECT_TRUE(session_->failure().ok());
  EXPECT_EQ(channel_->Count(Rpc::kPush), 1);
}

TEST_F(ServerSessionTest, RefusedPushesAreSentAgainMoreAndMoreRarely) {
  Admit();
  Send(Rpc::kPush);
  int sent = 0;
  Pass(absl::Minutes(2), [&] {
    ShowLife();
    if (channel_->Count(Rpc::kPush) == 0) return;
    ++sent;
    channel_->Take(Rpc::kPush).done(absl::UnavailableError("no credit"));
  });
  EXPECT_THAT(sent, AllOf(testing::Gt(10), testing::Lt(35)));
  EXPECT_TRUE(ended_.empty());
}

TEST_F(ServerSessionTest, ChunksForOtherWorkersHaveAWindowOfTheirOwn) {
  Admit();
  std::vector<std::string> told;
  const auto put = [&](int stream, const std::string& name) {
    auto call = std::make_unique<Call>();
    call->rpc = Rpc::kAuxPut;
    call->stage_stream = stream;
    call->kept_bytes = 300;
    call->request = ToBytes(AttendEvent());
    call->done = [&told, name](std::unique_ptr<Call> ended) {
      told.push_back(absl::StrCat(name, ended->status.ok() ? "" : " failed"));
    };
    session_->Send(std::move(call));
  };
  const auto answer = [this](const absl::StatusOr<grpc::ByteBuffer>& with) {
    FakeChannel::Call call = channel_->Take(Rpc::kAuxPut);
    EXPECT_EQ(call.request.connection, 0) << "never behind pushes";
    call.done(with);
  };
  Send(Rpc::kPush);
  for (const char* name : {"a", "b"}) put(0, name);
  EXPECT_EQ(channel_->Count(Rpc::kAuxPut), 1) << "within half of the credit";
  put(1, "c");
  EXPECT_EQ(channel_->Count(Rpc::kAuxPut), 2) << "the first of its stream";
  answer(absl::UnavailableError("full"));
  EXPECT_EQ(channel_->Count(Rpc::kAuxPut), 1);
  EXPECT_TRUE(told.empty());
  ShowLife();
  Pass(absl::Seconds(1), [this] { ShowLife(); });
  EXPECT_EQ(channel_->Count(Rpc::kAuxPut), 2) << "sent again";
  for (int i = 0; i < 2; ++i) answer(ToBytes(AttendEvent()));
  EXPECT_EQ(channel_->Count(Rpc::kAuxPut), 1);
  answer(absl::InvalidArgumentError("no"));
  EXPECT_THAT(told, testing::UnorderedElementsAre("a", "b failed", "c"));
  EXPECT_TRUE(ended_.empty()) << "each tells its own";
}

TEST_F(ServerSessionTest, ASilentDataConnectionIsMadeAnewAndThenGivenUp) {
  Admit();
  Send(Rpc::kPush);  // On connection 1.
  ASSERT_EQ(channel_->opened().size(), 2);
  const auto server = [this] {
    for (int i = channel_->Count(Rpc::kGetStatus); i > 0; --i) {
      FakeChannel::Call call = channel_->Take(Rpc::kGetStatus);
      if (call.request.connection == 1) {
        call.done(absl::DeadlineExceededError("silence"));
      } else {
        call.done(ToBytes(GetStatusResponse()));
      }
    }
    channel_->EndCancelled();
  };
  Pass(kLost + absl::Seconds(1), server);
  EXPECT_TRUE(session_->failure().ok());
  ASSERT_EQ(channel_->opened().size(), 3);
  EXPECT_EQ(channel_->opened()[2], 1);
  EXPECT_EQ(channel_->Count(Rpc::kPush), 1) << "on the new connection";
  Pass(kLost, server);
  const absl::Status status = session_->failure();
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("has not answered for 20s on connection 1 of 2"));
}

TEST_F(ServerSessionTest, AConnectionThatIsHeardAgainIsNotGivenUp) {
  Admit();
  Pass(kLost, [this] { ShowLife(/*connection=*/0); });
  Pass(absl::Minutes(5), [this] { ShowLife(); });
  EXPECT_TRUE(session_->failure().ok()) << session_->failure();
}

TEST_F(ServerSessionTest, OnlyWhatMayPassIsTriedAgainAndNotForEver) {
  Admit();
  Send(Rpc::kPull, kStartup);
  channel_->Take(Rpc::kPull).done(absl::FailedPreconditionError("given up"));
  ASSERT_EQ(ended_.size(), 1);
  EXPECT_TRUE(absl::IsFailedPrecondition(ended_[0]->status));
  Send(Rpc::kPull, kStartup);
  Pass(kStartup + absl::Seconds(1), [this] {
    ShowLife();
    if (channel_->Count(Rpc::kPull) == 0) return;
    channel_->Take(Rpc::kPull).done(absl::UnavailableError("no weights yet"));
  });
  ASSERT_EQ(ended_.size(), 2);
  EXPECT_TRUE(absl::IsUnavailable(ended_[1]->status));
  EXPECT_GE(ended_[1]->end - ended_[1]->start, kStartup);
}

TEST_F(ServerSessionTest, ACallMadeOnceNeitherWaitsNorIsRepeated) {
  auto call = std::make_unique<Call>();
  call->rpc = Rpc::kFinish;
  call->once = absl::Seconds(2);
  session_->Send(std::move(call));
  FakeChannel::Call finish = channel_->Take(Rpc::kFinish);
  EXPECT_EQ(finish.request.timeout, absl::Seconds(2));
  finish.done(absl::UnavailableError("gone"));
  ASSERT_EQ(ended_.size(), 1);
  EXPECT_TRUE(absl::IsUnavailable(ended_[0]->status));
}

TEST_F(ServerSessionTest, FinishSucceedsIfTheServerHasSaidThatTheJobIsDone) {
  Admit();
  Send(Rpc::kFinish);
  FakeChannel::Call finish = channel_->Take(Rpc::kFinish);
  channel_->attending().closed(absl::OkStatus());
  finish.done(absl::UnavailableError("answer lost"));
  ASSERT_EQ(ended_.size(), 1);
  EXPECT_TRUE(ended_[0]->status.ok()) << ended_[0]->status;
  Pass(absl::Minutes(5));
  EXPECT_TRUE(session_->failure().ok()) << session_->failure();
}

TEST_F(ServerSessionTest, AnAnnouncedFailureEndsTheSession) {
  Admit();
  AttendEvent event;
  event.set_failure("disk full");
  channel_->attending().event(event);
  channel_->attending().closed(absl::OkStatus());
  const absl::Status status = session_->failure();
  EXPECT_TRUE(absl::IsAborted(status)) << status;
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("server 0 at host:1"), HasSubstr("disk full")));
  EXPECT_EQ(session_->Step(), absl::InfiniteFuture());
}

// gRPC may be unable to end a call, for example if it could not start threads.
TEST_F(ServerSessionTest, TheDestructorDoesNotWaitForEver) {
  Admit();
  Send(Rpc::kPush);
  session_.reset();
  EXPECT_LT(closed_within_, absl::Minutes(1));
}

}  // namespace
}  // namespace ps
