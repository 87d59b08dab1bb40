// What a network trained with CTC heard.
#ifndef MODELS_SPEECH_CTC_DECODING_H_
#define MODELS_SPEECH_CTC_DECODING_H_

#include <cstdint>
#include <vector>

namespace ps {

// One recording's outputs among those of a batch, [steps, batch, classes].
struct RecordingOutputs {
  const float* outputs = nullptr;  // Of its first frame.
  int64_t frames = 0;
  int64_t stride = 0;   // From one frame to the next.
  int64_t classes = 0;  // 0 is the blank.
};

// Best path decoding (Graves et al., ICML 2006, section 3.2): the class with
// the largest output of each frame, the first of equal ones; of a run of equal
// classes one is kept, and of those the blanks are left out.
std::vector<int32_t> DecodeBestPath(const RecordingOutputs& recording);

}  // namespace ps

#endif  // MODELS_SPEECH_CTC_DECODING_H_
