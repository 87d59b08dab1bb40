#include "tools/bench/push_pull/raw_tcp.h"

#include <sys/socket.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "common/mutex.h"
#include "common/status_macros.h"
#include "tools/bench/memory_passes.h"
#include "tools/bench/push_pull/loopback_socket.h"
#include "tools/bench/push_pull/pushed_values.h"

namespace ps {
namespace {

// Elements that are received before they are added; few enough to stay in the
// cache.
constexpr int64_t kPieceElements = 1 << 16;

// A worker's request on one connection: to push or pull the messages first,
// first + stride, first + 2 x stride, ... Both ends run on one machine, so it
// is sent in its memory layout.
struct Command {
  enum Verb : int64_t { kPush = 1, kPull = 2 };
  int64_t verb = 0;
  int64_t first = 0;
  int64_t stride = 0;
};

int64_t NumMessages(int64_t elements) {
  return (elements + kRawMessageElements - 1) / kRawMessageElements;
}

struct Message {
  int64_t begin = 0;  // In elements.
  int64_t size = 0;
};

Message MessageAt(int64_t number, int64_t elements) {
  const int64_t begin = number * kRawMessageElements;
  return {begin, std::min(kRawMessageElements, elements - begin)};
}

size_t Bytes(int64_t elements) { return sizeof(float) * elements; }

class Server final : public RawTcpServer {
 public:
  Server(int64_t elements, LoopbackListener listener)
      : listener_(std::move(listener)),
        sums_(elements),
        locks_(NumMessages(elements)),
        acceptor_([this] { Accept(); }) {}

  ~Server() override {
    shutdown(listener_.fd.get(), SHUT_RDWR);
    acceptor_.join();
    for (const Connection& connection : connections_) {
      shutdown(connection.fd.get(), SHUT_RDWR);
    }
    for (Connection& connection : connections_) connection.thread.join();
  }

  int port() const override { return listener_.port; }

 private:
  struct Connection {
    UniqueFd fd;
    std::thread thread;
  };

  void Accept() {
    for (;;) {
      absl::StatusOr<UniqueFd> fd = AcceptConnection(listener_.fd.get());
      if (!fd.ok()) return;
      Connection& connection = connections_.emplace_back();
      connection.fd = *std::move(fd);
      connection.thread =
          std::thread([this, socket = connection.fd.get()] { Serve(socket); });
    }
  }

  // Serves until the worker closes the connection or sends an invalid command.
  void Serve(int fd) {
    std::vector<float> piece(kPieceElements);
    Command command;
    while (ReceiveBytes(fd, &command, sizeof(command)).ok()) {
      if (command.first < 0 || command.stride < 1) break;
      const bool served = command.verb == Command::kPush
                              ? ReceivePush(fd, command, piece.data())
                              : SendSums(fd, command);
      if (!served) break;
    }
    shutdown(fd, SHUT_RDWR);
  }

  bool ReceivePush(int fd, const Command& command, float* piece) {
    const int64_t elements = static_cast<int64_t>(sums_.size());
    for (int64_t number = command.first; number < NumMessages(elements);
         number += command.stride) {
      const Message message = MessageAt(number, elements);
      for (int64_t done = 0; done < message.size; done += kPieceElements) {
        const int64_t size = std::min(kPieceElements, message.size - done);
        if (!ReceiveBytes(fd, piece, Bytes(size)).ok()) return false;
        // Several workers may push the same message.
        MutexLock lock(&locks_[number]);
        AddPass(piece, size, sums_.data() + message.begin + done);
      }
    }
    const char answer = 0;
    return SendBytes(fd, &answer, 1).ok();
  }

  bool SendSums(int fd, const Command& command) {
    const int64_t elements = static_cast<int64_t>(sums_.size());
    for (int64_t number = command.first; number < NumMessages(elements);
         number += command.stride) {
      const Message message = MessageAt(number, elements);
      // Taking the lock makes all earlier additions visible. No additions
      // happen now, because a pull begins when all pushes have been answered.
      { MutexLock lock(&locks_[number]); }
      if (!SendBytes(fd, sums_.data() + message.begin, Bytes(message.size))
               .ok()) {
        return false;
      }
    }
    return true;
  }

  const LoopbackListener listener_;
  std::vector<float> sums_;  // [elements]; one lock per message.
  std::deque<Mutex> locks_;
  std::deque<Connection> connections_;  // Used by acceptor_ while it runs.
  std::thread acceptor_;
};

class Client final : public DataPlane {
 public:
  Client(const DataPlaneOptions& options, std::vector<UniqueFd> sockets)
      : options_(options),
        sockets_(std::move(sockets)),
        pushed_(options.elements),
        pulled_(options.elements) {
    FillPushedValues(options.rank, options.num_workers, /*begin=*/0,
                     absl::MakeSpan(pushed_));
  }

  absl::StatusOr<PushTraffic> Push() override {
    PS_RETURN_IF_ERROR(OnAllConnections(
        Command::kPush,
        [this](int fd, const Message& message) {
          return SendBytes(fd, pushed_.data() + message.begin,
                           Bytes(message.size));
        },
        [](int fd) {
          char answer;
          return ReceiveBytes(fd, &answer, 1);
        }));
    PushTraffic traffic;
    traffic.payload_bytes = static_cast<int64_t>(Bytes(options_.elements));
    traffic.answer_bytes = static_cast<int64_t>(sockets_.size());
    return traffic;
  }

  absl::StatusOr<int64_t> Pull() override {
    PS_RETURN_IF_ERROR(OnAllConnections(
        Command::kPull,
        [this](int fd, const Message& message) {
          return ReceiveBytes(fd, pulled_.data() + message.begin,
                              Bytes(message.size));
        },
        [](int) { return absl::OkStatus(); }));
    return static_cast<int64_t>(Bytes(options_.elements));
  }

  absl::Status Check(int64_t pushes) const override {
    ExpectedValues expected;
    expected.mean = static_cast<double>(pushes * options_.num_workers);
    return CheckValues(pulled_, expected);
  }

  absl::Status Finish() override {
    sockets_.clear();
    return absl::OkStatus();
  }

 private:
  using ForMessage = std::function<absl::Status(int fd, const Message&)>;
  using AtEnd = std::function<absl::Status(int fd)>;

  // Each connection has its share of the messages, and a thread that sends the
  // command, then runs `each` for one message after the other and `end`.
  absl::Status OnAllConnections(Command::Verb verb, const ForMessage& each,
                                const AtEnd& end) {
    std::vector<absl::Status> results(sockets_.size());
    std::vector<std::thread> threads;
    for (size_t i = 0; i < sockets_.size(); ++i) {
      threads.emplace_back([&, i] {
        Command command;
        command.verb = verb;
        command.first = static_cast<int64_t>(i);
        command.stride = static_cast<int64_t>(sockets_.size());
        results[i] = OnConnection(sockets_[i].get(), command, each, end);
      });
    }
    for (std::thread& thread : threads) thread.join();
    for (const absl::Status& result : results) PS_RETURN_IF_ERROR(result);
    return absl::OkStatus();
  }

  absl::Status OnConnection(int fd, const Command& command,
                            const ForMessage& each, const AtEnd& end) {
    PS_RETURN_IF_ERROR(SendBytes(fd, &command, sizeof(command)));
    for (int64_t number = command.first;
         number < NumMessages(options_.elements); number += command.stride) {
      PS_RETURN_IF_ERROR(each(fd, MessageAt(number, options_.elements)));
    }
    return end(fd);
  }

  const DataPlaneOptions options_;
  std::vector<UniqueFd> sockets_;
  std::vector<float> pushed_;  // [elements]
  std::vector<float> pulled_;  // [elements]
};

}  // namespace

absl::StatusOr<std::unique_ptr<RawTcpServer>> RawTcpServer::Start(
    int64_t elements) {
  PS_ASSIGN_OR_RETURN(LoopbackListener listener, ListenOnLoopback());
  return std::unique_ptr<RawTcpServer>(
      std::make_unique<Server>(elements, std::move(listener)));
}

absl::StatusOr<std::unique_ptr<DataPlane>> ConnectRawTcp(
    const DataPlaneOptions& options) {
  std::vector<UniqueFd> sockets;
  for (int i = 0; i < options.connections; ++i) {
    PS_ASSIGN_OR_RETURN(UniqueFd socket, ConnectToLoopback(options.port));
    sockets.push_back(std::move(socket));
  }
  return std::unique_ptr<DataPlane>(
      std::make_unique<Client>(options, std::move(sockets)));
}

}  // namespace ps
