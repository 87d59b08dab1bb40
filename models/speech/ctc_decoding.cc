#include "models/speech/ctc_decoding.h"

#include <algorithm>

namespace ps {

std::vector<int32_t> DecodeBestPath(const RecordingOutputs& recording) {
  std::vector<int32_t> labels;
  int32_t last = 0;
  for (int64_t t = 0; t < recording.frames; ++t) {
    const float* const outputs = recording.outputs + t * recording.stride;
    const int32_t best = static_cast<int32_t>(
        std::max_element(outputs, outputs + recording.classes) - outputs);
    if (best != 0 && best != last) labels.push_back(best);
    last = best;
  }
  return labels;
}

}  // namespace ps
