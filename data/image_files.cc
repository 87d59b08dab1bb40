#include "data/image_files.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/file.h"
#include "common/status_macros.h"
#include "data/decode_image.h"

namespace ps {
namespace {

class ImageFiles final : public Dataset {
 public:
  ImageFiles(const std::vector<std::string>& paths, const ExampleShape& shape,
             const ImageConverter* converter,
             std::vector<std::string> class_names)
      : paths_(paths),
        shape_(shape),
        converter_(converter),
        class_names_(std::move(class_names)) {}

  ExampleShape example_shape() const override { return shape_; }
  int64_t size() const override { return static_cast<int64_t>(paths_.size()); }
  std::vector<std::string> class_names() const override { return class_names_; }
  std::string example_name(int64_t number) const override {
    return paths_[number];
  }

  absl::Status Read(absl::Span<const int64_t> numbers, int64_t /*epoch*/,
                    Batch* batch) const override {
    const int64_t num_elements = shape_.num_elements();
    batch->inputs.resize(numbers.size() * num_elements);
    batch->labels.assign(numbers.size(), 0);
    for (size_t i = 0; i < numbers.size(); ++i) {
      if (numbers[i] < 0 || numbers[i] >= size()) {
        return absl::InvalidArgumentError(
            absl::StrCat("example ", numbers[i], " of ", size()));
      }
      const std::string& path = paths_[numbers[i]];
      PS_ASSIGN_OR_RETURN(const std::string bytes, ReadRegularFile(path));
      const auto image = DecodeImage(bytes);
      if (!image.ok()) return Annotate(image.status(), path);
      converter_->Convert(*image, &batch->inputs[i * num_elements]);
    }
    return absl::OkStatus();
  }

 private:
  const std::vector<std::string> paths_;
  const ExampleShape shape_;
  const ImageConverter* const converter_;  // Not owned.
  const std::vector<std::string> class_names_;
};

}  // namespace

std::unique_ptr<Dataset> NewImageFiles(const std::vector<std::string>& paths,
                                       const ExampleShape& shape,
                                       const ImageConverter* converter,
                                       std::vector<std::string> class_names) {
  return std::make_unique<ImageFiles>(paths, shape, converter,
                                      std::move(class_names));
}

}  // namespace ps
