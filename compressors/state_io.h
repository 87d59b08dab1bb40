// Reads and writes the state of a compressor or a slice in a checkpoint: a kind
// and its version, numbers, and a checksum. Damaged state is rejected as a
// whole.
#ifndef COMPRESSORS_STATE_IO_H_
#define COMPRESSORS_STATE_IO_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace ps {

class StateWriter {
 public:
  // `kind` names the kind of object that writes the state; at most 240 bytes.
  // `version` counts the changes of the format.
  explicit StateWriter(absl::string_view kind, int version = 1);

  void PutInt(int64_t value);
  void PutDouble(double value);            // Stores the bits.
  void PutBytes(absl::string_view value);  // Stores the length too.
  void PutFloats(absl::Span<const float> values);
  // Stores a result of StateReader::Rest.
  void PutRest(absl::string_view rest);

  // Ends the state; the writer must not be used afterwards.
  std::string Finish() &&;

 private:
  std::string bytes_;
};

// Reads the numbers in the order in which they were put. Errors: kDataLoss.
class StateReader {
 public:
  // Checks the kind, its version and the checksum.
  static absl::StatusOr<StateReader> Open(absl::string_view kind,
                                          absl::string_view state,
                                          int version = 1);

  absl::StatusOr<int64_t> GetInt();
  absl::StatusOr<double> GetDouble();
  // The result points into the state that is being read.
  absl::StatusOr<absl::string_view> GetBytes();
  absl::Status GetFloats(absl::Span<float> values);  // As many as were put.

  // Returns all bytes that are left, for callers that change only the earlier
  // ones. The result points into the state that is being read.
  absl::string_view Rest();

  // Returns an error if numbers are left. Call it before using the state.
  absl::Status Finish() const;

 private:
  explicit StateReader(absl::string_view fields) : fields_(fields) {}

  absl::string_view fields_;
};

}  // namespace ps

#endif  // COMPRESSORS_STATE_IO_H_
