#include "worker/tensorboard/event_file.h"

#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "glog/logging.h"
#include "storage/crc32c.h"

namespace ps {
namespace {

std::string LittleEndian(uint64_t value, int size) {
  std::string bytes;
  for (int i = 0; i < size; ++i) {
    bytes.push_back(static_cast<char>(value >> (8 * i) & 0xff));
  }
  return bytes;
}

// Returns a masked CRC32C, as TFRecord requires.
std::string MaskedChecksum(absl::string_view data) {
  const uint32_t crc = Crc32c(data);
  return LittleEndian((crc >> 15 | crc << 17) + uint32_t{0xa282ead8}, 4);
}

std::string HostName() {
  char name[256] = "";
  gethostname(name, sizeof(name) - 1);
  return name;
}

// Returns a new name. The reader sorts the files of a directory by name. A
// process that is restarted within a second has another number.
std::string FileName() {
  return absl::StrFormat("events.out.tfevents.%010d.%s.%d",
                         absl::ToUnixSeconds(absl::Now()), HostName(),
                         getpid());
}

}  // namespace

std::string TensorFlowRecord(absl::string_view data) {
  const std::string length = LittleEndian(data.size(), 8);
  return absl::StrCat(length, MaskedChecksum(length), data,
                      MaskedChecksum(data));
}

absl::StatusOr<std::unique_ptr<EventFile>> EventFile::Create(
    const std::string& directory, int64_t first_step) {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  const std::string path = absl::StrCat(directory, "/", FileName());
  std::unique_ptr<EventFile> file(new EventFile(path));
  if (!file->out_.is_open()) {
    return absl::ErrnoToStatus(errno, absl::StrCat("cannot write ", path));
  }
  TensorBoardEvent version;
  version.set_file_version("brain.Event:2");
  file->Write(&version);
  TensorBoardEvent start;
  start.set_step(first_step);
  start.mutable_session_log()->set_status(TensorBoardSession::START);
  file->Write(&start);
  return file;
}

void EventFile::Write(TensorBoardEvent* event) {
  if (failed_) return;
  event->set_wall_time(absl::ToDoubleSeconds(absl::Now() - absl::UnixEpoch()));
  out_ << TensorFlowRecord(event->SerializeAsString()) << std::flush;
  failed_ = !out_;
  LOG_IF(ERROR, failed_) << absl::ErrnoToStatus(
                                errno, absl::StrCat("cannot write ", path_))
                                .message()
                         << "; training goes on, and this file ends here";
}

}  // namespace ps
