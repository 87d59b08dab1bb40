// A minimal HTTP client for tests.
#ifndef TESTS_MONITORING_HTTP_GET_H_
#define TESTS_MONITORING_HTTP_GET_H_

#include <string>

#include "common/unique_fd.h"

namespace ps {

// A connection to a port of this machine; -1 if there is none.
UniqueFd ConnectToPort(int port);

// The whole answer of 127.0.0.1:port to "GET path", headers included; empty if
// nobody answers.
std::string HttpGet(int port, const std::string& path);

}  // namespace ps

#endif  // TESTS_MONITORING_HTTP_GET_H_
