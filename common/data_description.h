// Describes the meaning of a process's data as text, which processes compare:
// workers for which the same numbers mean different words must not train
// together.
#ifndef COMMON_DATA_DESCRIPTION_H_
#define COMMON_DATA_DESCRIPTION_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace ps {

// The most bytes of a description.
constexpr size_t kMaxDataDescriptionBytes = size_t{1} << 16;

// Builds a description of lines "name: value", each name once. It is UTF-8
// without control characters other than the line feeds.
class DataDescription {
 public:
  // `value` is printable.
  void Add(absl::string_view name, absl::string_view value);

  // Adds a digest of bytes that are too many to send.
  void AddDigest(absl::string_view name, absl::string_view bytes);

  // Adds a line "name 0: first", "name 1: second" for each of the first items,
  // as many as fit into 16 KiB, and one with the number and a digest of all. At
  // most three lists fit into a description.
  void AddList(absl::string_view name, const std::vector<std::string>& items);

  void Append(const DataDescription& other) { text_ += other.text_; }

  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

// The key of MeaningOfNumbers in the metadata of weight files.
inline constexpr char kDataMetadata[] = "data";

// Returns the lines of a description that say what the numbers of an example
// mean: words, an alphabet, scales of pixels. It omits those of the training
// and test set, the names of classes, sizes (which are compared with the
// weights'), and the digest of frozen weights.
std::string MeaningOfNumbers(absl::string_view description);

// Whether UTF-8 has a control character, of ASCII or of Latin-1 (C1), which
// could change what a terminal shows.
bool HasControlCharacters(absl::string_view text);

// Describes how two descriptions differ, in one line that names at most three
// differences: "class 1: "cat" there and "dog" here". Empty if they are equal.
// Either may be untrusted.
std::string DescribeDataDifference(absl::string_view here,
                                   absl::string_view there);

}  // namespace ps

#endif  // COMMON_DATA_DESCRIPTION_H_
