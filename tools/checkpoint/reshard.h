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
  std::vector<int64_t>
      numbers;  // Of the snapshots, ascending; 0: the beginning.
};

// Whether there is something for ReshardServers to do below `directory`, a
// checkpoint.directory: folders of another number of servers, or what an
// interruption has left.
bool HasOtherShards(Files* files, const std::string& directory,
                    int num_servers);

// Takes the servers whose latest snapshot that is whole on all of them is the
// latest, writes all their whole snapshots once more for `num_servers`, and
// removes all other servers' folders. Until then both take their space. The job
// goes on with the same bits, because slices do not depend on the number of
// servers. If it is interrupted, it can be repeated, also with another number.
//
// Errors: kNotFound if no snapshot is whole; kFailedPrecondition if a folder of
// other servers would be removed that has a later snapshot, or if the folders
// are not of one job; kUnavailable if a server uses its folder;
// kInvalidArgument if the model has too few slices; those of the file system.
// Nothing is removed then.
absl::StatusOr<Resharded> ReshardServers(Files* files,
                                         const std::string& directory,
                                         int num_servers);

}  // namespace ps

#endif  // TOOLS_CHECKPOINT_RESHARD_H_
