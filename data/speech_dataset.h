// Implements a data set of recordings for a speech model.
#ifndef DATA_SPEECH_DATASET_H_
#define DATA_SPEECH_DATASET_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "data/dataset.h"
#include "data/recordings.h"
#include "data/speech_features.h"

namespace ps {

// Returns ExampleShape.alphabet: class 0, then space, apostrophe, A to Z and
// every other byte of the sets' transcripts, in ascending order.
std::string SpeechAlphabet(const std::vector<const Recordings*>& sets);

// Creates the data set. Batches are as long as their longest recording, rounded
// up to a multiple of 32 frames, so that a model sees few different lengths.
// Spectra are computed on reading. Errors: kDataLoss if a transcript has a
// character that is not in `alphabet`.
absl::StatusOr<std::unique_ptr<Dataset>> NewSpeechDataset(
    std::unique_ptr<Recordings> recordings, const SpeechFeatures& features,
    absl::string_view alphabet);

}  // namespace ps

#endif  // DATA_SPEECH_DATASET_H_
