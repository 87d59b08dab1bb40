// Parses the records of CIFAR's binary files: the labels, one byte each, then
// the red, green and blue planes.
#ifndef DATA_CIFAR_RECORDS_H_
#define DATA_CIFAR_RECORDS_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "data/byte_images.h"

namespace ps {

// Height and width of each image.
constexpr int64_t kCifarSide = 32;

// Returns an empty set of images of the right shape.
ByteImages NoCifarImages(int64_t num_classes);

// Adds a file's records, with the last of their `label_bytes` labels. Errors:
// kDataLoss for an empty file, one that ends within a record, or a label that
// is not a class.
absl::Status AppendCifarRecords(absl::string_view bytes, int64_t label_bytes,
                                ByteImages* images);

}  // namespace ps

#endif  // DATA_CIFAR_RECORDS_H_
