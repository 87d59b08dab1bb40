// Where a slice writes down what it has done before it answers.
#ifndef SERVER_SLICES_UPDATE_LOG_H_
#define SERVER_SLICES_UPDATE_LOG_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "server/slices/worker_push.h"
#include "transport/slice_message.h"

namespace ps {

// Thread-safe. Both return when what they wrote survives what the log is meant
// to survive. Errors: those of the file system; the log then takes nothing
// more.
class UpdateLog {
 public:
  virtual ~UpdateLog() = default;

  virtual absl::Status AppendInitialWeights(const std::string& slice,
                                            const PayloadPieces& weights) = 0;

  // An update of the slice as it was with this many updates.
  virtual absl::Status AppendUpdate(const std::string& slice, int64_t version,
                                    const UpdateRecord& update) = 0;
};

// What has been written down of a slice.
struct SliceHistory {
  std::optional<ReceivedPayload> first;  // Weights.
  // Whole updates, by the updates that the slice had received before.
  std::map<int64_t, UpdateRecord> updates;
};

}  // namespace ps

#endif  // SERVER_SLICES_UPDATE_LOG_H_
