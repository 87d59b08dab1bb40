// Pushes to a real parameter server and pulls from it, through ParameterClient.
#ifndef TOOLS_BENCH_PUSH_PULL_PARAMETER_SERVER_H_
#define TOOLS_BENCH_PUSH_PULL_PARAMETER_SERVER_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "proto/config.pb.h"
#include "tools/bench/push_pull/data_plane.h"

namespace ps {

struct ParameterServerOptions {
  // The server's config. Its optimizer must be sgd with learning rate 1, so
  // that weights stay whole numbers.
  JobConfig config;
  std::string server;  // "host:port".
  int rank = 0;
  int64_t elements = 0;
  int64_t bucket_elements = 0;  // Of each bucket but the last.
  // Elements 0, one_of, 2 one_of, ... are pushed, and their new values come
  // back. With 1 all elements are pushed, and no weights come back.
  int64_t one_of = 1;
  int64_t total_pushes = 0;  // Number that will be made.
};

// Joins the job; worker 0 sends its initial weights. Pushes are in fp32.
// Errors: those of ParameterClient.
absl::StatusOr<std::unique_ptr<DataPlane>> JoinParameterServer(
    const ParameterServerOptions& options);

}  // namespace ps

#endif  // TOOLS_BENCH_PUSH_PULL_PARAMETER_SERVER_H_
