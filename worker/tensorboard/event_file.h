// Writes a file of events for TensorBoard.
#ifndef WORKER_TENSORBOARD_EVENT_FILE_H_
#define WORKER_TENSORBOARD_EVENT_FILE_H_

#include <cstdint>
#include <fstream>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "proto/tensorboard_event.pb.h"

namespace ps {

// Returns one record of a TFRecord file: the length in 8 bytes, its checksum,
// the data and their checksum, all numbers little-endian. The checksums are
// CRC-32C, rotated, plus a constant.
std::string TensorFlowRecord(absl::string_view data);

// The file. Not thread-safe.
class EventFile {
 public:
  // Creates a new file DIRECTORY/events.out.tfevents.TIME.HOST.PID. Values from
  // first_step on in other files of the directory do not count any more.
  // Errors: the system's, with the path.
  static absl::StatusOr<std::unique_ptr<EventFile>> Create(
      const std::string& directory, int64_t first_step);

  // Sets the event's time and writes it. After an error, which is logged,
  // nothing more is written: readers stop at a damaged record.
  void Write(TensorBoardEvent* event);

 private:
  explicit EventFile(const std::string& path)
      : path_(path), out_(path, std::ios::binary) {}

  const std::string path_;
  std::ofstream out_;
  bool failed_ = false;
};

}  // namespace ps

#endif  // WORKER_TENSORBOARD_EVENT_FILE_H_
