// Decodes the output of a network trained with CTC.
#ifndef MODELS_SPEECH_CTC_DECODING_H_
#define MODELS_SPEECH_CTC_DECODING_H_

#include <cstdint>
#include <vector>

namespace ps {

// One recording's outputs in those of a batch, [steps, batch, classes].
struct RecordingOutputs {
  const float* outputs = nullptr;  // The recording's first frame.
  int64_t frames = 0;
  int64_t stride = 0;   // The distance from one frame to the next.
  int64_t classes = 0;  // 0 is the blank.
};

// Returns the best path (Graves et al., ICML 2006, section 3.2): takes the
// class with the largest output in each frame (the first of equal ones), merges
// runs of equal classes, and then removes the blanks.
std::vector<int32_t> DecodeBestPath(const RecordingOutputs& recording);

}  // namespace ps

#endif  // MODELS_SPEECH_CTC_DECODING_H_
