// Clients that begin more calls than they may.
#include "server/limits/call_watch.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "absl/strings/string_view.h"
#include "common/unique_fd.h"
#include "gtest/gtest.h"
#include "server/limits/memory_bound.h"
#include "tests/server/raw_worker.h"

namespace ps {
namespace {

std::string BigEndian(uint32_t number, int bytes) {
  std::string text;
  for (int i = bytes - 1; i >= 0; --i) {
    text += static_cast<char>(number >> (8 * i) & 0xff);
  }
  return text;
}

// RFC 9113, section 4.1.
std::string Frame(int type, int flags, uint32_t stream,
                  const std::string& payload) {
  return BigEndian(static_cast<uint32_t>(payload.size()), 3) +
         static_cast<char>(type) + static_cast<char>(flags) +
         BigEndian(stream, 4) + payload;
}

// RFC 7541, section 6.2.2: a field that is not in the tables.
std::string Literal(absl::string_view name, absl::string_view value) {
  std::string text(1, '\0');
  for (const absl::string_view part : {name, value}) {
    text += static_cast<char>(part.size());
    text.append(part.begin(), part.end());
  }
  return text;
}

// A call whose message never comes.
std::string BeginCall(uint32_t stream) {
  return Frame(1, 4, stream,
               Literal(":method", "POST") + Literal(":scheme", "http") +
                   Literal(":path", "/ps.ParameterServer/GetStatus") +
                   Literal(":authority", "x") + Literal("te", "trailers") +
                   Literal("content-type", "application/grpc"));
}

UniqueFd ConnectTo(const std::string& address) {
  UniqueFd fd(socket(AF_INET, SOCK_STREAM, 0));
  sockaddr_in name = {};
  name.sin_family = AF_INET;
  const int port = std::atoi(address.substr(address.rfind(':') + 1).c_str());
  name.sin_port = htons(static_cast<uint16_t>(port));
  inet_pton(AF_INET, "127.0.0.1", &name.sin_addr);
  EXPECT_EQ(
      connect(fd.get(), reinterpret_cast<const sockaddr*>(&name), sizeof(name)),
      0);
  return fd;
}

// It never acknowledges the server's settings, so gRPC sets it no limit.
TEST(CallWatch, CutsOffWhoBeginsTooManyCalls) {
  RunningServer server(PatientJob(/*num_workers=*/1));
  RawWorker worker(server.address());
  ASSERT_TRUE(worker.GetStatus().ok());
  const UniqueFd fd = ConnectTo(server.address());
  std::string calls = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + Frame(4, 0, 0, "");
  for (uint32_t i = 0; i < 2 * kMaxCallsPerConnection; ++i) {
    calls += BeginCall(2 * i + 1);
  }
  ASSERT_EQ(send(fd.get(), calls.data(), calls.size(), MSG_NOSIGNAL),
            static_cast<ssize_t>(calls.size()));
  char bytes[1 << 10];
  while (read(fd.get(), bytes, sizeof(bytes)) > 0) {
  }
  EXPECT_TRUE(worker.GetStatus().ok());
}

}  // namespace
}  // namespace ps
