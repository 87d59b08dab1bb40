// Implements the data sets "cifar10" and "cifar100": colour images of 32 x 32
// pixels, in the binary version of Krizhevsky ("Learning Multiple Layers of
// Features from Tiny Images", 2009; www.cs.toronto.edu/~kriz/cifar.html).

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/config_check.h"
#include "common/file.h"
#include "common/status_macros.h"
#include "data/byte_images.h"
#include "data/cifar_records.h"
#include "data/config_rules.h"
#include "data/dataset.h"

namespace ps {
namespace {

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

absl::Status AppendFile(const CifarFormat& format, const std::string& path,
                        ByteImages* images) {
  auto bytes = ReadRegularFile(path);
  if (absl::IsNotFound(bytes.status())) {
    return absl::NotFoundError(
        absl::StrCat(bytes.status().message(), "; the binary version of ",
                     format.name, " is at ", format.address,
                     ", and image_folder reads JPEG and PNG files"));
  }
  if (!bytes.ok()) return bytes.status();
  return Annotate(AppendCifarRecords(*bytes, format.label_bytes, images), path);
}

absl::StatusOr<ByteImages> ReadFiles(const CifarFormat& format,
                                     const std::string& directory,
                                     const std::vector<std::string>& names) {
  ByteImages images = NoCifarImages(format.num_classes);
  for (const std::string& name : names) {
    PS_RETURN_IF_ERROR(
        AppendFile(format, absl::StrCat(directory, "/", name), &images));
  }
  return images;
}

void CheckCifar(const JobConfig& config, ConfigProblems* problems) {
  RequireDirectory(config, "cifar10", "data_batch_1.bin and the other files",
                   "shapes", problems);
  RequireDirectory(config, "cifar100", "train.bin and test.bin", "shapes",
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
  if (options.augment) {
    augmentation.crop_padding = options.config.cifar().crop_padding();
    augmentation.flip = options.config.cifar().flip();
    augmentation.seed = options.seed;
  }
  DatasetPair pair;
  DescribeImages(train, test, scales, &pair.description);
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

REGISTER_DATASET("cifar10",
                 "photographs of 32 x 32 in 10 classes, from data.directory",
                 NewCifar10);
REGISTER_DATASET("cifar100",
                 "photographs of 32 x 32 in 100 classes, from data.directory",
                 NewCifar100);
const bool kCifarCheckRegistered = RegisterConfigCheck(CheckCifar);

}  // namespace
}  // namespace ps
