// One mini-batch on the host, between the data sets and the models.
#ifndef COMMON_BATCH_H_
#define COMMON_BATCH_H_

#include <cstdint>
#include <string>
#include <vector>

namespace ps {

// The kind of problem that a model learns. It decides what a batch holds and
// which metrics an evaluation reports.
enum class Task {
  kImages,      // A class for each image.
  kWords,       // The next word.
  kCharacters,  // The next character.
  kTexts,       // A class for each text.
  kSpeech,      // A transcript for each recording.
};

// Whether each token has the next one as its label.
inline bool TellsNextToken(Task task) {
  return task == Task::kWords || task == Task::kCharacters;
}

// Whether each example has one label, its class.
inline bool HasClasses(Task task) {
  return task == Task::kImages || task == Task::kTexts;
}

// The dimensions of a data set's examples. Fields that a task does not use are
// 0.
struct ExampleShape {
  Task task = Task::kImages;
  int64_t channels = 0;  // Images.
  int64_t height = 0;
  int64_t width = 0;
  int64_t steps = 0;     // The tokens in an example of text.
  int64_t features = 0;  // Speech: numbers in a frame.
  // The number of classes of images and texts with a class; of words or
  // characters in the vocabulary of other text, below 2^24; of characters of
  // speech, where 0 is CTC's blank.
  int64_t num_classes = 0;
  // The number of words in the vocabulary of texts with a class, below 2^24.
  int64_t vocabulary = 0;
  // Speech: class i is the character alphabet[i]; alphabet[0] is unused.
  std::string alphabet;

  // Images: elements in one example.
  int64_t num_elements() const { return channels * height * width; }
  // The number of different tokens of text.
  int64_t num_tokens() const {
    return task == Task::kTexts ? vocabulary : num_classes;
  }
};

// One mini-batch. Its buffers keep their memory from batch to batch.
struct Batch {
  // Images: [size, channels, height, width]. Text: [steps, size], the tokens'
  // numbers (exact as floats). Speech: [steps, size, features], zeros after a
  // recording's end.
  std::vector<float> inputs;
  // Images and texts with a class: [size]. Other text: [steps, size], the
  // tokens that follow. Speech: all transcripts, one after the other. Each
  // label is in [0, num_classes); for speech, in [1, num_classes).
  std::vector<int32_t> labels;
  // Text: tokens in a row; 0 for texts with a class, where all batches have as
  // many. Speech: at least the frames of the longest recording.
  int64_t steps = 0;
  std::vector<int32_t> input_lengths;  // Speech: [size], in frames.
  // Speech: [size], characters in each transcript.
  std::vector<int32_t> label_lengths;
  // For text: each row continues where that row of the previous batch ended.
  bool continues = false;
  // The key of the random draws in this training step (dropout).
  uint64_t random_key = 0;
  // Model::Upload sets it for the model; it is 0 in a batch just read.
  int64_t upload = 0;

  // The number of examples.
  int64_t size() const {
    if (!label_lengths.empty()) return label_lengths.size();
    const int64_t num_labels = static_cast<int64_t>(labels.size());
    return steps > 0 ? num_labels / steps : num_labels;
  }
};

}  // namespace ps

#endif  // COMMON_BATCH_H_
