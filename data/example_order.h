// How the examples of a data set are grouped into batches.
#ifndef DATA_EXAMPLE_ORDER_H_
#define DATA_EXAMPLE_ORDER_H_

namespace ps {

enum class ExampleOrder {
  // Examples are in a new random order in each epoch.
  kShuffled,
  // Example n + 1 continues example n, as in text: each row of a batch
  // continues the same row of the previous batch.
  kSequential,
};

}  // namespace ps

#endif  // DATA_EXAMPLE_ORDER_H_
