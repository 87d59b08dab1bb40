// Defines data sets: labelled examples, by number.
#ifndef DATA_DATASET_H_
#define DATA_DATASET_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "common/batch.h"
#include "common/data_description.h"
#include "common/labelled_sequences.h"
#include "common/registry.h"
#include "data/example_order.h"
#include "proto/data_config.pb.h"

namespace ps {

class ImageConverter;

// A set of examples. Immutable after construction, so any thread may read.
class Dataset {
 public:
  virtual ~Dataset() = default;

  virtual ExampleShape example_shape() const = 0;
  virtual int64_t size() const = 0;

  virtual ExampleOrder order() const { return ExampleOrder::kShuffled; }

  // The name of each class of images or texts, in order; empty if classes have
  // numbers only.
  virtual std::vector<std::string> class_names() const { return {}; }

  // Returns a name of the example for people: its file, if it has one of its
  // own, and otherwise the number.
  virtual std::string example_name(int64_t number) const {
    return absl::StrCat(number);
  }

  // Returns a converter of any photographs to examples, as they look in the
  // test set; null if that is not possible, and if examples are no images.
  // Lives as long as the data set.
  virtual const ImageConverter* converter() const { return nullptr; }

  // Returns the same examples for Model::CheckSequences; null if all examples
  // have one length. Lives as long as the data set.
  virtual const LabelledSequences* sequences() const { return nullptr; }

  // Fills *batch with the examples of these numbers, each in [0, size()), as
  // they look in `epoch`. If a training set changes its examples at random
  // (crops, flips), each change is a function of seed, epoch and number alone.
  // Reuses the batch's memory if it is large enough. Does not change
  // batch->continues or batch->random_key.
  virtual absl::Status Read(absl::Span<const int64_t> numbers, int64_t epoch,
                            Batch* batch) const = 0;
};

struct DatasetPair {
  std::unique_ptr<Dataset> train;
  std::unique_ptr<Dataset> test;
  // Describes what gives the numbers of the batches their meaning. A data set
  // of files adds what its files decide (words, scales, the files' names or a
  // digest of them); NewDataset prepends what the sets above tell.
  DataDescription description;
  // Sentences for people about files that are not used.
  std::vector<std::string> notes;
};

struct DatasetOptions {
  DataConfig config;
  uint64_t seed = 0;
  // Whether to augment training examples. If false, they look like those of the
  // test set, for evaluations.
  bool augment = true;
};

using DatasetFactory = absl::StatusOr<DatasetPair> (*)(const DatasetOptions&);

// Returns the registry of all data sets that are linked in.
Registry<DatasetFactory>& DatasetRegistry();

// Creates the data set that options.config names. Errors: kInvalidArgument for
// an unknown name; kNotFound and kDataLoss, naming the file and what was
// expected of it.
absl::StatusOr<DatasetPair> NewDataset(const DatasetOptions& options);

// Registers a data set; `meaning` describes it in one line, for lists.
#define REGISTER_DATASET(name, meaning, factory)      \
  static const bool ps_dataset_registered_##factory = \
      ::ps::DatasetRegistry().Register(name, meaning, factory)

}  // namespace ps

#endif  // DATA_DATASET_H_
