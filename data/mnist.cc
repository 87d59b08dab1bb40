// Implements the data set "mnist": the four IDX files of MNIST, or of another
// set in the same form, such as Fashion-MNIST.

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/config_check.h"
#include "common/status_macros.h"
#include "data/byte_images.h"
#include "data/config_rules.h"
#include "data/dataset.h"
#include "data/folder.h"
#include "data/idx.h"

namespace ps {
namespace {

constexpr int64_t kNumClasses = 10;

// Finds the file of `subject`, such as "train-images", in `format`, such as
// "idx3-ubyte", under the first of the usual names that `directory` has. Adds
// files of the other names to *unread.
absl::StatusOr<std::string> FindFile(const std::string& directory,
                                     const std::string& subject,
                                     const std::string& format,
                                     std::vector<std::string>* unread) {
  std::vector<std::string> names;
  std::string found;
  // On some mirrors the unpacked file has a dot: "train-images.idx3-ubyte".
  for (const char* separator : {"-", "."}) {
    for (const char* ending : {"", ".gz"}) {
      names.push_back(absl::StrCat(subject, separator, format, ending));
      const std::string path = absl::StrCat(directory, "/", names.back());
      if (access(path.c_str(), F_OK) == 0) {
        if (found.empty()) {
          found = path;
        } else {
          unread->push_back(path);
        }
      } else if (errno != ENOENT && errno != ENOTDIR) {
        return absl::ErrnoToStatus(errno, absl::StrCat("cannot open ", path));
      }
    }
  }
  if (!found.empty()) return found;
  return absl::NotFoundError(absl::StrCat(
      "data.directory ", directory, " has no ", absl::StrJoin(names, ", no "),
      "; the four files of MNIST are at "
      "https://ossci-datasets.s3.amazonaws.com/mnist/"));
}

absl::StatusOr<ByteImages> ReadPart(const std::string& directory,
                                    const std::string& part,
                                    std::vector<std::string>* unread) {
  PS_ASSIGN_OR_RETURN(
      const std::string images_path,
      FindFile(directory, absl::StrCat(part, "-images"), "idx3-ubyte", unread));
  PS_ASSIGN_OR_RETURN(
      const std::string labels_path,
      FindFile(directory, absl::StrCat(part, "-labels"), "idx1-ubyte", unread));
  PS_ASSIGN_OR_RETURN(IdxArray images, ReadIdx(images_path, 3));
  PS_ASSIGN_OR_RETURN(IdxArray labels, ReadIdx(labels_path, 1));
  if (images.dimensions[0] != labels.dimensions[0]) {
    return absl::DataLossError(absl::StrCat(
        images_path, " has ", images.dimensions[0], " images, but ",
        labels_path, " has ", labels.dimensions[0], " labels"));
  }
  const auto foreign = std::find_if(
      labels.values.begin(), labels.values.end(),
      [](uint8_t label) { return static_cast<int64_t>(label) >= kNumClasses; });
  if (foreign != labels.values.end()) {
    return absl::DataLossError(absl::StrCat(
        labels_path, ": label ", foreign - labels.values.begin(), " is ",
        static_cast<int>(*foreign), "; must be at most ", kNumClasses - 1));
  }
  ByteImages result;
  result.shape.channels = 1;
  result.shape.height = images.dimensions[1];
  result.shape.width = images.dimensions[2];
  result.shape.num_classes = kNumClasses;
  result.pixels = std::move(images.values);
  result.labels = std::move(labels.values);
  return result;
}

absl::StatusOr<DatasetPair> NewMnist(const DatasetOptions& options) {
  const std::string& directory = options.config.directory();
  std::vector<std::string> unread;
  PS_ASSIGN_OR_RETURN(ByteImages train, ReadPart(directory, "train", &unread));
  PS_ASSIGN_OR_RETURN(ByteImages test, ReadPart(directory, "t10k", &unread));
  if (train.shape.height != test.shape.height ||
      train.shape.width != test.shape.width) {
    return absl::DataLossError(
        absl::StrCat(directory, ": training images are ", train.shape.height,
                     " x ", train.shape.width, " pixels, test images ",
                     test.shape.height, " x ", test.shape.width));
  }
  const std::vector<PixelScale> scales = MeasurePixels(train);
  DatasetPair pair;
  std::string note =
      Unread(unread, "other files with these images or labels come first");
  if (!note.empty()) pair.notes.push_back(std::move(note));
  DescribeImages(train, test, scales, &pair.description);
  pair.train = NewByteImageDataset(std::move(train), scales);
  pair.test = NewByteImageDataset(std::move(test), scales);
  return pair;
}

void CheckMnist(const JobConfig& config, ConfigProblems* problems) {
  RequireDirectory(config, "mnist", "the IDX files", "digits", problems);
}

REGISTER_DATASET(
    "mnist", "MNIST or Fashion-MNIST, images of 28 x 28, from data.directory",
    NewMnist);
const bool kMnistCheckRegistered = RegisterConfigCheck(CheckMnist);

}  // namespace
}  // namespace ps
