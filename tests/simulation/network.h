// The network of a simulation, in place of gRPC:
// transport/grpc_server_channel.h and server/listener.h are linked from
// network.cc. Messages take a time that is drawn; connections break, and links
// are cut.
#ifndef TESTS_SIMULATION_NETWORK_H_
#define TESTS_SIMULATION_NETWORK_H_

#include <cstdint>
#include <functional>

#include "absl/time/time.h"
#include "server/server_calls.h"
#include "tests/simulation/scheduler.h"

namespace ps::sim {

// Server i is on host i, at this port plus i.
constexpr int kFirstPort = 7000;

struct NetworkFaults {
  double slow_rate = 0;  // Of messages, that take up to half a second.
  // Of answers, whose connection breaks when the server has sent them.
  double half_rate = 0;
};

// To be called once, after Begin.
void StartNetwork();
void SetFaults(const NetworkFaults& faults);
// Called before a server is given a message, with the bytes of the largest one
// that it has been given before.
void OnMessage(std::function<void(const ServerCalls&, int64_t largest)> comes);

// Breaks all connections between two processes.
void BreakLink(const Process* a, const Process* b);
// Nothing passes between two hosts until this time. Connections across break
// when that takes longer than gRPC's keepalive allows.
void CutHosts(int a, int b, absl::Time until);
// A host is gone: its peers notice it by their keepalive only, and nobody can
// connect to it before this time.
void LoseHost(int host, absl::Time until);
absl::Time LostUntil(int host);

}  // namespace ps::sim

#endif  // TESTS_SIMULATION_NETWORK_H_
