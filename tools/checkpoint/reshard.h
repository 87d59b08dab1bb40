// Snapshots of a job's servers, dealt to another number of servers.
#ifndef TOOLS_CHECKPOINT_RESHARD_H_
#define TOOLS_CHECKPOINT_RESHARD_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "storage/files.h"

namespace ps {

struct Resharded {
  int from_servers = 0;
  std::vector<int64_t> numbers;  // Of the snapshots, ascending.
};

// Writes the whole snapshots of all servers below `directory`, a
// checkpoint.directory, once more for `num_servers`, and then removes the old
// ones; meanwhile both take their space. The job goes on with the same bits,
// because slices do not depend on the number of servers. If it is interrupted,
// it can be repeated. No process of the job may run. Does nothing if they are
// those of `num_servers` already.
//
// Errors: kNotFound if no snapshot is whole; kDataLoss if one is not that of a
// server; those of the file system.
absl::StatusOr<Resharded> ReshardServers(Files* files,
                                         const std::string& directory,
                                         int num_servers);

}  // namespace ps

#endif  // TOOLS_CHECKPOINT_RESHARD_H_
