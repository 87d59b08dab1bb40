// How the examples of a data set are put into batches.
#ifndef DATA_EXAMPLE_ORDER_H_
#define DATA_EXAMPLE_ORDER_H_

namespace ps {

enum class ExampleOrder {
  // Anew in each epoch.
  kShuffled,
  // Example n + 1 goes on where example n ends, as in text: each row of a batch
  // goes on where the same row of the batch before ended.
  kSequential,
};

}  // namespace ps

#endif  // DATA_EXAMPLE_ORDER_H_
