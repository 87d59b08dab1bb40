#include "compressors/state_io.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "common/random.h"
#include "common/status_macros.h"
#include "glog/logging.h"

namespace ps {
namespace {

void Append(uint64_t value, std::string* bytes) {
  for (int shift = 0; shift < 64; shift += 8) {
    bytes->push_back(static_cast<char>(value >> shift & 0xff));
  }
}

// Loads the first eight bytes, or fewer if there are fewer.
uint64_t Load(absl::string_view bytes) {
  uint64_t value = 0;
  for (size_t i = 0; i < std::min<size_t>(8, bytes.size()); ++i) {
    value |= uint64_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
  }
  return value;
}

// Hashes by words: a compressor's momentum may be as large as the model.
uint64_t Checksum(absl::string_view bytes) {
  uint64_t hash = bytes.size();
  for (size_t i = 0; i < bytes.size(); i += 8) {
    hash = Mix64(hash ^ Load(bytes.substr(i)));
  }
  return hash;
}

}  // namespace

StateWriter::StateWriter(absl::string_view kind, int version) {
  const std::string text = absl::StrCat(kind, " ", version);
  CHECK_LT(text.size(), 256u);
  bytes_.push_back(static_cast<char>(text.size()));
  absl::StrAppend(&bytes_, text);
}

void StateWriter::PutInt(int64_t value) {
  Append(static_cast<uint64_t>(value), &bytes_);
}

void StateWriter::PutDouble(double value) {
  uint64_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  Append(bits, &bytes_);
}

void StateWriter::PutBytes(absl::string_view value) {
  PutInt(static_cast<int64_t>(value.size()));
  absl::StrAppend(&bytes_, value);
}

void StateWriter::PutFloats(absl::Span<const float> values) {
  bytes_.append(reinterpret_cast<const char*>(values.data()),
                values.size() * sizeof(float));
}

void StateWriter::PutRest(absl::string_view rest) {
  absl::StrAppend(&bytes_, rest);
}

std::string StateWriter::Finish() && {
  Append(Checksum(bytes_), &bytes_);
  return std::move(bytes_);
}

absl::StatusOr<StateReader> StateReader::Open(absl::string_view kind,
                                              absl::string_view state,
                                              int version) {
  if (state.size() < 1 + sizeof(uint64_t)) {
    return absl::DataLossError(
        absl::StrCat("saved state of ", state.size(), " bytes"));
  }
  const absl::string_view bytes =
      state.substr(0, state.size() - sizeof(uint64_t));
  if (Load(state.substr(bytes.size())) != Checksum(bytes)) {
    return absl::DataLossError("saved state has a wrong checksum");
  }
  const size_t kind_size = static_cast<unsigned char>(bytes[0]);
  const absl::string_view saved = bytes.substr(1, kind_size);
  const std::string needed = absl::StrCat(kind, " ", version);
  if (bytes.size() < 1 + kind_size || saved != needed) {
    return absl::DataLossError(
        absl::StrCat("the saved state is \"", absl::CHexEscape(saved),
                     "\", and \"", needed, "\" is needed",
                     saved.substr(0, saved.rfind(' ')) == kind
                         ? "; another version of this program has written it"
                         : ""));
  }
  return StateReader(bytes.substr(1 + kind_size));
}

absl::StatusOr<int64_t> StateReader::GetInt() {
  if (fields_.size() < sizeof(uint64_t)) {
    return absl::DataLossError("saved state is too short");
  }
  const uint64_t value = Load(fields_);
  fields_.remove_prefix(sizeof(uint64_t));
  return static_cast<int64_t>(value);
}

absl::StatusOr<double> StateReader::GetDouble() {
  PS_ASSIGN_OR_RETURN(const int64_t bits, GetInt());
  double value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

absl::StatusOr<absl::string_view> StateReader::GetBytes() {
  PS_ASSIGN_OR_RETURN(const int64_t size, GetInt());
  if (size < 0 || static_cast<uint64_t>(size) > fields_.size()) {
    return absl::DataLossError("saved state is too short");
  }
  const absl::string_view value = fields_.substr(0, size);
  fields_.remove_prefix(size);
  return value;
}

absl::Status StateReader::GetFloats(absl::Span<float> values) {
  const size_t size_bytes = values.size() * sizeof(float);
  if (fields_.size() < size_bytes) {
    return absl::DataLossError("saved state is too short");
  }
  if (size_bytes > 0) std::memcpy(values.data(), fields_.data(), size_bytes);
  fields_.remove_prefix(size_bytes);
  return absl::OkStatus();
}

absl::string_view StateReader::Rest() {
  return std::exchange(fields_, absl::string_view());
}

absl::Status StateReader::Finish() const {
  if (fields_.empty()) return absl::OkStatus();
  return absl::DataLossError("saved state is too long");
}

}  // namespace ps
