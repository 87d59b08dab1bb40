#include "tests/monitoring/http_get.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>

#include "absl/strings/str_cat.h"

namespace ps {

UniqueFd ConnectToPort(int port) {
  UniqueFd fd(socket(AF_INET, SOCK_STREAM, 0));
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<uint16_t>(port));
  if (connect(fd.get(), reinterpret_cast<const sockaddr*>(&address),
              sizeof(address)) != 0) {
    return UniqueFd();
  }
  return fd;
}

std::string HttpGet(int port, const std::string& path) {
  const UniqueFd fd = ConnectToPort(port);
  const std::string request =
      absl::StrCat("GET ", path, " HTTP/1.1\r\nHost: localhost\r\n",
                   "Connection: close\r\n\r\n");
  if (send(fd.get(), request.data(), request.size(), MSG_NOSIGNAL) < 0) {
    return "";
  }
  std::string answer;
  char bytes[4096];
  for (;;) {
    const ssize_t count = read(fd.get(), bytes, sizeof(bytes));
    if (count <= 0) return answer;
    answer.append(bytes, count);
  }
}

}  // namespace ps
