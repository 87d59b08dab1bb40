// The interface of a server's transport.
#ifndef SERVER_LISTENER_H_
#define SERVER_LISTENER_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "proto/config.pb.h"
#include "security/credentials.h"
#include "server/server_calls.h"

namespace ps {

struct ListenerOptions {
  const JobConfig* config = nullptr;  // Not owned; outlives the listener.
  int server_index = 0;
  std::string address;  // The address, as in ServerOptions.
  std::shared_ptr<const Credentials> credentials;
};

// gRPC, or a simulation that is linked in its place. Thread-safe.
class Listener {
 public:
  static std::unique_ptr<Listener> New(const ListenerOptions& options);

  // Calls Shutdown.
  virtual ~Listener() = default;

  // Listens, and lets `calls`, which is not owned, answer from now on; null:
  // only tries to listen. Call it once. Errors: kUnavailable, naming the
  // address; those of ConnectionLimitsFor.
  virtual absl::Status Listen(ServerCalls* calls) = 0;

  // Returns where it listens, with the port that was selected.
  virtual std::string address() const = 0;

  // Marks the connection from this peer (Caller::peer) as authenticated.
  virtual void Know(const std::string& peer) = 0;

  // Sets the bytes that messages may take.
  virtual void SetQuota(int64_t bytes) = 0;

  // Stops listening. Waits until all calls have been answered, but not for
  // ever; `calls` is not used afterwards.
  virtual void Shutdown() = 0;
};

}  // namespace ps

#endif  // SERVER_LISTENER_H_
