#include "storage/record_log.h"

#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "common/status_macros.h"
#include "storage/crc32c.h"

namespace ps {
namespace {

constexpr absl::string_view kHeader = "gradsieve-log 1\n";
constexpr size_t kLengthBytes = sizeof(uint32_t);
constexpr size_t kPrefixBytes = 3 * sizeof(uint32_t);

std::string Encoded(uint32_t value) {
  std::string bytes(sizeof(value), '\0');
  for (char& byte : bytes) {
    byte = static_cast<char>(value & 0xff);
    value >>= 8;
  }
  return bytes;
}

uint32_t Decoded(absl::string_view bytes) {
  uint32_t value = 0;
  for (size_t i = sizeof(value); i-- > 0;) {
    value = value << 8 | static_cast<uint8_t>(bytes[i]);
  }
  return value;
}

}  // namespace

RecordLogWriter::RecordLogWriter(std::string path,
                                 std::unique_ptr<OutputFile> file,
                                 int64_t size_bytes)
    : path_(std::move(path)), file_(std::move(file)), size_bytes_(size_bytes) {}

absl::StatusOr<RecordLogWriter> RecordLogWriter::Create(
    Files* files, const std::string& path) {
  PS_ASSIGN_OR_RETURN(std::unique_ptr<OutputFile> file, files->Create(path));
  PS_RETURN_IF_ERROR(file->Append({kHeader}));
  return RecordLogWriter(path, std::move(file),
                         static_cast<int64_t>(kHeader.size()));
}

absl::Status RecordLogWriter::Append(
    absl::Span<const absl::string_view> pieces) {
  if (failure_.ok()) failure_ = TryAppend(pieces);
  return failure_;
}

absl::Status RecordLogWriter::TryAppend(
    absl::Span<const absl::string_view> pieces) {
  size_t size = 0;
  uint32_t checksum = 0;
  for (const absl::string_view piece : pieces) {
    size += piece.size();
    checksum = Crc32c(piece, checksum);
  }
  if (size > std::numeric_limits<uint32_t>::max()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a record of ", size, " bytes for ", path_, "; must be below 2^32"));
  }
  const std::string length = Encoded(static_cast<uint32_t>(size));
  const std::string prefix =
      absl::StrCat(length, Encoded(Crc32c(length)), Encoded(checksum));
  std::vector<absl::string_view> all = {prefix};
  all.insert(all.end(), pieces.begin(), pieces.end());
  PS_RETURN_IF_ERROR(file_->Append(all));
  size_bytes_ += static_cast<int64_t>(kPrefixBytes + size);
  return absl::OkStatus();
}

absl::StatusOr<RecordLogReader> RecordLogReader::Open(Files* files,
                                                      const std::string& path) {
  RecordLogReader reader;
  reader.path_ = path;
  PS_ASSIGN_OR_RETURN(std::string bytes, files->Read(path));
  reader.bytes_ = std::make_unique<std::string>(std::move(bytes));
  PS_RETURN_IF_ERROR(reader.Parse());
  return reader;
}

absl::Status RecordLogReader::Parse() {
  absl::string_view rest = *bytes_;
  const auto damaged = [&](absl::string_view problem) {
    return absl::DataLossError(absl::StrCat(path_, " is damaged at byte ",
                                            bytes_->size() - rest.size(), ": ",
                                            problem));
  };
  if (!absl::ConsumePrefix(&rest, kHeader)) {
    return damaged("it does not begin as a log");
  }
  whole_ = static_cast<int64_t>(kHeader.size());
  while (rest.size() >= kPrefixBytes) {
    const absl::string_view length = rest.substr(0, kLengthBytes);
    if (Decoded(rest.substr(kLengthBytes)) != Crc32c(length)) {
      return damaged(absl::StrCat("the length of record ", records_.size(),
                                  " does not have its checksum"));
    }
    const size_t size = Decoded(length);
    if (rest.size() - kPrefixBytes < size) break;
    const absl::string_view record = rest.substr(kPrefixBytes, size);
    if (Decoded(rest.substr(2 * kLengthBytes)) != Crc32c(record)) {
      return damaged(absl::StrCat("record ", records_.size(),
                                  " does not have its checksum"));
    }
    records_.push_back(record);
    rest.remove_prefix(kPrefixBytes + size);
    whole_ += static_cast<int64_t>(kPrefixBytes + size);
  }
  return absl::OkStatus();
}

absl::StatusOr<RecordLogWriter> RecordLogReader::Continue(Files* files) const {
  PS_ASSIGN_OR_RETURN(std::unique_ptr<OutputFile> file,
                      files->Continue(path_, whole_));
  return RecordLogWriter(path_, std::move(file), whole_);
}

}  // namespace ps
