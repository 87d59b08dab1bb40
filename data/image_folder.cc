#include "data/image_folder.h"

#include <array>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/config_check.h"
#include "common/file.h"
#include "common/random.h"
#include "common/status_macros.h"
#include "data/config_rules.h"
#include "data/dataset.h"
#include "data/decode_image.h"
#include "data/folder.h"
#include "data/held_out.h"
#include "data/image_list.h"
#include "data/random_crop.h"
#include "data/resize.h"

namespace ps {
namespace {

// The purpose separates these draws from all others with the same seed.
constexpr uint64_t kImageFolderPurpose = 0x696d61676573;  // "images"

// Statistics of red, green and blue in ImageNet's training images, with
// brightness in [0, 1]; the weights of pretrained models expect these.
constexpr std::array<float, 3> kMean = {0.485f, 0.456f, 0.406f};
constexpr std::array<float, 3> kDeviation = {0.229f, 0.224f, 0.225f};

class Photographs final : public ImageConverter {
 public:
  explicit Photographs(const ImageFolderConfig& config) : config_(config) {}

  void Convert(const RgbImage& image, float* out) const override {
    ConvertPart(image,
                CenterCrop(image.width, image.height, config_.side(),
                           config_.test_resize()),
                /*flip=*/false, out);
  }

  void ConvertPart(const RgbImage& image, const Crop& crop, bool flip,
                   float* out) const {
    ResizeOptions options;
    options.width = config_.side();
    options.height = config_.side();
    options.flip = flip;
    CropAndResize(image, crop, options, out);
    const int64_t plane = options.width * options.height;
    for (int channel = 0; channel < 3; ++channel) {
      for (int64_t i = 0; i < plane; ++i, ++out) {
        *out = (*out / 255 - kMean[channel]) / kDeviation[channel];
      }
    }
  }

 private:
  const ImageFolderConfig config_;
};

class ImageFolder final : public Dataset {
 public:
  // `changes` says whether images look different in each epoch.
  ImageFolder(std::vector<ImageFile> files, std::vector<std::string> classes,
              bool changes, const DatasetOptions& options)
      : files_(std::move(files)),
        classes_(std::move(classes)),
        changes_(changes),
        seed_(options.seed),
        config_(options.config.image_folder()),
        photographs_(config_) {}

  ExampleShape example_shape() const override {
    return PhotographShape(config_, static_cast<int64_t>(classes_.size()));
  }

  int64_t size() const override { return static_cast<int64_t>(files_.size()); }

  std::vector<std::string> class_names() const override { return classes_; }
  std::string example_name(int64_t number) const override {
    return files_[number].path;
  }
  const ImageConverter* converter() const override { return &photographs_; }

  absl::Status Read(absl::Span<const int64_t> numbers, int64_t epoch,
                    Batch* batch) const override {
    const int64_t num_elements = example_shape().num_elements();
    batch->inputs.resize(numbers.size() * num_elements);
    batch->labels.resize(numbers.size());
    for (size_t i = 0; i < numbers.size(); ++i) {
      const int64_t number = numbers[i];
      if (number < 0 || number >= size()) {
        return absl::InvalidArgumentError(
            absl::StrCat("example ", number, " of ", size()));
      }
      PS_RETURN_IF_ERROR(
          ReadImage(number, epoch, &batch->inputs[i * num_elements]));
      batch->labels[i] = files_[number].label;
    }
    return absl::OkStatus();
  }

 private:
  absl::Status ReadImage(int64_t number, int64_t epoch, float* out) const {
    const std::string& path = files_[number].path;
    PS_ASSIGN_OR_RETURN(const std::string bytes, ReadRegularFile(path));
    const auto image = DecodeImage(bytes);
    if (!image.ok()) return Annotate(image.status(), path);
    if (!changes_) {
      photographs_.Convert(*image, out);
      return absl::OkStatus();
    }
    RandomStream random(RandomKey(seed_, kImageFolderPurpose,
                                  static_cast<uint64_t>(epoch),
                                  static_cast<uint64_t>(number)));
    const Crop crop =
        RandomCrop(image->width, image->height, config_.min_area(), &random);
    const bool flip = config_.flip() && random.Below(2) == 1;
    photographs_.ConvertPart(*image, crop, flip, out);
    return absl::OkStatus();
  }

  const std::vector<ImageFile> files_;
  const std::vector<std::string> classes_;
  const bool changes_;
  const uint64_t seed_;
  const ImageFolderConfig config_;
  const Photographs photographs_;
};

// Returns CLASS/NAME of each image in `folder`.
std::vector<std::string> NamesIn(const std::string& folder,
                                 const ImageList& list) {
  std::vector<std::string> names;
  for (const ImageFile& image : list.images) {
    names.push_back(image.path.substr(folder.size() + 1));
  }
  return names;
}

// The folders of the two sets; both are the same if examples are held out.
struct SetFolders {
  std::string train;
  std::string test;
  // The paths that are not read; folders end with "/".
  std::vector<std::string> beside;
};

SetFolders FoldersIn(const std::string& directory,
                     const FolderContents& contents, const std::string& train,
                     const std::string& test) {
  SetFolders folders = {absl::StrCat(directory, "/", train),
                        absl::StrCat(directory, "/", test), contents.files};
  for (const std::string& name : contents.folders) {
    if (name != train && name != test) folders.beside.push_back(name + "/");
  }
  for (std::string& name : folders.beside) {
    name = absl::StrCat(directory, "/", name);
  }
  return folders;
}

absl::StatusOr<SetFolders> FindFolders(const DataConfig& config) {
  const std::string& directory = config.directory();
  const double held_out = config.validation_fraction();
  PS_ASSIGN_OR_RETURN(const FolderContents contents, ListFolder(directory));
  for (const char* name : {"test", "val"}) {
    if (!absl::c_linear_search(contents.folders, name)) continue;
    if (held_out == 0) return FoldersIn(directory, contents, "train", name);
    return absl::InvalidArgumentError(absl::StrCat(
        "data.validation_fraction is ", held_out,
        "; must be 0, because there is a test set: ", directory, "/", name));
  }
  if (held_out == 0) {
    return absl::NotFoundError(absl::StrCat(
        "data.directory ", directory,
        " has neither a folder test nor val; it needs one of them beside "
        "train, each with a folder for each class, or "
        "data.validation_fraction=0.1, which holds a tenth of the images out "
        "of training"));
  }
  if (contents.folders == std::vector<std::string>{"train"}) {
    return FoldersIn(directory, contents, "train", "train");
  }
  return SetFolders{directory, directory, {}};
}

void CheckImageFolder(const JobConfig& config, ConfigProblems* problems) {
  RequireDirectory(config, "image_folder", "the folders train and test",
                   "shapes", problems);
  const ImageFolderConfig& images = config.data().image_folder();
  problems->CheckThat(
      images.test_resize() >= images.side() && images.test_resize() <= 4096,
      "data.image_folder.test_resize", images.test_resize(),
      absl::StrCat("must be in [", images.side(), ", 4096]"));
}

absl::StatusOr<DatasetPair> NewImageFolder(const DatasetOptions& options) {
  PS_RETURN_IF_ERROR(FirstProblem(options.config, CheckImageFolder));
  PS_ASSIGN_OR_RETURN(const SetFolders folders, FindFolders(options.config));
  PS_ASSIGN_OR_RETURN(const FolderContents for_training,
                      ListClasses(folders.train));
  const std::vector<std::string>& classes = for_training.folders;
  PS_ASSIGN_OR_RETURN(ImageList train,
                      ListImages(folders.train, for_training, classes));
  ImageList test;
  if (options.config.validation_fraction() > 0) {
    PS_ASSIGN_OR_RETURN(test.images, HoldOut(options, &train.images));
  } else {
    PS_ASSIGN_OR_RETURN(const FolderContents for_tests,
                        ListClasses(folders.test));
    PS_ASSIGN_OR_RETURN(test, ListImages(folders.test, for_tests, classes));
  }
  if (options.config.on_bad_example() == DataConfig::FAIL) {
    for (const ImageList* const list : {&train, &test}) {
      for (const ImageFile& image : list->images) {
        PS_RETURN_IF_ERROR(CheckImageFile(image.path));
      }
    }
  }
  DatasetPair pair;
  pair.description.AddList("training file", NamesIn(folders.train, train));
  pair.description.AddList("test file", NamesIn(folders.test, test));
  const auto add_note = [&pair](const std::vector<std::string>& unread) {
    std::string note = Unread(
        unread,
        "images are .jpg, .jpeg and .png files in the folder of their class");
    if (!note.empty()) pair.notes.push_back(std::move(note));
  };
  add_note(folders.beside);
  add_note(train.unread);
  add_note(test.unread);
  pair.train = std::make_unique<ImageFolder>(
      std::move(train.images), classes, /*changes=*/options.augment, options);
  pair.test = std::make_unique<ImageFolder>(std::move(test.images), classes,
                                            /*changes=*/false, options);
  return pair;
}

REGISTER_DATASET(
    "image_folder",
    "your own JPEG and PNG files, or ImageNet's, from data.directory",
    NewImageFolder);
const bool kImageFolderCheckRegistered = RegisterConfigCheck(CheckImageFolder);

}  // namespace

ExampleShape PhotographShape(const ImageFolderConfig& config,
                             int64_t num_classes) {
  ExampleShape shape;
  shape.channels = 3;
  shape.height = config.side();
  shape.width = config.side();
  shape.num_classes = num_classes;
  return shape;
}

std::unique_ptr<ImageConverter> NewPhotographConverter(
    const ImageFolderConfig& config) {
  return std::make_unique<Photographs>(config);
}

}  // namespace ps
