// One mini-batch on the host, between the data sets and the models.
#ifndef COMMON_BATCH_H_
#define COMMON_BATCH_H_

#include <cstdint>
#include <string>
#include <vector>

namespace ps {

// What is to be learnt; it decides what a batch holds and which figures say how
// well it went.
enum class Task {
  kImages,      // A class for each image.
  kWords,       // The next word.
  kCharacters,  // The next character.
  kSpeech,      // A transcript for each recording.
};

inline bool IsText(Task task) {
  return task == Task::kWords || task == Task::kCharacters;
}

// What a data set's examples look like. Fields that a task does not name are 0.
struct ExampleShape {
  Task task = Task::kImages;
  int64_t channels = 0;  // Images.
  int64_t height = 0;
  int64_t width = 0;
  int64_t steps = 0;     // Text: tokens of an example.
  int64_t features = 0;  // Speech: numbers of a frame.
  // Classes of images; words or characters of the vocabulary, below 2^24;
  // speech: characters, of which 0 stands for none (CTC's blank).
  int64_t num_classes = 0;
  // Speech: class i is the character alphabet[i]; alphabet[0] means nothing.
  std::string alphabet;

  // Of images.
  int64_t num_elements() const { return channels * height * width; }
};

// Buffers keep their memory from batch to batch.
struct Batch {
  // Images: [size, channels, height, width]. Text: [steps, size], the tokens'
  // numbers (exact as floats). Speech: [steps, size, features], zeros after a
  // recording's end.
  std::vector<float> inputs;
  // Images: [size]. Text: [steps, size], the tokens that follow. Speech: all
  // transcripts, one after the other. Each in [0, num_classes), of speech in
  // [1, num_classes).
  std::vector<int32_t> labels;
  // Text: tokens of a row. Speech: frames of the longest recording, at least.
  int64_t steps = 0;
  std::vector<int32_t> input_lengths;  // Speech: [size], frames.
  std::vector<int32_t> label_lengths;  // Speech: [size], of the transcripts.
  // Text: each row goes on where the same row of the batch before ended.
  bool continues = false;
  // Of the random draws that training makes on its way (dropout).
  uint64_t random_key = 0;

  // Examples.
  int64_t size() const {
    if (!label_lengths.empty()) return label_lengths.size();
    const int64_t num_labels = static_cast<int64_t>(labels.size());
    return steps > 0 ? num_labels / steps : num_labels;
  }
};

}  // namespace ps

#endif  // COMMON_BATCH_H_
