// Words spelt in chords: sound with which a model of speech can be tried.
#ifndef DATA_TONE_SPEECH_H_
#define DATA_TONE_SPEECH_H_

#include <cstdint>
#include <string>
#include <vector>

#include "common/random.h"

namespace ps {

constexpr int64_t kToneSampleRate = 8000;

// One to three words of a short list, capitals with spaces between them.
std::string DrawWords(RandomStream* random);

// Each letter is two tones at once, of which the letter decides the pitches,
// and the draws length, loudness and a little of the pitch; between letters it
// is silent for a moment, and longer between words. `text` has A to Z and
// spaces. noise: deviation of white noise, over a chord's largest amplitude.
std::vector<int16_t> DrawTones(const std::string& text, double noise,
                               RandomStream* random);

}  // namespace ps

#endif  // DATA_TONE_SPEECH_H_
