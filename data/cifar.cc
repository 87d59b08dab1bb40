// The data sets "cifar10" and "cifar100": colour images of 32 x 32 pixels, in
// the binary version of Krizhevsky ("Learning Multiple Layers of Features from
// Tiny Images", 2009; www.cs.toronto.edu/~kriz/cifar.html). A file consists of
// records of one size: the labels, one byte each, then the red, green and blue
// planes.

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/config_check.h"
#include "common/file.h"
#include "common/status_macros.h"
#include "data/byte_images.h"
#include "data/config_rules.h"
#include "data/dataset.h"

namespace ps {
namespace {

constexpr int64_t kSide = 32;
constexpr int64_t kPixelBytes = 3 * kSide * kSide;

// The differences between the two formats.
struct CifarFormat {
  const char* name;
  const char* address;
  std::vector<std::string> train_files;
  std::string test_file;
  int64_t label_bytes;  // The last label is the one that is used.
  int64_t num_classes;
};

CifarFormat Cifar10Format() {
  return {"cifar10",
          "https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz",
          {"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin",
           "data_batch_4.bin", "data_batch_5.bin"},
          "test_batch.bin",
          1,
          10};
}

// Each record has one of 20 coarse labels before the fine one.
CifarFormat Cifar100Format() {
  return {"cifar100",
          "https://www.cs.toronto.edu/~kriz/cifar-100-binary.tar.gz",
          {"train.bin"},
          "test.bin",
          2,
          100};
}

absl::Status AppendRecords(const CifarFormat& format, const std::string& path,
                           ByteImages* images) {
  auto bytes = ReadRegularFile(path);
  if (absl::IsNotFound(bytes.status())) {
    return absl::NotFoundError(
        absl::StrCat(bytes.status().message(), "; the binary version of ",
                     format.name, " is at ", format.address));
  }
  if (!bytes.ok()) return bytes.status();
  const int64_t record_bytes = format.label_bytes + kPixelBytes;
  const int64_t size = static_cast<int64_t>(bytes->size());
  if (size == 0) return absl::DataLossError(absl::StrCat(path, ": is empty"));
  if (size % record_bytes != 0) {
    return absl::DataLossError(
        absl::StrCat(path, ": record ", size / record_bytes, " has ",
                     size % record_bytes, " bytes; must have ", record_bytes));
  }
  for (int64_t at = 0; at < size; at += record_bytes) {
    const uint8_t label = (*bytes)[at + format.label_bytes - 1];
    if (int64_t{label} >= format.num_classes) {
      return absl::DataLossError(
          absl::StrCat(path, ": record ", at / record_bytes, " has label ",
                       static_cast<int>(label), "; must be at most ",
                       format.num_classes - 1));
    }
    images->labels.push_back(label);
    const auto pixels = bytes->begin() + at + format.label_bytes;
    images->pixels.insert(images->pixels.end(), pixels, pixels + kPixelBytes);
  }
  return absl::OkStatus();
}

absl::StatusOr<ByteImages> ReadFiles(const CifarFormat& format,
                                     const std::string& directory,
                                     const std::vector<std::string>& names) {
  ByteImages images;
  images.shape.channels = 3;
  images.shape.height = kSide;
  images.shape.width = kSide;
  images.shape.num_classes = format.num_classes;
  for (const std::string& name : names) {
    PS_RETURN_IF_ERROR(
        AppendRecords(format, absl::StrCat(directory, "/", name), &images));
  }
  return images;
}

void CheckCifar(const JobConfig& config, ConfigProblems* problems) {
  RequireDirectory(config, "cifar10", "data_batch_1.bin and the other files",
                   problems);
  RequireDirectory(config, "cifar100", "train.bin and test.bin", problems);
  RequireRange("cifar.crop_padding",
               int64_t{config.data().cifar().crop_padding()}, 0, kSide,
               problems);
}

absl::StatusOr<DatasetPair> NewCifar(const CifarFormat& format,
                                     const DatasetOptions& options) {
  PS_RETURN_IF_ERROR(FirstProblem(options.config, CheckCifar));
  const std::string& directory = options.config.directory();
  PS_ASSIGN_OR_RETURN(ByteImages train,
                      ReadFiles(format, directory, format.train_files));
  PS_ASSIGN_OR_RETURN(ByteImages test,
                      ReadFiles(format, directory, {format.test_file}));
  const std::vector<PixelScale> scales = MeasurePixels(train);
  ImageAugmentation augmentation;
  augmentation.crop_padding = options.config.cifar().crop_padding();
  augmentation.flip = options.config.cifar().flip();
  augmentation.seed = options.seed;
  DatasetPair pair;
  pair.train = NewByteImageDataset(std::move(train), scales, augmentation);
  pair.test = NewByteImageDataset(std::move(test), scales);
  return pair;
}

absl::StatusOr<DatasetPair> NewCifar10(const DatasetOptions& options) {
  return NewCifar(Cifar10Format(), options);
}

absl::StatusOr<DatasetPair> NewCifar100(const DatasetOptions& options) {
  return NewCifar(Cifar100Format(), options);
}

REGISTER_DATASET("cifar10", NewCifar10);
REGISTER_DATASET("cifar100", NewCifar100);
const bool kCifarCheckRegistered = RegisterConfigCheck(CheckCifar);

}  // namespace
}  // namespace ps
