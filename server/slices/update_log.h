// The interface of a slice's write-ahead log.
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

// The log. Thread-safe. Both functions return when their record is as durable
// as the log promises. Errors: those of the file system; the log then takes no
// more records.
class UpdateLog {
 public:
  virtual ~UpdateLog() = default;

  virtual absl::Status AppendInitialWeights(const std::string& slice,
                                            const PayloadPieces& weights) = 0;

  // Appends an update of the slice as it was with this many updates.
  virtual absl::Status AppendUpdate(const std::string& slice, int64_t version,
                                    const UpdateRecord& update) = 0;
};

// The logged history of a slice.
struct SliceHistory {
  std::optional<ReceivedPayload> first;  // The initial weights.
  // Whole updates, by the number of updates that the slice had received before.
  std::map<int64_t, UpdateRecord> updates;
};

}  // namespace ps

#endif  // SERVER_SLICES_UPDATE_LOG_H_
